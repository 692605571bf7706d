/* base: UTF-8, wrapping, JSON, CSV, YAML, settings, tables, LaTeX. */
#include "test.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/latex.h"
#include "base/settings.h"
#include "base/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t valid;
    } cases[] = {{"abc", 3},       {"\xCF\x86", 2},         {"\xC0\x80", 0},
                 {"a\xE2\x82", 1}, {"\xED\xA0\x80", 0},     {"\xF0\x9F\x98\x80", 4},
                 {"\xFF", 0},      {"\xF4\x90\x80\x80", 0}, {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(iso_utf8_valid(cases[i].bytes, strlen(cases[i].bytes)), cases[i].valid);
    assert_int_equal(iso_utf8_width("r^\xCF\x86"), 3);
}

static void test_wrap(void **state)
{
    (void)state;
    struct iso_str s = {0};
    iso_str_wrap(&s, "one two three\nfour\n\n  five six seven", 0, 10);
    assert_string_equal(s.text, "one two\nthree four\n\n  five six\n  seven");
    iso_str_clear(&s);
    iso_str_puts(&s, "  -x  ");
    iso_str_wrap(&s, "\u03c6 = 0.4 [0.3, 0.5]", 6, 14);
    assert_string_equal(s.text, "  -x  \u03c6 = 0.4\n      [0.3,\n      0.5]");
    iso_str_clear(&s);
    iso_str_wrap(&s, "unbreakable word", 0, 4);
    assert_string_equal(s.text, "unbreakable\nword");
    iso_str_release(&s);
}

static void test_wrap_page(void **state)
{
    (void)state;
    struct iso_str s = {0};
    /* A sentence, a row with a text at its end, one with a number, a header, and bold, which takes
     * no room. */
    iso_str_wrap_page(&s,
                      "A sentence that is longer than the thirty columns.\n\nName  found\n"
                      "\u03c6     one law does not describe every r\n"
                      "a longer name  with a number  1.2345\n"
                      "\033[1mName\033[0m  \033[1mlarge sizes\033[0m  \033[1mwide header\033[0m\n"
                      "\033[1mCaution\033[0m: one law for every r is wrong\n",
                      30);
    assert_string_equal(s.text,
                        "A sentence that is longer than\nthe thirty columns.\n\nName  found\n"
                        "\u03c6     one law does not\n      describe every r\n"
                        "a longer name  with a number  1.2345\n"
                        "\033[1mName\033[0m  \033[1mlarge sizes\033[0m  \033[1mwide header\033[0m\n"
                        "\033[1mCaution\033[0m: one law for every r\nis wrong\n");
    iso_str_clear(&s);
    iso_str_wrap_page(&s, "phi = 0.46   trust: good   (bootstrap over 24 cells)", 40);
    assert_string_equal(s.text, "phi = 0.46   trust: good\n(bootstrap over 24 cells)");
    iso_str_clear(&s);
    iso_str_wrap_page(&s, "", 40);
    assert_string_equal(iso_str_text(&s), "");
    iso_str_release(&s);
}

static void test_json(void **state)
{
    (void)state;
    struct iso_arena arena = {0};
    struct iso_err err = {""};
    const struct iso_json *v;
    const char *text = "{\"a\": [1, -2.5e3, true, null], \"b\": \"x\\u00e9\\ud83d\\ude00\\n\"}";
    assert_int_equal(iso_json_parse(&v, &arena, text, strlen(text), "t", &err), ISO_OK);
    assert_int_equal(iso_json_get(v, "a")->n, 4);
    assert_true(iso_json_get(v, "a")->child->next->number == -2500);
    assert_string_equal(iso_json_string(v, "b", ""), "x\xC3\xA9\xF0\x9F\x98\x80\n");

    struct iso_str out = {0};
    struct iso_json_out w = {&out, 0, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_number(&w, "x", 0.1);
    iso_json_put_number(&w, "bad", NAN);
    iso_json_put_string(&w, "s", "a\"b\n");
    iso_json_begin(&w, "l", '[');
    iso_json_put_int(&w, NULL, 3);
    iso_json_end(&w, ']');
    iso_json_end(&w, '}');
    assert_string_equal(out.text, "{\"x\": 0.1, \"bad\": null, \"s\": \"a\\\"b\\n\", \"l\": [3]}");
    iso_str_release(&out);
    iso_arena_release(&arena);
}

/* What comes from outside, such as a file's name, need not be UTF-8; JSON must be. */
static void test_json_bad_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"caf\xE9", "\"caf\xEF\xBF\xBD\""},                 /* Latin-1 */
        {"\xC3\xA9\xFF\"", "\"\xC3\xA9\xEF\xBF\xBD\\\"\""}, /* good, bad, quote */
        {"\xE2\x82", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},       /* cut off */
        {"\xC0\x80z", "\"\xEF\xBF\xBD\xEF\xBF\xBDz\""},     /* not the shortest form */
        {"\xF0\x9F\x98\x80", "\"\xF0\x9F\x98\x80\""},       /* four good bytes */
        {"\x1b\x7f", "\"\\u001b\\u007f\""},                 /* what terminals obey */
        {"\xC2\x9B\xC2\xA0\xC2", "\"\\u009b\xC2\xA0\xEF\xBF\xBD\""},
        {"", "\"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_str out = {0};
        struct iso_json_out w = {&out, 0, 0, false};
        iso_json_put_string(&w, NULL, cases[i].text);
        assert_string_equal(iso_str_text(&out), cases[i].wanted);
        iso_str_release(&out);
    }
}

static void test_json_broken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t: column 1: a value is missing"},
        {"{", "t: column 2: a key in double quotes is missing"},
        {"{\"a\" 1}", "t: column 6: ':' is missing after the key"},
        {"[1 2]", "t: column 4: ',' or ']' is missing"},
        {"[1,]", "t: column 4: a value is missing"},
        {"[NaN]", "t: column 2: JSON has no NaN and no Infinity; write null"},
        {"[-Infinity]", "t: column 2: JSON has no NaN and no Infinity; write null"},
        {"\"a", "t: column 3: the string does not end"},
        {"\"\\x\"", "t: column 4: unknown escape in a string"},
        {"\"\\u12g4\"", "t: column 4: \\u needs four hexadecimal digits"},
        {"1.2.3", "t: column 1: not a number"},
        {"1 2", "t: column 3: text after the end of the value"},
        {"\"\xFF\"", "t: column 2: not UTF-8"},
        {"\"a\nb\"", "t: column 3: control character in a string (write it as an escape)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_arena arena = {0};
        struct iso_err err = {""};
        const struct iso_json *v;
        assert_int_equal(
            iso_json_parse(&v, &arena, cases[i].text, strlen(cases[i].text), "t", &err),
            ISO_BAD_INPUT);
        assert_string_equal(err.msg, cases[i].message);
        iso_arena_release(&arena);
    }
}

static void test_csv(void **state)
{
    (void)state;
    struct iso_arena arena = {0};
    struct iso_err err = {""};
    struct iso_csv csv;
    const char *text = "\xEF\xBB\xBF"
                       "a,b\r\n# note\n1, x y \n\n\"p\"\"q\n\",\"\"\n";
    assert_int_equal(iso_csv_parse(&csv, &arena, text, strlen(text), "t.csv", &err), ISO_OK);
    assert_int_equal(csv.n_col, 2);
    assert_int_equal(csv.n_row, 2);
    assert_string_equal(csv.row[0].field[1], "x y");
    assert_int_equal(csv.row[0].line, 3);
    assert_string_equal(csv.row[1].field[0], "p\"q\n");
    assert_int_equal(iso_csv_column(&csv, "b"), 1);
    assert_int_equal(iso_csv_column(&csv, "z"), -1);

    static const struct {
        const char *text, *message;
    } broken[] = {
        {"", "t.csv: empty; a header line is expected"},
        {"a,a\n", "t.csv:1: column a is there twice"},
        {"a,b\n1\n", "t.csv:2: 1 fields, but the header has 2"},
        {"a\n\"x\n", "t.csv:2: the quoted field does not end"},
        {"a\n\"x\"y\n", "t.csv:2: text after a closing quote"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        assert_int_equal(
            iso_csv_parse(&csv, &arena, broken[i].text, strlen(broken[i].text), "t.csv", &err),
            ISO_BAD_INPUT);
        assert_string_equal(err.msg, broken[i].message);
    }
    enum { COMMAS = 40000 };
    char *wide = iso_alloc(COMMAS + 1, 1);
    memset(wide, ',', COMMAS);
    assert_int_equal(iso_csv_parse(&csv, &arena, wide, COMMAS, "t.csv", &err), ISO_BAD_INPUT);
    assert_string_equal(err.msg, "t.csv:1: 40001 columns are more than a table has");
    free(wide);
    iso_arena_release(&arena);
}

struct sample {
    int64_t depth;
    double rate;
    bool on;
    const char *name, *kind;
    struct iso_numbers widths;
};

static const struct iso_key sample_keys[] = {
    {.name = "depth",
     .kind = ISO_KEY_INT,
     .offset = offsetof(struct sample, depth),
     .min = 1,
     .max = 100,
     .required = true,
     .help = "layers"},
    {.name = "rate", .kind = ISO_KEY_NUMBER, .offset = offsetof(struct sample, rate)},
    {.name = "on", .kind = ISO_KEY_BOOL, .offset = offsetof(struct sample, on)},
    {.name = "name", .kind = ISO_KEY_STRING, .offset = offsetof(struct sample, name)},
    {.name = "kind",
     .kind = ISO_KEY_CHOICE,
     .offset = offsetof(struct sample, kind),
     .choices = "linear hyper"},
    {.name = "widths", .kind = ISO_KEY_NUMBERS, .offset = offsetof(struct sample, widths)},
    {0},
};

static enum iso_status read_sample(struct sample *s, struct iso_arena *arena, const char *text,
                                   struct iso_err *err)
{
    struct iso_settings settings = {arena, "g.yaml", err};
    const struct iso_yaml *map;
    enum iso_status st = iso_yaml_parse(&map, arena, text, strlen(text), "g.yaml", err);
    return st == ISO_OK ? iso_settings_read(&settings, s, sample_keys, map) : st;
}

static void test_settings(void **state)
{
    (void)state;
    struct iso_arena arena = {0};
    struct iso_err err = {""};
    struct sample s = {.rate = 0.5};
    const char *text = "depth: 20\nwidths: [6, 8]\nkind: hyper\nname: it's\non: yes\n";
    assert_int_equal(read_sample(&s, &arena, text, &err), ISO_OK);
    assert_true(s.depth == 20 && s.rate == 0.5 && s.on && s.widths.n == 2);

    struct iso_settings settings = {&arena, "--set", &err};
    assert_int_equal(iso_settings_set(&settings, &s, sample_keys, "widths=[1,2,3]"), ISO_OK);
    assert_int_equal(s.widths.n, 3);
    assert_int_equal(iso_settings_set(&settings, &s, sample_keys, "depht=3"), ISO_USAGE);
    assert_string_equal(err.msg, "--set: unknown key depht. Did you mean depth?");

    struct iso_str out = {0};
    iso_settings_write(&out, &s, sample_keys);
    struct sample again = {0};
    assert_int_equal(read_sample(&again, &arena, out.text, &err), ISO_OK);
    assert_true(again.depth == 20 && again.rate == 0.5 && again.widths.at[2] == 3);
    assert_string_equal(again.name, "it's");

    /* Any text that YAML can hold comes back. */
    static const char *const names[] = {"a\nb",
                                        "\x1b[31m\x7f\t",
                                        "'\"\\\n",
                                        "\xC2\x85x\xC2\x9B",
                                        "\xE2\x80\xA8\xE2\x80\xA9",
                                        "\xEF\xBB\xBFz",
                                        "\xEF\xBF\xBE\xEF\xBF\xBF",
                                        " a "};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        s.name = names[i];
        iso_str_clear(&out);
        iso_settings_write(&out, &s, sample_keys);
        if (read_sample(&again, &arena, out.text, &err) != ISO_OK)
            fail_msg("%s", err.msg);
        assert_string_equal(again.name, names[i]);
    }
    iso_str_release(&out);
    iso_arena_release(&arena);
}

static void test_settings_broken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"rate: 1\n", "g.yaml: key depth is missing (layers)"},
        {"depth: 20\nrata: 1\n", "g.yaml:2: unknown key rata. Did you mean rate?"},
        {"depth: deep\n", "g.yaml:1: depth: expected a whole number, found \"deep\""},
        {"depth: 0\n", "g.yaml:1: depth: must be between 1 and 100, found \"0\""},
        {"depth: 2\nkind: hypr\n",
         "g.yaml:2: kind: unknown value \"hypr\"; allowed: linear hyper. Did you mean hyper?"},
        {"depth: 2\nwidths: []\n", "g.yaml:2: widths: the list is empty"},
        {"depth: 2\nwidths: {a: 1}\n", "g.yaml:2: widths: expected a list of numbers, found a "
                                       "mapping"},
        {"depth: 2\ndepth: 3\n", "g.yaml:2: key depth is there twice (first on line 1)"},
        {"- 1\n", "g.yaml:1: expected keys with values, found a list"},
        {"depth: &x 3\n", "g.yaml:1: anchors are not used in settings files"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_arena arena = {0};
        struct iso_err err = {""};
        struct sample s = {0};
        assert_int_equal(read_sample(&s, &arena, cases[i].text, &err), ISO_BAD_INPUT);
        assert_string_equal(err.msg, cases[i].message);
        iso_arena_release(&arena);
    }
}

static void test_yaml_text(void **state)
{
    (void)state;
    struct iso_arena arena = {0};
    const struct iso_yaml *map;
    const char *text = "a: x\nlist: [1]\nmap: {a: 1}\nnone:\n";
    assert_int_equal(iso_yaml_parse(&map, &arena, text, strlen(text), "g.yaml", NULL), ISO_OK);
    assert_string_equal(iso_yaml_text(map, "a"), "x");
    assert_string_equal(iso_yaml_text(map, "none"), "");
    assert_null(iso_yaml_text(map, "list"));
    assert_null(iso_yaml_text(map, "map"));
    assert_null(iso_yaml_text(map, "b"));
    iso_arena_release(&arena);
}

static void test_table(void **state)
{
    (void)state;
    struct iso_table t;
    struct iso_str s = {0};
    iso_table_init(&t, "name|x");
    iso_table_put(&t, "a_b");
    iso_table_putf(&t, "%.1f", 1.0);
    iso_table_put(&t, "c,d");
    iso_table_put(&t, "10.5");
    iso_table_bold(&t);
    iso_table_write(&s, &t, ISO_TABLE_TEXT, false);
    assert_string_equal(s.text, "name     x\na_b    1.0\nc,d   10.5\n");
    iso_str_clear(&s);
    iso_table_write(&s, &t, ISO_TABLE_CSV, false);
    assert_string_equal(s.text, "name,x\na_b,1.0\n\"c,d\",10.5\n");
    iso_str_clear(&s);
    iso_table_write(&s, &t, ISO_TABLE_LATEX, false);
    assert_non_null(strstr(s.text, "a\\_b & 1.0 \\\\"));
    assert_non_null(strstr(s.text, "c,d & \\textbf{10.5} \\\\"));
    iso_str_clear(&s);
    iso_table_write(&s, &t, ISO_TABLE_HTML, false);
    assert_non_null(strstr(s.text, "<b>10.5</b>"));
    iso_str_release(&s);
    iso_table_release(&t);
}

/* The time that a page takes grows with the rows, not with their square. */
static void test_long_table(void **state)
{
    (void)state;
    enum { ROWS = 12000 };
    struct iso_table t;
    struct iso_str s = {0};
    iso_table_init(&t, "a|b|c|d");
    for (size_t i = 0; i < 4 * (size_t)ROWS; i++)
        iso_table_put(&t, "1.25");
    const clock_t start = clock();
    iso_table_write(&s, &t, ISO_TABLE_HTML, false);
    assert_true(clock() - start < CLOCKS_PER_SEC);
    iso_str_release(&s);
    iso_table_release(&t);
}

static void test_word(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"runs/a-1_b.csv", "runs/a-1_b.csv"},
                                           {"", "''"},
                                           {"st udy", "'st udy'"},
                                           {"r>1", "'r>1'"},
                                           {"~", "'~'"},
                                           {"it's", "'it'\\''s'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_str s = {0};
        iso_str_put_word(&s, cases[i][0]);
        assert_string_equal(s.text, cases[i][1]);
        iso_str_release(&s);
    }
}

static void test_visible(void **state)
{
    (void)state;
    static const struct {
        const char *text, *keep, *shown;
    } cases[] = {
        {"plain é \xe2\x98\x83", "", "plain é \xe2\x98\x83"},
        {"\033[2J\a\x7f", "", "\\x1b[2J\\x07\\x7f"},
        {"a\nb\tc", "", "a\\x0ab\\x09c"},
        {"a\nb\tc", "\n", "a\nb\\x09c"},
        {"\xc2\x9b"
         "1m \xc2\xa0",
         "", "\\xc2\\x9b1m \xc2\xa0"}, /* CSI as one character */
        {"a\xe2\x80\xae"
         "b\xe2\x81\xa6\xe2\x80\x8b",
         "", "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6\xe2\x80\x8b"},
        {"\x9b"
         "1m\xff\xe2\x98",
         "", "\\x9b1m\\xff\\xe2\\x98"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_str s = {0};
        iso_str_put_visible(&s, cases[i].text, cases[i].keep);
        assert_string_equal(iso_str_text(&s), cases[i].shown);
        iso_str_release(&s);
    }
}

/* A name cannot be a command of TeX, in whatever notation. */
static void test_latex(void **state)
{
    (void)state;
    struct iso_table t;
    struct iso_str s = {0};
    iso_table_init(&t, "name");
    iso_table_put(&t, "^^5cinput{x}~\\y\n\nz");
    iso_table_write(&s, &t, ISO_TABLE_LATEX, false);
    assert_non_null(strstr(s.text, "\\textasciicircum{}\\textasciicircum{}5cinput\\{x\\}"
                                   "\\textasciitilde{}\\textbackslash{}y"));
    assert_null(strstr(s.text, "\n\n"));
    iso_str_release(&s);
    iso_table_release(&t);
}

/* Letters and numbers of formulas are set as such, names and plain numbers are left alone. */
static void test_latex_formulas(void **state)
{
    (void)state;
    static const struct {
        const char *text, *latex;
    } cases[] = {
        {"alpha", "$\\alpha$"},
        {"alphabet", "alphabet"},
        {"phi of base", "$\\varphi$ of base"},
        {"one_phi", "one\\_phi"},
        {"R2", "$R^2$"},
        {"4.64e+17", "$4.64 \\times 10^{17}$"},
        {"C <= 1e+18", "C $\\le$ $10^{18}$"},
        {"-0.02", "$-0.02$"},
        {"+3e-05", "$+3 \\times 10^{-5}$"},
        {"10.5", "10.5"},
        {"r2-d384-4.64e17", "r2-d384-4.64e17"},
        {"runs.csv:12", "runs.csv:12"},
        {"gap to r = 1", "gap to r = 1"},
        {"[x]", "{}[x]"}, /* behind the end of a row it would be its distance to the next */
        {"*x", "{}*x"},
        {"\xff\n", "\\textbackslash{}xff\\textbackslash{}x0a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_str s = {0};
        iso_latex_put(&s, cases[i].text);
        assert_string_equal(iso_str_text(&s), cases[i].latex);
        iso_str_release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_wrap_page),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_bad_bytes),
        cmocka_unit_test(test_json_broken),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_settings_broken),
        cmocka_unit_test(test_yaml_text),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_long_table),
        cmocka_unit_test(test_word),
        cmocka_unit_test(test_visible),
        cmocka_unit_test(test_latex),
        cmocka_unit_test(test_latex_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
