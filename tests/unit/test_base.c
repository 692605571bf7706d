/* base: strings, numbers, random numbers, JSON, CSV, YAML, settings, tables, files. */
#include "test.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/latex.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/settings.h"
#include "base/table.h"
#include "no_threads.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void test_numbers(void **state)
{
    (void)state;
    double x;
    int64_t n;
    assert_true(iso_parse_double("4.64e17", &x) && x == 4.64e17);
    assert_true(iso_parse_double("262_144", &x) && x == 262144);
    assert_true(iso_parse_double("1_000_000.5", &x) && x == 1000000.5);
    static const char *const labels[] = {"1_2",    "2026_01_12", "1_0000",
                                         "1_000_", "1__000",     "1e_300"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        assert_false(iso_parse_double(labels[i], &x));
    assert_false(iso_parse_double("", &x));
    assert_false(iso_parse_double("1.5x", &x));
    assert_false(iso_parse_double(" 1", &x));
    assert_false(iso_parse_double("nan", &x));
    assert_false(iso_parse_double("0x10", &x));
    assert_false(iso_parse_double("1e999", &x));
    assert_true(iso_parse_int("1e6", &n) && n == 1000000);
    assert_false(iso_parse_int("1.5", &n));
    char buf[32];
    assert_string_equal(iso_format_double(buf, 0.1), "0.1");
    assert_string_equal(iso_format_count(buf, 98304000), "98.3M");
    assert_string_equal(iso_format_count(buf, 973e6), "973M");
    assert_string_equal(iso_format_count(buf, 12), "12");
    assert_string_equal(iso_format_duration(buf, 3725), "1:02:05");
    for (int i = 0; i < 1000; i++) {
        struct iso_rng rng = {1, 2, (uint64_t)i};
        double y = iso_rng_normal(&rng) * exp(50 * iso_rng_normal(&rng));
        assert_true(strtod(iso_format_double(buf, y), NULL) == y);
    }
}

/* Known answers of the generator's authors (Random123's kat_vectors). */
static void test_philox(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        iso_philox(out, known[i].counter, known[i].key);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
}

static void test_rng_moments(void **state)
{
    (void)state;
    struct iso_rng rng = {7, iso_rng_stream("test", 0), 0};
    double sum = 0, squares = 0;
    enum { N = 100000 };
    for (int i = 0; i < N; i++) {
        double z = iso_rng_normal(&rng);
        sum += z;
        squares += z * z;
    }
    assert_true(fabs(sum / N) < 4 / sqrt(N));
    assert_true(fabs(squares / N - 1) < 4 * sqrt(2.0 / N));
    int count[7] = {0};
    for (int i = 0; i < 70000; i++)
        count[iso_rng_below(&rng, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_true(abs(count[i] - 10000) < 400);
}

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

static const char *nth_word(const void *ctx, size_t i)
{
    const char *const *words = ctx;
    return words[i];
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const words[] = {"plan", "fit", "compare", "report", NULL};
    assert_string_equal(iso_nearest("paln", nth_word, words), "plan");
    assert_string_equal(iso_nearest("comparr", nth_word, words), "compare");
    assert_null(iso_nearest("xyzzy", nth_word, words));
    const char *letters[] = {"a", "b", NULL};
    assert_null(iso_nearest("n", nth_word, letters));
}

static void test_path(void **state)
{
    (void)state;
    assert_string_equal(iso_path_in("a/b", "%s.csv", "runs").text, "a/b/runs.csv");
    assert_string_equal(iso_path_in("a/b/", "c").text, "a/b/c");
    assert_string_equal(iso_path_in("/", "c").text, "/c");
    /* Too long for the system: no shorter name is tried. */
    char dir[PATH_MAX + 1], name[PATH_MAX + 1];
    memset(dir, 'd', PATH_MAX);
    memset(name, 'n', PATH_MAX);
    dir[PATH_MAX] = name[PATH_MAX] = '\0';
    assert_int_equal(access(iso_path_in(dir, "x").text, F_OK), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_int_equal(access(iso_path_in(".", "%s", name).text, F_OK), -1);
    assert_int_equal(errno, ENAMETOOLONG);
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

static bool exists(const char *dir, const char *name)
{
    char path[600];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return lstat(path, &info) == 0;
}

static void put(const char *dir, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

/* The temporary files of killed processes go with the next write; those that somebody holds, other
 * people's names, and links, with what they point to, stay. */
static void test_temporary_names(void **state)
{
    (void)state;
    struct iso_err err = {""};
    struct iso_file_out one, two;
    char dir[] = "/tmp/isodepth-test-XXXXXX", path[100], link[200], target[100];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/f", dir);
    snprintf(target, sizeof target, "%s/precious", dir);
    snprintf(link, sizeof link, "%s/f.fedcba9876543210.tmp", dir);
    put(dir, "other.0123456789abcdef.tmp");
    put(dir, "f.0123456789abcde.tmp");
    put(dir, "f.0123456789ABCDEF.tmp");
    put(dir, ".tmp");
    put(dir, "precious");
    assert_int_equal(symlink(target, link), 0);
    pid_t child = fork();
    if (child == 0) { /* dies with the file half written */
        if (iso_file_open_out(&one, path, &err) == ISO_OK)
            fputs("half", one.f), fflush(one.f), raise(SIGKILL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));

    assert_int_equal(iso_file_open_out(&one, path, &err), ISO_OK);
    assert_int_equal(iso_file_open_out(&two, path, &err), ISO_OK);
    assert_string_not_equal(one.temp, two.temp);
    fputs("one", one.f);
    assert_int_equal(iso_file_commit(&one, &err), ISO_OK);
    fputs("two", two.f); /* its file was held, so it is there still */
    assert_int_equal(iso_file_commit(&two, &err), ISO_OK);

    char **names;
    size_t n;
    assert_int_equal(iso_dir_list(&names, &n, dir, &err), ISO_OK);
    assert_int_equal(n, 6); /* f, .tmp, precious, the link, two names that are not ours */
    iso_dir_list_free(names, n);
    assert_false(exists(dir, "other.0123456789abcdef.tmp"));
    assert_true(exists(dir, "f.fedcba9876543210.tmp") && exists(dir, "precious"));
    assert_int_equal(iso_file_size(path), 3);
    assert_int_equal(iso_file_write("/dev/null", "x", 1, &err), ISO_BAD_INPUT);
    assert_true(iso_dir_remove(dir));
}

/* Of a link only the link goes: a folder of ours may have been replaced by one. */
static void test_remove_links(void **state)
{
    (void)state;
    char dir[] = "/tmp/isodepth-test-XXXXXX", theirs[100], link[100], ours[100], inside[110];
    assert_non_null(mkdtemp(dir));
    snprintf(theirs, sizeof theirs, "%s/theirs", dir);
    snprintf(link, sizeof link, "%s/link", dir);
    snprintf(ours, sizeof ours, "%s/ours", dir);
    snprintf(inside, sizeof inside, "%s/file", ours);
    assert_int_equal(mkdir(theirs, 0777), 0);
    assert_int_equal(mkdir(ours, 0777), 0);
    put(theirs, "precious");
    assert_int_equal(symlink(theirs, link), 0);
    assert_int_equal(symlink("../theirs/precious", inside), 0);
    assert_true(iso_dir_remove(link) && !exists(dir, "link"));
    assert_true(iso_dir_remove(ours) && !exists(dir, "ours"));
    assert_true(exists(theirs, "precious"));
    assert_true(iso_dir_remove(theirs) && iso_dir_remove(dir));
}

/* A pipe without a writer is rejected, not waited for. */
static void test_map_pipe(void **state)
{
    (void)state;
    struct iso_err err = {""};
    struct iso_map map;
    char path[] = "/tmp/isodepth-test-XXXXXX";
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    assert_int_equal(iso_map_open(&map, path, &err), ISO_BAD_INPUT);
    alarm(0);
    assert_non_null(strstr(err.msg, "not a regular file"));
    unlink(path);
}

static void test_files(void **state)
{
    (void)state;
    struct iso_err err = {""};
    char dir[] = "/tmp/isodepth-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct iso_str path = {0}, back = {0};
    iso_str_printf(&path, "%s/a/b", dir);
    assert_int_equal(iso_dir_make("", &err), ISO_BAD_INPUT);
    assert_int_equal(iso_dir_make(path.text, &err), ISO_OK);
    iso_str_puts(&path, "/f");
    assert_int_equal(iso_file_write(path.text, "hello", 5, &err), ISO_OK);
    assert_int_equal(iso_file_read(&back, path.text, &err), ISO_OK);
    assert_string_equal(back.text, "hello");

    /* An abandoned file leaves the old one as it was. */
    struct iso_file_out out;
    assert_int_equal(iso_file_open_out(&out, path.text, &err), ISO_OK);
    fputs("other", out.f);
    iso_file_abandon(&out);
    assert_int_equal(iso_file_read(&back, path.text, &err), ISO_OK);
    assert_string_equal(back.text, "hello");

    int fd, fd2;
    bool held;
    assert_int_equal(iso_lock_acquire(&fd, &held, path.text, &err), ISO_OK);
    assert_false(held);
    assert_int_equal(iso_lock_acquire(&fd2, &held, path.text, &err), ISO_OK);
    assert_true(held);
    assert_true(iso_lock_held(path.text));
    iso_lock_release(fd);
    assert_false(iso_lock_held(path.text));
    assert_false(iso_lock_held("/nonexistent/x"));

    assert_int_equal(iso_file_write("/nonexistent/x", "", 0, &err), ISO_IO);
    assert_non_null(strstr(err.msg, "/nonexistent/x: cannot write: No such file"));

    /* A write that the system cuts short (here by a size limit) leaves the old file alone. */
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, tiny;
    getrlimit(RLIMIT_FSIZE, &old);
    tiny = (struct rlimit){1000, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tiny);
    char big[5000] = {0};
    enum iso_status st = iso_file_write(path.text, big, sizeof big, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(st, ISO_IO);
    assert_int_equal(iso_file_size(path.text), 5);
    assert_true(iso_dir_remove(iso_path_in(dir, "a/b").text));
    assert_true(iso_dir_remove(iso_path_in(dir, "a").text));
    assert_true(iso_dir_remove(dir));
    iso_str_release(&path);
    iso_str_release(&back);
}

static void add_index(void *ctx, size_t i, int worker)
{
    (void)worker;
    ((size_t *)ctx)[i] = i * i;
}

static void test_parallel(void **state)
{
    (void)state;
    size_t squares[1000];
    for (int threads = 1; threads <= 4; threads++) {
        memset(squares, 0, sizeof squares);
        iso_parallel_for(1000, threads, add_index, squares);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(squares[i], i * i);
    }
}

/* Without threads the caller does all the work. */
static void test_parallel_without_threads(void **state)
{
    (void)state;
    size_t squares[100] = {0};
    pthread_attr_t before = no_threads_begin();
    iso_parallel_for(100, 4, add_index, squares);
    no_threads_end(before);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(squares[i], i * i);
}

static int stop_at_once(void *ctx, const char *what, double done, double total)
{
    (void)what, (void)done, (void)total;
    ++*(int *)ctx;
    return 1;
}

/* A part that is over in no time is heard of as well, and can be stopped. */
static void test_listener_hears_short_parts(void **state)
{
    (void)state;
    int heard = 0;
    struct iso_listener listener = {.progress = stop_at_once, .ctx = &heard};
    struct iso_progress progress;
    iso_listener_set(&listener);
    iso_progress_begin(&progress, "a short part", 3);
    iso_listener_set(NULL);
    for (int i = 0; i < 3; i++)
        iso_progress_update(&progress, i, NULL);
    iso_progress_end(&progress);
    assert_int_equal(heard, 1);
    assert_true(iso_progress_stopped(&progress));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_philox),
        cmocka_unit_test(test_rng_moments),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_wrap_page),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_bad_bytes),
        cmocka_unit_test(test_json_broken),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_settings_broken),
        cmocka_unit_test(test_yaml_text),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_long_table),
        cmocka_unit_test(test_map_pipe),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_temporary_names),
        cmocka_unit_test(test_remove_links),
        cmocka_unit_test(test_word),
        cmocka_unit_test(test_visible),
        cmocka_unit_test(test_latex),
        cmocka_unit_test(test_latex_formulas),
        cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_parallel_without_threads),
        cmocka_unit_test(test_listener_hears_short_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
