/* table, fit: other people's tables; what their columns mean, and what they are refused for. */
#include "test.h"

#include "base/str.h"
#include "fit/runs.h"
#include "table/sheet.h"

#include <math.h>
#include <string.h>
#include <time.h>

static enum iso_status read_as(struct iso_runs *runs, const char *text,
                               const struct iso_runs_how *how, struct iso_err *err)
{
    *runs = (struct iso_runs){0};
    enum iso_status st = iso_runs_add(runs, text, strlen(text), "t", how, err);
    return st == ISO_OK ? iso_runs_finish(runs, err) : st;
}

/* Headers as W&B, MLflow, TensorBoard exports and hand-made sheets have them, each with the row
 * N = 1e8, D = 2e9, C = 1.2e18, L = 3: what is understood, or why not. */
static const struct {
    const char *header, *row;
    const char *expected; /* "Columns: ..." without its end, "" for our own names, or a message */
} headers[] = {
    {"budget,r,n_once,n_rec,n_inject,tokens,loss", "1.2e18,1,1e8,0,0,2e9,3", ""},
    {"flops,n_once,tokens,loss", "1.2e18,1e8,2e9,3", "budget ← flops"},
    {"N,D,C,loss", "1e8,2e9,1.2e18,3", "budget ← C, n ← N, tokens ← D"},
    {"params,tokens,flops,loss", "1e8,2e9,1.2e18,3", "budget ← flops, n ← params"},
    {"Parameters,Total Tokens,Compute,Final Loss", "1e8,2e9,1.2e18,3",
     "budget ← Compute, n ← Parameters, tokens ← Total Tokens, loss ← Final Loss"},
    {"parameter_count,train_tokens,compute_budget,val_loss", "1e8,2e9,1.2e18,3",
     "budget ← compute_budget, n ← parameter_count, tokens ← train_tokens, loss ← val_loss"},
    {"Name,State,params_active,throughput/total_tokens,val/loss,train/loss,c",
     "a,finished,1e8,2e9,3,2.5,1.2e18",
     "budget ← c, n ← params_active, tokens ← throughput/total_tokens, loss ← val/loss, run ← "
     "Name, "
     "status ← State"},
    {"run_id,status,params.n_params,metrics.eval/loss,metrics/tokens_seen,metrics/gflops",
     "x,FINISHED,1e8,3,2e9,1.2e9",
     "budget ← metrics/gflops, n ← params.n_params, tokens ← metrics/tokens_seen, loss ← "
     "metrics.eval/loss, run ← run_id"},
    {"run_id,status,params/n_params,metrics/eval_loss,metrics/tokens_seen,metrics/gflops",
     "x,FINISHED,1e8,3,2e9,1.2e9",
     "budget ← metrics/gflops, n ← params/n_params, tokens ← metrics/tokens_seen, loss ← "
     "metrics/eval_loss, run ← run_id"},
    {"num_params,training_tokens,flop,loss/val", "1e8,2e9,1.2e18,3",
     "budget ← flop, n ← num_params, tokens ← training_tokens, loss ← loss/val"},
    {"non_embedding_params,params,tokens,flops,loss", "1e8,2e8,2e9,1.2e18,3",
     "budget ← flops, n ← non_embedding_params"},
    {"N_PARAMS,D,TFLOPS,LOSS", "1e8,2e9,1.2e6,3",
     "budget ← TFLOPS, n ← N_PARAMS, tokens ← D, loss ← LOSS"},
    {"n,d,pflops,eval_loss", "1e8,2e9,1200,3", "budget ← pflops, tokens ← d, loss ← eval_loss"},
    {"Params (M),Tokens (B),FLOPs,Val Loss", "100,2,1.2e18,3",
     "budget ← FLOPs, n ← Params (M), tokens ← Tokens (B), loss ← Val Loss"},
    {"model size (M),tokens,loss", "100,2e9,3",
     "t: column n is missing. Found: model size (M), tokens, loss. Name it with `columns` n=NAME"},
    {"n,tokens,budget,loss,val_loss", "1e8,2e9,1.2e18,2.5,3", "loss ← val_loss"},
    {"n,tokens,budget,loss,train_loss", "1e8,2e9,1.2e18,3,2.5", ""},
    {"n,tokens,budget,training_loss", "1e8,2e9,1.2e18,3", "loss ← training_loss"},
    {"n,tokens,budget,val/loss,eval/loss", "1e8,2e9,1.2e18,3,3",
     "t: several columns may be loss: val/loss, eval/loss. Choose one with `columns` loss=NAME"},
    {"params,n_params,tokens,flops,loss", "1e8,1e8,2e9,1.2e18,3",
     "t: several columns may be n: params, n_params. Choose one with `columns` n=NAME"},
    {"n,D,d,flops,loss", "1e8,2e9,64,1.2e18,3",
     "t: several columns may be tokens: D, d. Choose one with `columns` tokens=NAME"},
    {"n,tokens,flops,gflops,loss", "1e8,2e9,1.2e18,1.2e9,3",
     "t: several columns may be budget: flops, gflops. Choose one with `columns` budget=NAME"},
    {"n,r,recurrence,num_recur,tokens,flops,loss", "1e8,1,1,1,2e9,1.2e18,3", "budget ← flops"},
    {"n,loops,num_recur,tokens,flops,loss", "1e8,1,1,2e9,1.2e18,3",
     "t: several columns may be r: loops, num_recur. Choose one with `columns` r=NAME"},
    {"n,Num Loops,tokens,flops,loss", "1e8,1,2e9,1.2e18,3", "budget ← flops, r ← Num Loops"},
    {"n,tokens,accuracy", "1e8,2e9,0.5",
     "t: column loss is missing. Found: n, tokens, accuracy. Name it with `columns` loss=NAME"},
    {"n,tokens,los", "1e8,2e9,3",
     "t: column loss is missing; is it los? Found: n, tokens, los. Name it with `columns` "
     "loss=NAME"},
    {"model,tokens,loss", "70m,2e9,3",
     "t: column n is missing. Found: model, tokens, loss. Name it with `columns` n=NAME"},
    {"n,loss", "1e8,3",
     "t: column tokens is missing. Found: n, loss. Name it with `columns` tokens=NAME"},
    {"step,lr,grad_norm", "1,2,3",
     "t: column loss is missing. Found: step, lr, grad_norm. Name it with `columns` loss=NAME"},
    {"n,epochs,tokens,budget,loss,is_outlier", "1e8,1,2e9,1.2e18,3,False", "outlier ← is_outlier"},
    {"width,n_layers,tokens,budget,loss,Random Seed", "288.675134594813,100,2e9,1.2e18,3,7",
     "d_model ← width, depth ← n_layers, seed ← Random Seed"},
};

static void check_row(size_t i, const struct iso_runs *runs)
{
    const struct iso_run *run = &runs->at[0];
    if (runs->n != 1 || fabs(iso_run_params(run) / 1e8 - 1) > 1e-9 || run->tokens != 2e9 ||
        fabs(run->budget / 1.2e18 - 1) > 1e-9 || run->loss != 3)
        fail_msg("%s: N %g, D %g, C %g, L %g", headers[i].header, iso_run_params(run), run->tokens,
                 run->budget, run->loss);
}

static void test_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct iso_runs runs;
        struct iso_err err = {""};
        struct iso_str text = {0}, said = {0};
        iso_str_printf(&text, "%s\n%s\n", headers[i].header, headers[i].row);
        const enum iso_status st = read_as(&runs, text.text, NULL, &err);
        if (st == ISO_OK) {
            check_row(i, &runs);
            for (size_t k = 0; k < runs.n_understood; k++)
                iso_str_printf(&said, "%s%s ← %s", k ? ", " : "", runs.understood[k].role,
                               runs.understood[k].column);
        } else {
            iso_str_puts(&said, err.msg);
        }
        assert_string_equal(iso_str_text(&said), headers[i].expected);
        iso_str_release(&said);
        iso_str_release(&text);
        iso_runs_release(&runs);
    }
}

static void test_by_hand(void **state)
{
    (void)state;
    static const char text[] = "params_total,params_active,val/loss,eval/loss,D,flops\n"
                               "2e8,1e8,3,4,2e9,1.2e18\n";
    static const struct {
        const char *columns, *message;
        double n, loss;
    } cases[] = {
        {"loss=eval/loss", NULL, 1e8, 4},
        {"loss=val/loss,n=params_total", NULL, 2e8, 3},
        {"loss", "`columns`: expected role=name,..., found \"loss\"", 0, 0},
        {"los=val/loss", "`columns`: \"los\" is none of budget, r, n_once,", 0, 0},
        {"loss=val/loss,loss=val/loss", "`columns`: loss is given twice", 0, 0},
        {"loss=valloss",
         "t: `columns` loss=valloss: there is no column valloss. Found: params_total", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_runs runs;
        struct iso_err err = {""};
        const struct iso_runs_how how = {.columns = cases[i].columns};
        const enum iso_status st = read_as(&runs, text, &how, &err);
        assert_int_equal(st == ISO_OK, cases[i].message == NULL);
        if (cases[i].message)
            assert_ptr_equal(strstr(err.msg, cases[i].message), err.msg);
        else
            assert_true(runs.at[0].loss == cases[i].loss && runs.at[0].n_once == cases[i].n);
        iso_runs_release(&runs);
    }
}

/* What is computed is right, and noted. */
static void test_computed(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_err err = {""};
    assert_int_equal(read_as(&runs, "n,tokens,loss\n1e8,2e9,3\n", NULL, &err), ISO_OK);
    assert_true(runs.at[0].budget == 6 * 1e8 * 2e9 && runs.n_note == 1);
    iso_runs_release(&runs);
    assert_int_equal(read_as(&runs, "n,flops,loss\n1e8,1.2e18,3\n", NULL, &err), ISO_OK);
    assert_true(fabs(runs.at[0].tokens - 2e9) < 1 && runs.n_note == 1);
    iso_runs_release(&runs);
    assert_int_equal(read_as(&runs, "n,tokens,loss,epochs\n1e8,2e9,3,4\n", NULL, &err), ISO_OK);
    assert_int_equal(runs.n_note, 2);
    iso_runs_release(&runs);
    assert_int_equal(read_as(&runs, "n,tokens,budget,train/loss\n1e8,2e9,1e18,3\n", NULL, &err),
                     ISO_OK);
    assert_true(runs.n_note == 1 && strstr(runs.note[0], "training loss"));
    iso_runs_release(&runs);
    assert_int_equal(
        read_as(&runs, "n_once,n_rec,tokens,budget,loss\n1e8,1e8,2e9,1e18,3\n", NULL, &err),
        ISO_OK);
    assert_true(runs.n_note == 1 && strstr(runs.note[0], "no column r"));
    iso_runs_release(&runs);
    assert_int_equal(read_as(&runs, "n_once,r,tokens,budget,loss\n1e8,2,2e9,1e18,3\n", NULL, &err),
                     ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "column n_rec is missing"));
    iso_runs_release(&runs);
}

/* The paper's model at s = 10: 20 layers, of which 2 + 2 run once; N of its table. */
static void test_split(void **state)
{
    (void)state;
    static const char looped[] = "n,r,tokens,budget,loss\n40140800,4,1e9,1e18,3\n";
    const struct iso_runs_how how = {.arch = "depth=20,prelude=2,coda=2"};
    const double layer = 12.0 * 640 * 640;
    struct iso_runs runs;
    struct iso_err err = {""};
    assert_int_equal(read_as(&runs, looped, &how, &err), ISO_OK);
    assert_true(fabs(runs.at[0].n_once / (4 * layer) - 1) < 1e-9);
    assert_true(fabs(runs.at[0].n_rec / (4 * layer) - 1) < 1e-9);
    assert_true(fabs(runs.at[0].n_inject / (layer / 6) - 1) < 1e-9);
    iso_runs_release(&runs);
    assert_int_equal(read_as(&runs, looped, NULL, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "t:2: r is 4, but nothing says which parameters are looped"));
    iso_runs_release(&runs);
    const struct iso_runs_how odd = {.arch = "depth=21,prelude=2,coda=2"};
    assert_int_equal(read_as(&runs, looped, &odd, &err), ISO_BAD_INPUT);
    assert_string_equal(
        err.msg, "t:2: depth 21 less prelude 2 and coda 2 does not divide into 4 equal passes");
    iso_runs_release(&runs);
}

static void test_rows(void **state)
{
    (void)state;
    static const char text[] = "name,dataset,n,tokens,budget,loss,outlier,state\n"
                               "a,comma,1e8,2e9,1e18,3,False,finished\n"
                               "b,comma,1e8,1e7,1e18,3,0,finished\n"
                               "c,fineweb,1e8,2e9,1e18,3,,finished\n"
                               "d,comma,1e8,2e9,1e18,3.1,True,finished\n"
                               "e,comma,1e8,2e9,1e18,diverged,0,finished\n"
                               "f,comma,1e8,2e9,1e18,3.2,0,crashed\n";
    const struct iso_runs_how how = {.where = "dataset=\"comma\" and tokens>1e8"};
    struct iso_runs runs;
    struct iso_err err = {""};
    assert_int_equal(read_as(&runs, text, &how, &err), ISO_OK);
    assert_int_equal(runs.n, 1);
    assert_string_equal(runs.at[0].id, "a");
    static const char *const reasons[] = {"marked as outlier", "the loss is \"diverged\"",
                                          "status crashed"};
    assert_int_equal(runs.n_left_out, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(runs.left_out[i].reason, reasons[i]);
    iso_runs_release(&runs);
}

/* A flag is understood in any case; what is neither yes nor no is an error. */
static void test_flags(void **state)
{
    (void)state;
    static const char text[] = "n,tokens,loss,outlier\n1e8,1e9,3,NO\n1e8,2e9,2.9,Yes\n"
                               "1e8,3e9,2.8,N/A\n1e8,4e9,2.7,TRUE\n1e8,5e9,2.6,1\n";
    struct iso_runs runs;
    struct iso_err err = {""};
    assert_int_equal(read_as(&runs, text, NULL, &err), ISO_OK);
    assert_int_equal(runs.n, 2);
    assert_int_equal(runs.n_left_out, 3);
    assert_string_equal(runs.left_out[0].reason, "marked as outlier");
    iso_runs_release(&runs);
    assert_int_equal(read_as(&runs, "n,tokens,loss,is_outlier\n1e8,1e9,3,x\n", NULL, &err),
                     ISO_BAD_INPUT);
    assert_string_equal(err.msg, "t:2: column is_outlier: \"x\" is neither true nor false");
    iso_runs_release(&runs);
    const struct iso_runs_how planned = {.kind = ISO_RUNS_PLANNED};
    assert_int_equal(read_as(&runs, "n,tokens,outlier\n1e8,1e9,x\n", &planned, &err), ISO_OK);
    assert_int_equal(runs.n, 1);
    iso_runs_release(&runs);
}

/* Names that rows share are no names of runs. */
static void test_shared_names(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_err err = {""};
    assert_int_equal(
        read_as(&runs, "name,n,tokens,loss\n70m,7e7,1e9,3\n70m,7e7,2e9,2.9\n", NULL, &err), ISO_OK);
    assert_int_equal(runs.n, 2);
    assert_string_equal(runs.at[0].id, "");
    assert_string_equal(runs.extra_name[0], "name");
    iso_runs_release(&runs);
}

static const struct {
    const char *bytes;
    size_t len;
    const char *message;
} strangers[] = {
    {"PK\3\4....", 8, "an Excel workbook or a zip archive"},
    {"\x80\x05\x95....", 8, "a Python pickle"},
    {"\x93NUMPY..", 8, "a NumPy array"},
    {"<!DOCTYPE html>", 15, "HTML or XML"},
    {"a\0b", 3, "NUL bytes"},
    {"{\"columns\": [\"n\"], \"data\": [[1]]}", 33, "pandas' split or table form"},
    {"{\"runs\": [{\"n\": 1}]}", 20, "the rows are inside member \"runs\""},
    {"{\"n\": [1, 2], \"loss\": [3]}", 26, "n (2 values) and loss (1 values) do not form a table"},
    {"{\"n\": [1], \"loss\": {\"0\": 3}}", 28, "do not form a table"},
    {"[{\"n\": 1, \"n\": 2}]", 18, "column n is there twice"},
    {"{\"n\": [1], \"n\": [2]}", 20, "column n is there twice"},
    {"{\"n\": {\"0\": 1}, \"loss\": {\"0\": 3, \"1\": 2}}", 41,
     "n and loss do not have the same rows"},
};

static void test_strangers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        struct iso_sheet sheet;
        struct iso_err err = {""};
        assert_int_equal(iso_sheet_parse(&sheet, strangers[i].bytes, strangers[i].len, "t", &err),
                         ISO_BAD_INPUT);
        if (!strstr(err.msg, strangers[i].message))
            fail_msg("%s", err.msg);
        iso_sheet_release(&sheet);
    }
}

static void test_long_fields(void **state)
{
    (void)state;
    struct iso_str text = {0};
    struct iso_sheet sheet;
    struct iso_err err = {""};
    iso_str_puts(&text, "note,n\n");
    for (size_t i = 0; i < 100000; i++)
        iso_str_putc(&text, 'x');
    iso_str_puts(&text, ",1\n");
    assert_int_equal(iso_sheet_parse(&sheet, text.text, text.len, "t", &err), ISO_OK);
    assert_int_equal(strlen(sheet.row[0].cell[0]), 100000);
    iso_sheet_release(&sheet);
    iso_str_release(&text);
}

/* A key that is new on every line would make a sheet of rows times columns, nearly all empty. */
static void test_too_many_columns(void **state)
{
    (void)state;
    struct iso_sheet sheet;
    struct iso_err err;
    struct iso_str lines = {0}, columns = {0}, header = {0};
    for (int i = 0; i < 50000; i++)
        iso_str_printf(&lines, "{\"step%d\": 1}\n", i);
    iso_str_printf(&columns, "{\"a\": {\"0\": 1}");
    for (int i = 0; i < 20000; i++)
        iso_str_printf(&columns, ", \"c%d\": {}", i);
    iso_str_printf(&columns, "}");
    for (int i = 0; i < 20000; i++)
        iso_str_printf(&header, "%sc%d", i ? "," : "", i);
    const struct iso_str *const texts[] = {&lines, &columns, &header};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(iso_sheet_parse(&sheet, texts[i]->text, texts[i]->len, "t", &err),
                         ISO_BAD_INPUT);
        assert_non_null(strstr(err.msg, "columns are more than a table"));
        iso_sheet_release(&sheet);
    }
    iso_str_release(&lines);
    iso_str_release(&columns);
    iso_str_release(&header);
}

/* An export with thousands of settings: the time of a row must not grow with their square. */
static void test_wide_table(void **state)
{
    (void)state;
    struct iso_str text = {0};
    struct iso_runs runs;
    struct iso_err err;
    const clock_t start = clock();
    iso_str_puts(&text, "n,tokens,loss");
    for (int i = 0; i < 4000; i++)
        iso_str_printf(&text, ",config/setting_%d", i);
    for (int row = 0; row < 150; row++) {
        iso_str_printf(&text, "\n1e8,%de9,3", row + 1);
        for (int i = 0; i < 4000; i++)
            iso_str_puts(&text, ",1");
    }
    assert_int_equal(read_as(&runs, text.text, NULL, &err), ISO_OK);
    assert_int_equal(runs.n, 150);
    assert_int_equal(runs.n_extra, 4001); /* n, too */
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 4);
    iso_runs_release(&runs);
    iso_str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers),     cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_computed),    cmocka_unit_test(test_split),
        cmocka_unit_test(test_rows),        cmocka_unit_test(test_shared_names),
        cmocka_unit_test(test_strangers),   cmocka_unit_test(test_too_many_columns),
        cmocka_unit_test(test_long_fields), cmocka_unit_test(test_flags),
        cmocka_unit_test(test_wide_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
