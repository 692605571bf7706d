/* fit: reading tables of runs; what is refused, with its message, and what is left out. */
#include "test.h"

#include "base/file.h"
#include "fit/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER "budget,r,n_once,n_rec,n_inject,tokens,loss\n"
#define GOOD   "1e18,2,5e7,4e7,1e6,1e9,3.1\n"

static enum iso_status read_text(struct iso_runs *runs, const char *text, struct iso_err *err)
{
    *runs = (struct iso_runs){0};
    enum iso_status st = iso_runs_add(runs, text, strlen(text), "t", NULL, err);
    return st == ISO_OK ? iso_runs_finish(runs, err) : st;
}

static const struct {
    const char *text, *message;
} broken[] = {
    {"", "t: empty; a header line is expected"},
    {"budget,r\n1e18\n", "t:2: 1 fields, but the header has 2"},
    {"budget,r,r\n", "t:1: column r is there twice"},
    {"budget,r\n1e18,\"2\n", "t:2: the quoted field does not end"},
    {"r,n_once,loss\n1,1e8,3\n",
     "t: column tokens is missing. Found: r, n_once, loss. Name it with `columns` tokens=NAME"},
    {"budget,r,n_onse,tokens,loss\n1e18,1,1e8,1e9,3\n",
     "t: column n_once is missing; is it n_onse? Found: budget, r, n_onse, tokens, loss. Name it "
     "with `columns` n_once=NAME"},
    {"budget,n_once,token,loss\n1e18,1e8,1e9,3\n",
     "t: column tokens is missing; is it token? Found: budget, n_once, token, loss. Name it with "
     "`columns` tokens=NAME"},
    {"r,n,bugdet,tokens,loss\n1,1e8,1e18,1e9,3\n",
     "t: column budget is missing; is it bugdet? Found: r, n, bugdet, tokens, loss. Name it with "
     "`columns` budget=NAME"},
    {"budget,n_once,tokens\n1e18,1e8,1e9\n",
     "t: column loss is missing. Found: budget, n_once, tokens. Name it with `columns` loss=NAME"},
    {HEADER "many,2,5e7,4e7,1e6,1e9,3.1\n", "t:2: column budget: \"many\" is not a number"},
    {HEADER "0,2,5e7,4e7,1e6,1e9,3.1\n", "t:2: column budget: 0 must be above 0"},
    {HEADER ",2,5e7,4e7,1e6,1e9,3.1\n", "t:2: column budget is empty"},
    {HEADER "1e18,2,5e7,4e7,1e6,nan,3.1\n", "t:2: column tokens: \"nan\", not a number"},
    {HEADER "inf,2,5e7,4e7,1e6,1e9,3.1\n", "t:2: column budget: inf must be finite"},
    {"budget,n_once,tokens,loss\r1e18,1e8,1e9,3\r",
     "t: its lines end with a carriage return alone; convert them, for example with tr '\\r' "
     "'\\n'"},
    {"flops,n_once,tokens,loss\n-5,1e8,1e9,3\n", "t:2: column flops: -5 must be above 0"},
    {HEADER GOOD "1e18,0.5,5e7,4e7,1e6,1e9,3.1\n", "t:3: column r: 0.5 must be at least 1"},
    {HEADER "1e18,two,5e7,4e7,1e6,1e9,3.1\n", "t:2: column r: \"two\" is not a number"},
    {HEADER "1e18,1e9,5e7,4e7,1e6,1e9,3.1\n", "t:2: column r: 1e+09 recurrences cannot be meant"},
    {HEADER "1e18,2,-5e7,4e7,1e6,1e9,3.1\n", "t:2: column n_once: -5e7 must be at least 0"},
    {HEADER "1e18,2,5e7,-1,1e6,1e9,3.1\n", "t:2: column n_rec: -1 must be at least 0"},
    {HEADER "1e18,4,5e7,0,1e6,1e9,3.1\n",
     "t:2: column n_rec: r is 4, but no parameters are used r times"},
    {HEADER "1e18,1,0,0,0,1e9,3.1\n", "t:2: columns n_once and n_rec: the model has no parameters"},
    {HEADER "1e18,2,5e7,4e7,nope,1e9,3.1\n", "t:2: column n_inject: \"nope\" is not a number"},
    {HEADER "1e18,2,5e7,4e7,1e6,0,3.1\n", "t:2: column tokens: 0 must be above 0"},
    {HEADER "1e18,2,5e7,4e7,1e6,0.25,3.1\n", "t:2: column tokens: less than one token"},
    {HEADER "1e18,2,5e7,4e7,1e6,1e9,3.1x\n", "t:2: column loss: \"3.1x\" is not a number"},
    {"budget;n_once;tokens;loss\n1e18;1e8;1e9;3,14\n",
     "t:2: column loss: \"3,14\" is not a number; write decimals with a point"},
    {HEADER "1e18,2,5e7,4e7,1e6,\"1,000,000\",3.1\n",
     "t:2: column tokens: \"1,000,000\" is not a number; write it without commas"},
    {HEADER "1e18,2,5e7,4e7,1e6,1e999,3.1\n", "t:2: column tokens: \"1e999\" is not a number"},
    {"n,tokens (B),loss\n1e8,1e300,3\n", "t:2: column tokens (B): 1e300 is too large"},
    {"n,tokens,loss\n1e200,1e200,3\n", "t:2: parameters and tokens: more than can be meant"},
    {"d_model,depth,tokens,loss\n512,8,1e9,3\n,8,1e9,3\n",
     "t:3: columns d_model and depth: an empty cell leaves the model without a size"},
    {HEADER "1e18,2,5e7,4e7,1e6,\"1e9\"x,3.1\n", "t:2: text after a closing quote"},
    {"run," HEADER "a," GOOD "a,1e18,2,5e7,4e7,1e6,1e9,3.2\n",
     "t:3: run a is also at t:2 with other numbers; give repeats of a design their own run names "
     "and seeds, and for checkpoints of one run name the column with `cluster`"},
    {"[1, 2]\n", "t:1: a JSON object is expected for each run: {\"loss\": ..., ...}"},
    {"{\"budget\": 1e18, \"n_once\": 1e8}\n",
     "t: column loss is missing. Found: budget, n_once. Name it with `columns` loss=NAME"},
    {"{\"budget\": 1e18, \"n_once\": [1], \"tokens\": 1e9, \"loss\": 3}\n",
     "t: column n is missing. Found: budget, tokens, loss. Name it with `columns` n=NAME"},
    {"{\"budget\": 1e18, \"n_once\": 1e8, \"tokens\": -4, \"loss\": 3}\n",
     "t:1: column tokens: -4 must be above 0"},
};

static void test_broken_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct iso_runs runs;
        struct iso_err err;
        const enum iso_status st = read_text(&runs, broken[i].text, &err);
        if (st != ISO_BAD_INPUT)
            fail_msg("case %zu is accepted: %s", i, broken[i].text);
        if (strcmp(err.msg, broken[i].message) != 0)
            fail_msg("case %zu says: %s", i, err.msg);
        iso_runs_release(&runs);
    }
}

/* Broken JSON: the parser's message varies, but names the line. */
static void test_broken_json(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"budget\": 1e18,\n{}\n", "{\"budget\" 3}\n{}",
                                        "{} {}\n{}", "{\"loss\": nan}\n{}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct iso_runs runs;
        struct iso_err err;
        assert_int_equal(read_text(&runs, texts[i], &err), ISO_BAD_INPUT);
        assert_non_null(strstr(err.msg, "t:1"));
        iso_runs_release(&runs);
    }
}

static void test_defaults_and_extras(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_err err;
    assert_int_equal(read_text(&runs,
                               "# a comment\nflops,n_once,tokens,loss,lr,note\n"
                               "6e18,1e8,1e10,2.5,0.01,\"x, y\"\n",
                               &err),
                     ISO_OK);
    assert_int_equal(runs.n, 1);
    const struct iso_run *run = &runs.at[0];
    assert_true(run->budget == 6e18 && run->r == 1 && run->n_rec == 0 && run->n_inject == 0);
    assert_true(isnan(run->n_embed) && isnan(run->d_model));
    assert_int_equal(run->line, 3);
    assert_int_equal(runs.n_extra, 2);
    assert_string_equal(run->extra[1], "x, y");
    struct iso_str csv = {0};
    iso_runs_write_csv(&csv, &runs);
    assert_string_equal(
        csv.text,
        "run,budget,r,n_once,n_rec,n_inject,n_embed,flops_per_token,tokens,loss,s,d_model,lr_base,"
        "vocab,seq_len,seed,lr,note\n,6e+18,1,100000000,0,0,,,10000000000,2.5,,,,,,,0.01,\"x, "
        "y\"\n");
    iso_str_release(&csv);
    iso_runs_release(&runs);
}

/* A looped run whose r is not there would pass for a plain one. */
static void test_no_r(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_err err;
    assert_int_equal(read_text(&runs, HEADER GOOD "1e18,,5e7,4e7,1e6,1e9,3.2\n", &err), ISO_OK);
    assert_int_equal(runs.n, 2);
    assert_int_equal(runs.n_note, 1);
    assert_string_equal(runs.note[0], "1 row has an empty r and counts as r = 1");
    iso_runs_release(&runs);
}

/* Rows that are runs, but without a loss to use. */
static void test_left_out(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_err err;
    assert_int_equal(
        read_text(&runs,
                  "run,status," HEADER "a,done," GOOD "b,diverged,1e18,2,5e7,4e7,1e6,1e9,9.9\n"
                  "c,done,1e18,2,5e7,4e7,1e6,1e9,nan\nd,,1e18,2,5e7,4e7,1e6,1e9,\n"
                  "e,ok,1e18,2,5e7,4e7,1e6,1e9,0\nf,running,1e18,2,5e7,4e7,1e6,1e9,3.3\n"
                  "a,done," GOOD,
                  &err),
        ISO_OK);
    static const char *const reasons[] = {"status diverged", "the loss is not finite",
                                          "no loss",         "the loss is not above 0",
                                          "status running",  "the same as t:2"};
    assert_int_equal(runs.n, 1);
    assert_int_equal(runs.n_left_out, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(runs.left_out[i].reason, reasons[i]);
    iso_runs_release(&runs);
}

/* CSV and JSONL files of one study go together; rows come out sorted. */
static void test_several_files(void **state)
{
    (void)state;
    static const char csv[] = HEADER "1e19,2,5e7,4e7,1e6,1e9,2.9\n" GOOD;
    static const char json[] =
        "{\"budget\": 1e18, \"n_once\": 1e8, \"tokens\": \"1e9\", \"loss\": "
        "3.25, \"tag\": \"z\", \"nested\": {\"a\": 1}}\n\n"
        "{\"budget\": 1e18, \"n_once\": 2e8, \"tokens\": 1e9, \"loss\": null}";
    struct iso_runs runs = {0};
    struct iso_err err;
    assert_int_equal(iso_runs_add(&runs, csv, strlen(csv), "a", NULL, &err), 0);
    assert_int_equal(iso_runs_add(&runs, json, strlen(json), "b", NULL, &err), 0);
    assert_int_equal(iso_runs_finish(&runs, &err), ISO_OK);
    assert_int_equal(runs.n, 3);
    assert_int_equal(runs.n_left_out, 1);
    assert_true(runs.at[0].loss == 3.25 && runs.at[1].loss == 3.1 && runs.at[2].loss == 2.9);
    assert_int_equal(runs.n_extra, 1);
    assert_string_equal(runs.at[0].extra[0], "z");
    assert_string_equal(runs.at[2].extra[0], "");
    iso_runs_release(&runs);
}

/* Every name that JSON can hold is written as CSV and reads back as it was. */
static void test_names_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *json, *id;
    } names[] = {{"#a", "#a"},
                 {" #b", " #b"},
                 {"\\t#c", "\t#c"},
                 {"d ", "d "},
                 {"e,\\\"f", "e,\"f"},
                 {"\\r", "\r"},
                 {"g\\r\\n", "g\r\n"},
                 {"", ""},
                 {"\\ufeffh", "\xEF\xBB\xBFh"},
                 {"\\u001b[2J", "\033[2J"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct iso_runs runs = {0}, again = {0};
        struct iso_str json = {0}, csv = {0};
        struct iso_err err;
        iso_str_printf(&json,
                       "{\"run\": \"%s\", \"budget\": 1e18, \"n_once\": 1e8, \"tokens\": 1e9, "
                       "\"loss\": 3.25, \"seed\": \"%s\", \" #x\": 2, "
                       "\";;;;;;;;;;;;;;;;;;;;\": 3}",
                       names[i].json, names[i].json);
        assert_int_equal(iso_runs_add(&runs, json.text, json.len, "t", NULL, &err), ISO_OK);
        assert_int_equal(iso_runs_finish(&runs, &err), ISO_OK);
        assert_string_equal(runs.at[0].id, names[i].id);
        iso_runs_write_csv(&csv, &runs);
        if (iso_runs_add(&again, csv.text, csv.len, "u", NULL, &err) != ISO_OK)
            fail_msg("%s", err.msg);
        assert_int_equal(again.n, 1);
        assert_string_equal(again.at[0].id, names[i].id);
        assert_string_equal(again.at[0].seed, names[i].id);
        assert_int_equal(again.n_extra, runs.n_extra);
        for (size_t k = 0; k < runs.n_extra; k++)
            assert_string_equal(again.extra_name[k], runs.extra_name[k]);
        iso_str_release(&json);
        iso_str_release(&csv);
        iso_runs_release(&runs);
        iso_runs_release(&again);
    }
}

/* The name of a column that is written may be that of one that is carried along: the loss of this
 * table is val_loss.  The other one gets a name that none has. */
static void test_columns_read_back(void **state)
{
    (void)state;
    static const char table[] = "name,params,flops,tokens,val_loss,loss,their_loss\n"
                                "a,1e8,6e17,1e9,3.25,3.5,3.75\n";
    struct iso_runs runs = {0}, again = {0};
    struct iso_str csv = {0};
    struct iso_err err;
    assert_int_equal(iso_runs_add(&runs, table, strlen(table), "t", NULL, &err), ISO_OK);
    iso_runs_write_csv(&csv, &runs);
    if (iso_runs_add(&again, csv.text, csv.len, "u", NULL, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    assert_true(runs.at[0].loss == 3.25 && again.at[0].loss == 3.25);
    assert_int_equal(again.n_extra, runs.n_extra);
    for (size_t k = 0; k < runs.n_extra; k++) {
        assert_string_equal(again.extra_name[k], runs.extra_name[k]);
        assert_string_equal(again.at[0].extra[k], runs.at[0].extra[k]);
    }
    assert_string_equal(again.at[0].extra[runs.n_extra - 2], "3.5");
    assert_string_equal(again.at[0].extra[runs.n_extra - 1], "3.75");
    iso_str_release(&csv);
    iso_runs_release(&runs);
    iso_runs_release(&again);
}

static void test_planned(void **state)
{
    (void)state;
    static const char csv[] =
        "run,budget,r,n_once,n_rec,n_inject,tokens\nx,1e18,2,5e7,4e7,1e6,1e9\n";
    struct iso_runs runs = {0};
    struct iso_err err;
    assert_int_equal(iso_runs_add(&runs, csv, strlen(csv), "a",
                                  &(const struct iso_runs_how){.kind = ISO_RUNS_PLANNED}, &err),
                     0);
    assert_int_equal(iso_runs_finish(&runs, &err), ISO_OK);
    assert_true(runs.n == 1 && isnan(runs.at[0].loss));
    iso_runs_release(&runs);
}

/* Without a loss, a name and a seed nothing tells a design's repeats apart; they are runs all the
 * same.  One name is one run. */
static void test_planned_repeats(void **state)
{
    (void)state;
    static const char csv[] =
        "run,seed," HEADER ",," GOOD ",," GOOD ",1," GOOD ",1," GOOD "x,," GOOD "x,," GOOD;
    const struct iso_runs_how how = {.kind = ISO_RUNS_PLANNED};
    struct iso_runs runs = {0};
    struct iso_err err;
    assert_int_equal(iso_runs_add(&runs, csv, strlen(csv), "a", &how, &err), ISO_OK);
    assert_int_equal(iso_runs_finish(&runs, &err), ISO_OK);
    assert_int_equal(runs.n, 4);
    assert_int_equal(runs.n_left_out, 2);
    iso_runs_release(&runs);
}

/* Whoever asks for predictions puts them beside his own rows: all of them, in their order. */
static void test_points(void **state)
{
    (void)state;
    static const char csv[] = "run,n,tokens\na,3e9,1e10\nb,1e9,2e10\nb,1e9,2e10\nb,2e9,1e9\n";
    const struct iso_runs_how how = {.kind = ISO_RUNS_POINTS, .anchor = "both"};
    struct iso_runs runs = {0};
    struct iso_err err;
    assert_int_equal(iso_runs_add(&runs, csv, strlen(csv), "a", &how, &err), ISO_OK);
    assert_int_equal(iso_runs_finish(&runs, &err), ISO_OK);
    assert_int_equal(runs.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(runs.at[i].line, i + 2);
    iso_runs_release(&runs);
}

static char noted[1024]; /* the notes of the study that was read last, a line each */

/* A study of one run's folder; the table's rows and the run's result are texts; NULL: no result. */
static enum iso_status read_study(const char *dir, const char *row, const char *result,
                                  struct iso_err *err)
{
    struct iso_str table = {0};
    struct iso_runs runs = {0};
    iso_str_printf(&table, "run,status,%s%s", HEADER, row);
    const struct iso_path csv = iso_path_in(dir, "runs.csv");
    assert_int_equal(iso_file_write(csv.text, table.text, table.len, err), ISO_OK);
    const struct iso_path folder = iso_path_in(dir, "runs/a"),
                          file = iso_path_in(folder.text, "result.json");
    assert_int_equal(iso_dir_make(folder.text, err), ISO_OK);
    assert_int_equal(iso_file_write(iso_path_in(folder.text, "run.json").text, "{}", 2, err),
                     ISO_OK);
    if (result)
        assert_int_equal(iso_file_write(file.text, result, strlen(result), err), ISO_OK);
    enum iso_status st = iso_runs_read(&runs, &dir, 1, NULL, err);
    noted[0] = '\0';
    for (size_t i = 0, len = 0; i < runs.n_note; i++, len = strlen(noted))
        snprintf(noted + len, sizeof noted - len, "%s\n", runs.note[i]);
    iso_runs_release(&runs);
    iso_str_release(&table);
    iso_dir_remove(folder.text);
    iso_dir_remove(iso_path_in(dir, "runs").text);
    unlink(csv.text);
    return st;
}

/* A study's table is rejected where it is not what the results say. */
static void test_study_rows(void **state)
{
    (void)state;
    static const char result[] = "{\"loss\": 3.1, \"tokens\": 1e9, \"r\": 2, \"cpu\": \"x\"}";
    struct iso_err err = {""};
    char dir[] = "/tmp/isodepth-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_int_equal(read_study(dir, "a,done," GOOD, result, &err), ISO_OK);
    assert_int_equal(read_study(dir, "a,done,1e18,2,5e7,4e7,1e6,1e9,3.5\n", result, &err),
                     ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "runs.csv:2: loss is 3.5, but the result of run a says 3.1"));
    assert_int_equal(read_study(dir, "a,done,1e18,2,5e7,4e7,1e6,1e8,3.1\n", result, &err),
                     ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "tokens is 1e8"));
    /* A folder's result that the table lacks; only one that --rebuild would take counts. */
    static const char own[] = "{\"status\": \"done\", \"run\": \"a\", \"loss\": 3.1}";
    assert_int_equal(read_study(dir, "b,done," GOOD, own, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "has no row of run a, whose folder in "));
    assert_int_equal(read_study(dir, "b,done," GOOD, result, &err), ISO_OK);
    /* A state that is none; one that a killed scheduler leaves is no damage. */
    assert_int_equal(read_study(dir, "a,donex," GOOD, own, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "runs.csv:2: status is \"donex\", but the result of run a"));
    assert_int_equal(read_study(dir, "a,diverged," GOOD, own, &err), ISO_BAD_INPUT);
    assert_int_equal(read_study(dir, "b,done," GOOD "a,running," GOOD, own, &err), ISO_OK);
    assert_non_null(strstr(noted, "1 run is finished, but not in the table (the first: a)"));
    /* What is damaged confirms nothing. */
    assert_int_equal(read_study(dir, "a,done," GOOD, "{\"loss\": 3.5", &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "runs/a/result.json is damaged"));
    assert_int_equal(read_study(dir, "a,done," GOOD, "{\"loss\": 3.5,\n  \"xxh64\": \"0\"}", &err),
                     ISO_BAD_INPUT);
    /* A folder without a result is said, and so is a row without a folder. */
    assert_int_equal(read_study(dir, "a,done," GOOD, NULL, &err), ISO_OK);
    assert_non_null(strstr(noted, "1 run is done, but no result.json can be read"));
    assert_int_equal(read_study(dir, "b,done," GOOD, NULL, &err), ISO_OK);
    assert_non_null(strstr(noted, "1 run is done, but without a folder in runs/ (the first: b)"));
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_tables),
        cmocka_unit_test(test_broken_json),
        cmocka_unit_test(test_defaults_and_extras),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_planned),
        cmocka_unit_test(test_names_read_back),
        cmocka_unit_test(test_columns_read_back),
        cmocka_unit_test(test_study_rows),
        cmocka_unit_test(test_planned_repeats),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_no_r),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
