/* sweep: conditions, records, results, the store. */
#include "folder.h"
#include "test.h"

#include "base/file.h"
#include "sweep/curve.h"
#include "sweep/record_where.h"
#include "sweep/result.h"
#include "sweep/spawn.h"
#include "sweep/store.h"
#include "sweep/sweep.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct iso_record sample(void)
{
    struct iso_record rec;
    iso_record_init(&rec);
    snprintf(rec.id, sizeof rec.id, "r4-d64-1e13-abcdef01");
    snprintf(rec.loop, sizeof rec.loop, "linear");
    rec.wanted = true;
    rec.budget = 1e13;
    rec.r = 4;
    rec.s = 2;
    rec.d_model = 64;
    rec.tokens = 1000;
    rec.steps = 10;
    rec.flops_per_token = 3;
    rec.seed = 1;
    return rec;
}

static void test_where(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {
        {"r=4", true},
        {"r==4 and budget>9e12", true},
        {"r = 4 and budget > 1e13", false},
        {"budget>=1e13", true},
        {"budget<=10000000000000.001", true},
        {"r!=4 or s<3", true},
        {"not r=4", false},
        {"not (r=1 or r=2)", true},
        {"not r=1 and not r=2", true},
        {"r=1 and s=2 or d_model=64", true}, /* and binds first */
        {"r=1 and (s=2 or d_model=64)", false},
        {"r=1 or r=2 or r=4", true},
        {"r=4 and s=2 and d_model=65", false},
        {"r=1 or r=4 and s=2 and (d_model=65 or d_model=64) or r=3", true},
        {"loop=linear", true},
        {"loop='linear'", true},
        {"loop!=\"hyper\"", true},
        {"status=planned", true},
        {"loss>0", false}, /* not known: fulfils nothing */
        {"loss!=1", false},
        {"not loss>0", true},
        {"wanted=1", true},
        {"run=r4-d64-1e13-abcdef01", true},
    };
    struct iso_record rec = sample();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_arena arena = {0};
        struct iso_err err = {""};
        const struct iso_where *w;
        if (iso_record_where_parse(&w, &arena, cases[i].text, &err) != ISO_OK)
            fail_msg("%s: %s", cases[i].text, err.msg);
        if (iso_record_where_holds(w, &rec) != cases[i].holds)
            fail_msg("%s", cases[i].text);
        iso_arena_release(&arena);
    }
}

/* A program may join any number of names, and the stack has room for 8 MiB. */
static void test_where_long(void **state)
{
    (void)state;
    struct iso_record rec = sample();
    struct iso_arena arena = {0};
    struct iso_str text = {0};
    const struct iso_where *w;
    for (size_t i = 0; i < 500000; i++)
        iso_str_puts(&text, "r=1 or ");
    iso_str_puts(&text, "r=4");
    assert_int_equal(iso_record_where_parse(&w, &arena, text.text, NULL), ISO_OK);
    assert_true(iso_record_where_holds(w, &rec));
    iso_arena_release(&arena);
    iso_str_release(&text);
}

static void test_where_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "expected a column, found the end"},
        {"r", "place 2: expected a comparison (= != < <= > >=), found the end"},
        {"r=", "place 3: expected a value, found the end"},
        {"r=4 s=2", "place 5: expected and, or, or the end, found \"s=2\""},
        {"(r=4", "place 5: expected a closing parenthesis, found the end"},
        {"r=4)", "place 4: expected and, or, or the end, found \")\""},
        {"bugdet=1", "place 1: unknown column bugdet. Did you mean budget?"},
        {"r=four", "column r is a number, \"four\" is not"},
        {"loop<linear", "column loop is a text; compare it with = or !="},
        {"loop='linear", "expected a closing quote"},
        {"r=4 and or", "unknown column or"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_arena arena = {0};
        struct iso_err err = {""};
        const struct iso_where *w;
        assert_int_equal(iso_record_where_parse(&w, &arena, cases[i].text, &err), ISO_USAGE);
        if (!strstr(err.msg, cases[i].message))
            fail_msg("%s: %s", cases[i].text, err.msg);
        iso_arena_release(&arena);
    }
    char deep[1001];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    struct iso_arena arena = {0};
    const struct iso_where *w;
    assert_int_equal(iso_record_where_parse(&w, &arena, deep, NULL), ISO_USAGE);
    iso_arena_release(&arena);
}

static void test_result(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum iso_result want;
    } cases[] = {
        {"{\"status\": \"done\", \"loss\": 3.25, \"run\": \"r4-d64-1e13-abcdef01\"}",
         ISO_RESULT_GOOD},
        {"{\"status\": \"diverged\", \"loss\": null}", ISO_RESULT_GOOD},
        {"{\"status\": \"done\", \"loss\": null}", ISO_RESULT_DAMAGED},
        {"{\"status\": \"done\", \"loss\": -1}", ISO_RESULT_DAMAGED},
        {"{\"status\": \"running\", \"loss\": 3}", ISO_RESULT_DAMAGED},
        {"{\"loss\": 3}", ISO_RESULT_DAMAGED},
        {"[3]", ISO_RESULT_DAMAGED},
        {"{\"status\": \"done\", \"lo", ISO_RESULT_DAMAGED},
        {"", ISO_RESULT_DAMAGED},
        {"{\"status\": \"done\", \"loss\": 3, \"run\": \"other\"}", ISO_RESULT_OTHER},
        {"{\"status\": \"done\", \"loss\": 3, \"steps\": 11}", ISO_RESULT_OTHER},
        {"{\"status\": \"done\", \"loss\": 3, \"tokens\": 1001}", ISO_RESULT_OTHER},
        {"{\"status\": \"done\", \"loss\": 3, \"steps\": 10, \"s\": null}", ISO_RESULT_GOOD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_record rec = sample();
        struct iso_err err = {""};
        enum iso_result got =
            iso_result_parse(&rec, cases[i].text, strlen(cases[i].text), "result.json", &err);
        if (got != cases[i].want)
            fail_msg("%s: %d %s", cases[i].text, (int)got, err.msg);
        if (got == ISO_RESULT_GOOD)
            assert_int_equal(rec.state, isnan(rec.loss) ? ISO_STATE_DIVERGED : ISO_STATE_DONE);
        else
            assert_int_equal(rec.state, ISO_STATE_PLANNED);
    }
}

static void test_progress(void **state)
{
    (void)state;
    char path[128];
    assert_true(isnan(iso_result_progress(dir).step));
    static const char text[] = "{\"step\": 1, \"loss\": 9}\n"
                               "{\"step\": 2, \"tokens\": 512, \"loss\": 8.5}\n"
                               "{\"note\": \"validation\"}\n"
                               "{\"step\": 3, \"lo"; /* being written */
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    assert_int_equal(iso_file_write(path, text, strlen(text), NULL), ISO_OK);
    struct iso_run_progress p = iso_result_progress(dir);
    assert_true(p.step == 2 && p.tokens == 512 && p.loss == 8.5);
    char line[64];
    iso_result_last_line(line, sizeof line, path);
    assert_string_equal(line, "{\"step\": 3, \"lo");
}

/* A curve has the means of stretches of the file, from its first line to its last. */
static void test_curve(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
    static const int lengths[] = {0, 1, 20, 500, 100000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct iso_str text = {0};
        struct iso_curve c;
        for (int k = 1; k <= lengths[i]; k++) /* the loss says the step */
            iso_str_printf(&text, "{\"step\": %d, \"loss\": %g}\n", k, 1e6 - k);
        iso_str_puts(&text, "{\"step\": 1e9, \"lo"); /* being written */
        assert_int_equal(iso_file_write(path, text.text, text.len, NULL), ISO_OK);
        iso_curve_read(&c, dir);
        assert_true(c.n <= ISO_CURVE_POINTS && (int)c.n >= (lengths[i] < 20 ? lengths[i] : 20));
        for (size_t k = 0; k < c.n; k++) {
            assert_true(fabs(c.step[k] + c.loss[k] - 1e6) < 1);
            assert_true(k == 0 || c.step[k] > c.step[k - 1]);
        }
        if (lengths[i] == 100000)
            assert_true(c.n == ISO_CURVE_POINTS && c.step[0] < 100 && c.step[c.n - 1] > 99800);
        iso_str_release(&text);
    }
}

static void test_run_json(void **state)
{
    (void)state;
    struct iso_record rec = sample(), back;
    snprintf(rec.source, sizeof rec.source, "elsewhere \"quoted\"");
    assert_int_equal(iso_result_write_plan(&rec, dir, NULL), ISO_OK);
    iso_record_init(&back);
    assert_int_equal(iso_result_read_plan(&back, dir, NULL), ISO_RESULT_GOOD);
    assert_null(iso_record_differs(&rec, &back));
    assert_string_equal(back.source, rec.source);
    assert_true(isnan(back.n_once));
    back.seed = 2;
    assert_string_equal(iso_record_differs(&rec, &back)->name, "seed");
}

/* result.json carries every column of plan and result, to the last bit. */
static void test_result_json(void **state)
{
    (void)state;
    enum { CARRIED = ISO_COLUMN_PLAN | ISO_COLUMN_RESULT };
    char path[128], a[32], b[32], word[16];
    snprintf(path, sizeof path, "%s/result.json", dir);
    struct iso_record rec, back;
    iso_record_init(&rec);
    double x = 0.1;
    for (const struct iso_column *c = iso_columns; c->name; c++, x += 1.1) {
        snprintf(word, sizeof word, "\"%g\"", x);
        if (c->part & CARRIED) {
            iso_record_set_number(&rec, c, x);
            iso_record_set_text(&rec, c, word);
        }
    }
    rec.state = ISO_STATE_DONE;
    assert_int_equal(iso_record_write_result(&rec, path, NULL), ISO_OK);
    iso_record_init(&back);
    assert_int_equal(iso_result_read(&back, dir, NULL), ISO_RESULT_GOOD);
    assert_int_equal(back.state, ISO_STATE_DONE);
    for (const struct iso_column *c = iso_columns; c->name; c++)
        if (c->part == ISO_COLUMN_RESULT)
            assert_string_equal(iso_record_cell(a, &rec, c), iso_record_cell(b, &back, c));
    rec.lr_scalar++; /* a result of other settings */
    assert_int_equal(iso_result_read(&rec, dir, NULL), ISO_RESULT_OTHER);
}

/* Pipes in the place of a run's files hold nobody up. */
static void test_pipes(void **state)
{
    (void)state;
    static const char *const names[] = {"result.json", "metrics.jsonl", "latest", "run.json"};
    struct iso_err err = {""};
    struct iso_record rec;
    struct iso_curve curve;
    const struct iso_path run = iso_path_in(dir, "pipes");
    iso_record_init(&rec);
    assert_int_equal(iso_dir_make(run.text, NULL), ISO_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(mkfifo(iso_path_in(run.text, "%s", names[i]).text, 0600), 0);
    alarm(20);
    assert_int_equal(iso_result_read(&rec, run.text, &err), ISO_RESULT_HIDDEN);
    assert_non_null(strstr(err.msg, "result.json: not a regular file"));
    assert_int_equal(iso_result_read_plan(&rec, run.text, &err), ISO_RESULT_DAMAGED);
    assert_true(isnan(iso_result_progress(run.text).step));
    iso_curve_read(&curve, run.text);
    assert_int_equal(curve.n, 0);
    alarm(0);
    assert_true(iso_dir_remove(run.text));
}

static void test_spawn(void **state)
{
    (void)state;
    struct iso_str out = {0}, said = {0};
    struct iso_err err;
    int code;
    const char *const talk[] = {"sh", "-c", "echo 12; echo noise >&2; exit 5", NULL};
    assert_int_equal(iso_spawn(&code, &out, &said, talk, &err), ISO_OK);
    assert_int_equal(code, 5);
    assert_string_equal(iso_str_text(&out), "12\n");
    assert_string_equal(iso_str_text(&said), "noise\n");
    /* More than a pipe holds, on the one that is read second. */
    const char *const shout[] = {"sh", "-c", "head -c 300000 /dev/zero >&2; echo end", NULL};
    assert_int_equal(iso_spawn(&code, &out, &said, shout, &err), ISO_OK);
    assert_string_equal(iso_str_text(&out), "end\n");
    assert_int_equal(said.len, 300000);
    const char *const nothing[] = {"/no/such", NULL};
    assert_int_equal(iso_spawn(&code, &out, &said, nothing, &err), ISO_OK);
    assert_int_equal(code, 127);
    /* Where children are not waited for nobody knows how they end: no success. */
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(iso_spawn(&code, &out, &said, nothing, &err), ISO_IO);
    signal(SIGCHLD, SIG_DFL);
    iso_str_release(&out);
    iso_str_release(&said);
}

#if ISO_HAVE_SQLITE
static void test_store(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/study.db", dir);
    struct iso_store *store;
    struct iso_err err;
    assert_int_equal(iso_store_open(&store, path, ISO_STORE_READ, &err), ISO_IO);
    assert_non_null(strstr(err.msg, "no such file"));
    assert_int_equal(iso_store_open(&store, path, ISO_STORE_WRITE, &err), ISO_OK);
    struct iso_record rec = sample();
    rec.budget = 2.15e13; /* comes back to the last bit */
    rec.lr_matrix = 0.1 + 0.2;
    rec.state = ISO_STATE_FAILED;
    snprintf(rec.message, sizeof rec.message, "it's \"quoted\"; DROP TABLE run");
    assert_int_equal(iso_store_put(store, &rec, &err), ISO_OK);
    rec.attempts = 2;
    assert_int_equal(iso_store_put(store, &rec, &err), ISO_OK);
    assert_int_equal(iso_store_set(store, "data", "one", &err), ISO_OK);
    assert_int_equal(iso_store_set(store, "data", "two", &err), ISO_OK);
    struct iso_attempt a = {
        .run = rec.id, .launcher = "local", .host = "here", .outcome = "failed", .number = 1};
    assert_int_equal(iso_store_attempt(store, &a, &err), ISO_OK);
    iso_store_close(store);

    assert_int_equal(iso_store_open(&store, path, ISO_STORE_READ, &err), ISO_OK);
    struct iso_record *all;
    size_t n;
    assert_int_equal(iso_store_all(store, &all, &n, &err), ISO_OK);
    assert_int_equal(n, 1);
    assert_true(all[0].budget == 2.15e13 && all[0].lr_matrix == 0.1 + 0.2);
    assert_true(all[0].attempts == 2 && isnan(all[0].loss) && all[0].wanted);
    assert_int_equal(all[0].state, ISO_STATE_FAILED);
    assert_string_equal(all[0].message, rec.message);
    struct iso_str value = {0};
    assert_int_equal(iso_store_get(store, &value, "data", &err), ISO_OK);
    assert_string_equal(iso_str_text(&value), "two");
    assert_int_equal(iso_store_get(store, &value, "nothing", &err), ISO_OK);
    assert_string_equal(iso_str_text(&value), "");
    assert_int_equal(iso_store_put(store, &rec, &err), ISO_IO); /* opened for reading */
    iso_str_release(&value);
    free(all);
    iso_store_close(store);
}

/* Where in a store the number lies, which SQLite writes with its highest byte first. */
static size_t find_number(const struct iso_str *file, double x)
{
    uint64_t bits;
    unsigned char bytes[8];
    memcpy(&bits, &x, sizeof bits);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(bits >> (56 - 8 * i));
    const char *at = memmem(file->text, file->len, bytes, sizeof bytes);
    assert_non_null(at);
    return (size_t)(at - file->text);
}

/* Any flipped bit of a loss is noticed. */
static void test_store_damage(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/study.db", dir);
    struct iso_store *store;
    struct iso_err err;
    struct iso_record rec = sample(), *all;
    rec.loss = 3.3399;
    rec.seconds = -0.0; /* SQLite drops the sign */
    rec.flops = INFINITY;
    size_t n;
    assert_int_equal(iso_store_open(&store, path, ISO_STORE_WRITE, &err), ISO_OK);
    assert_int_equal(iso_store_put(store, &rec, &err), ISO_OK);
    assert_int_equal(iso_store_all(store, &all, &n, &err), ISO_OK);
    assert_true(n == 1 && all[0].loss == 3.3399);
    free(all);
    iso_store_close(store);
    struct iso_str file = {0};
    assert_int_equal(iso_file_read(&file, path, &err), ISO_OK);
    const size_t at = find_number(&file, 3.3399);
    for (size_t bit = 0; bit < 64; bit++) {
        file.text[at + bit / 8] ^= (char)(1 << bit % 8);
        assert_int_equal(iso_file_write(path, file.text, file.len, &err), ISO_OK);
        assert_int_equal(iso_store_open(&store, path, ISO_STORE_READ, &err), ISO_OK);
        assert_int_equal(iso_store_all(store, &all, &n, &err), ISO_BAD_INPUT);
        assert_non_null(strstr(err.msg, "does not match its checksum; rebuild it"));
        assert_true(!all && n == 0);
        iso_store_close(store);
        file.text[at + bit / 8] ^= (char)(1 << bit % 8);
    }
    iso_str_release(&file);
}

/* Three runs in a store, added one by one. */
static void put_three(const char *path)
{
    struct iso_store *store;
    struct iso_record rec = sample();
    assert_int_equal(iso_store_open(&store, path, ISO_STORE_WRITE, NULL), ISO_OK);
    assert_int_equal(iso_store_begin(store, NULL), ISO_OK);
    for (int i = 0; i < 3; i++) {
        snprintf(rec.id, sizeof rec.id, "run%d", i);
        assert_int_equal(iso_store_put(store, &rec, NULL), ISO_OK);
    }
    assert_int_equal(iso_store_end(store, ISO_OK, NULL), ISO_OK);
    iso_store_close(store);
}

/* How many runs the store of that path gives, -1 when it is refused with the remedy. */
static int count_rows(const char *path)
{
    struct iso_store *store;
    struct iso_record *all;
    struct iso_err err;
    size_t n;
    assert_int_equal(iso_store_open(&store, path, ISO_STORE_READ, &err), ISO_OK);
    enum iso_status st = iso_store_all(store, &all, &n, &err);
    iso_store_close(store);
    free(all);
    if (st != ISO_OK)
        assert_non_null(strstr(err.msg, "rebuild it from the run folders"));
    return st == ISO_OK ? (int)n : -1;
}

/* Rows that come and go through the store are expected; others are noticed. */
static void test_store_set(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/study.db", dir);
    put_three(path);
    assert_int_equal(count_rows(path), 3);
    put_three(path); /* the same ones: replaced */
    assert_int_equal(count_rows(path), 3);
    struct iso_store *store;
    assert_int_equal(iso_store_open(&store, path, ISO_STORE_WRITE, NULL), ISO_OK);
    assert_int_equal(iso_store_begin(store, NULL), ISO_OK);
    assert_int_equal(iso_store_remove(store, "run1", NULL), ISO_OK);
    assert_int_equal(iso_store_remove(store, "another", NULL), ISO_OK);
    assert_int_equal(iso_store_end(store, ISO_OK, NULL), ISO_OK);
    assert_int_equal(iso_store_begin(store, NULL),
                     ISO_OK); /* what is taken back has not happened */
    assert_int_equal(iso_store_remove(store, "run2", NULL), ISO_OK);
    assert_int_equal(iso_store_end(store, ISO_IO, NULL), ISO_IO);
    iso_store_close(store);
    assert_int_equal(count_rows(path), 2);

    struct iso_str file = {0};
    put_three(path);
    assert_int_equal(iso_file_read(&file, path, NULL), ISO_OK);
    for (int bit = 0; bit < 16; bit++) { /* the number of rows, in the header of their page */
        char *at = &file.text[4096 + 3 + bit / 8];
        *at ^= (char)(1 << bit % 8);
        assert_int_equal(iso_file_write(path, file.text, file.len, NULL), ISO_OK);
        assert_int_equal(count_rows(path), -1);
        *at ^= (char)(1 << bit % 8);
    }
    iso_str_release(&file);
}

/* A store with two facts, and changes to one of them. */
static void set_facts(const char *path)
{
    struct iso_store *store;
    assert_int_equal(iso_store_open(&store, path, ISO_STORE_WRITE, NULL), ISO_OK);
    assert_int_equal(iso_store_set(store, "words on", "phi = 0.845", NULL), ISO_OK);
    assert_int_equal(iso_store_begin(store, NULL), ISO_OK);
    assert_int_equal(iso_store_set(store, "options", "{\"jobs\": 1}", NULL), ISO_OK);
    assert_int_equal(iso_store_set(store, "options", "{\"jobs\": 2}", NULL), ISO_OK);
    assert_int_equal(iso_store_end(store, ISO_OK, NULL), ISO_OK);
    assert_int_equal(iso_store_begin(store, NULL), ISO_OK); /* what is taken back */
    assert_int_equal(iso_store_set(store, "options", "{\"jobs\": 3}", NULL), ISO_OK);
    assert_int_equal(iso_store_end(store, ISO_IO, NULL), ISO_IO);
    iso_store_close(store);
}

/* Any flipped bit of a fact, of its name or its value, is noticed, whichever fact is asked for, by
 * readers and by writers. */
static void test_store_facts(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/study.db", dir);
    set_facts(path);
    struct iso_store *store;
    struct iso_err err;
    struct iso_str file = {0}, value = {0};
    assert_int_equal(iso_store_open(&store, path, ISO_STORE_READ, &err), ISO_OK);
    assert_int_equal(iso_store_get(store, &value, "options", &err), ISO_OK);
    assert_string_equal(value.text, "{\"jobs\": 2}");
    iso_store_close(store);
    assert_int_equal(iso_file_read(&file, path, &err), ISO_OK);
    static const char wanted[] = "words onphi = 0.845";
    const char *at = memmem(file.text, file.len, wanted, sizeof wanted - 1);
    assert_non_null(at);
    for (size_t bit = 0; bit < 8 * (sizeof wanted - 1); bit++) {
        char *byte = &file.text[at - file.text + (ptrdiff_t)(bit / 8)];
        *byte ^= (char)(1 << bit % 8);
        assert_int_equal(iso_file_write(path, file.text, file.len, &err), ISO_OK);
        assert_int_equal(iso_store_open(&store, path, ISO_STORE_READ, &err), ISO_OK);
        assert_int_equal(iso_store_get(store, &value, "options", &err), ISO_BAD_INPUT);
        assert_non_null(strstr(err.msg, "does not match its checksum; rebuild it"));
        iso_store_close(store);
        assert_int_equal(iso_store_open(&store, path, ISO_STORE_WRITE, &err), ISO_BAD_INPUT);
        *byte ^= (char)(1 << bit % 8);
    }
    iso_str_release(&value);
    iso_str_release(&file);
}

/* A row without an id is no run, whatever the checksum says. */
static void test_store_ghost(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/study.db", dir);
    struct iso_store *store;
    struct iso_record ghost;
    iso_record_init(&ghost);
    assert_int_equal(iso_store_open(&store, path, ISO_STORE_WRITE, NULL), ISO_OK);
    assert_int_equal(iso_store_put(store, &ghost, NULL), ISO_OK);
    iso_store_close(store);
    assert_int_equal(count_rows(path), -1);
}
#endif

int main(void)
{
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_where_long),
        cmocka_unit_test(test_where_errors),
        cmocka_unit_test(test_result),
        IN_DIR(test_progress),
        IN_DIR(test_curve),
        IN_DIR(test_run_json),
        IN_DIR(test_result_json),
        cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_spawn),
#if ISO_HAVE_SQLITE
        IN_DIR(test_store),
        IN_DIR(test_store_damage),
        IN_DIR(test_store_set),
        IN_DIR(test_store_facts),
        IN_DIR(test_store_ghost),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
