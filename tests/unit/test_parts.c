/* fit: tables split by a column, and rows that are not independent. */
#include "test.h"

#include "fit/analyses.h"
#include "fit/compare.h"
#include "fit/resample.h"
#include "fit_synth.h"

#include <string.h>

static enum iso_status read_as(struct iso_runs *runs, const char *text,
                               const struct iso_runs_how *how, struct iso_err *err)
{
    *runs = (struct iso_runs){0};
    enum iso_status st = iso_runs_add(runs, text, strlen(text), "t", how, err);
    return st == ISO_OK ? iso_runs_finish(runs, err) : st;
}

static void read_well(struct iso_runs *runs, const char *text, const struct iso_runs_how *how)
{
    struct iso_err err;
    if (read_as(runs, text, how, &err) != ISO_OK)
        fail_msg("%s", err.msg);
}

static struct iso_analysis_options few(size_t resamples)
{
    struct iso_analysis_options o = iso_analysis_defaults();
    o.fit.starts = 20;
    o.fit.threads = 2;
    o.resamples = resamples;
    return o;
}

/* --- parts --- */

static void test_values(void **state)
{
    (void)state;
    static const char text[] = "n,tokens,loss,model,num_loops\n"
                               "1e8,2e9,3,b,4.0\n1e8,2e9,3,10,4\n1e8,2e9,3,9.0,1\n"
                               "1e8,3e9,3,9,1\n1e8,2e9,3,,1\n";
    struct iso_runs runs;
    struct iso_parts parts;
    read_well(&runs, text,
              &(struct iso_runs_how){.part = "model", .arch = "depth=8,prelude=0,coda=0"});
    assert_string_equal(runs.part_column, "model");
    assert_string_equal(runs.first_part, "b");
    assert_false(runs.part_is_r);
    /* Numbers by their value, however written; then words; an empty cell is left out. */
    iso_parts_split(&parts, &runs);
    assert_int_equal(parts.n, 3);
    assert_string_equal(parts.value[0], "9");
    assert_string_equal(parts.value[1], "10");
    assert_string_equal(parts.value[2], "b");
    assert_int_equal(parts.table[0].n, 2);
    assert_int_equal(parts.table[1].n, 1);
    assert_int_equal(runs.n_left_out, 1);
    assert_string_equal(runs.left_out[0].reason, "column model is empty");
    assert_int_equal(iso_parts_find(&parts, "10"), 1);
    assert_int_equal(iso_parts_find(&parts, "c"), 3);
    iso_parts_release(&parts);
    iso_runs_release(&runs);

    /* A role's own name finds the column that has it. */
    read_well(&runs, text, &(struct iso_runs_how){.part = "r", .arch = "depth=8,prelude=0,coda=0"});
    assert_true(runs.part_is_r);
    iso_parts_split(&parts, &runs);
    assert_int_equal(parts.n, 2);
    assert_string_equal(parts.value[1], "4");
    iso_parts_release(&parts);
    iso_runs_release(&runs);

    struct iso_err err;
    assert_int_equal(read_as(&runs, text, &(struct iso_runs_how){.part = "seed"}, &err),
                     ISO_BAD_INPUT);
    assert_string_equal(err.msg,
                        "t: there is no column seed. Found: n, tokens, loss, model, num_loops");
    iso_runs_release(&runs);
}

/* A synthetic study whose rows get one more column, written by `put`. */
static void add_column(struct iso_str *out, const struct synth *s, const char *name,
                       void (*put)(struct iso_str *out, const char *row, size_t len, size_t number))
{
    struct iso_str csv = {0};
    synth_rows(&csv, s);
    size_t number = 0;
    for (const char *at = csv.text; *at; number++) {
        const size_t len = strcspn(at, "\n");
        if (number > 0)
            put(out, at, len, number);
        else if (out->len == 0)
            iso_str_printf(out, "%.*s,%s\n", (int)len, at, name);
        at += len + (at[len] == '\n');
    }
    iso_str_release(&csv);
}

static const char *recipe;

static void put_recipe(struct iso_str *out, const char *row, size_t len, size_t number)
{
    (void)number;
    iso_str_printf(out, "%.*s,%s\n", (int)len, row, recipe);
}

/* Each part is fitted to its own runs: phi 0.3 and 0.7 in one table; a part that is too small says
 * so and does not spoil the others. */
static void test_analyses(void **state)
{
    (void)state;
    struct synth s = {.law = synth_paper, .run_noise = 1e-4, .seed = 5, .n_budgets = 3};
    struct iso_str text = {0};
    struct iso_runs runs;
    struct iso_analyses all;
    struct iso_err err;
    const struct iso_analysis_options o = few(0);
    recipe = "weak";
    s.law.phi = 0.3;
    add_column(&text, &s, "recipe", put_recipe);
    recipe = "strong";
    s.law.phi = 0.7;
    add_column(&text, &s, "recipe", put_recipe);
    iso_str_puts(&text, "1e18,1,1,64,1e6,0,0,1e9,4,0,tiny\n");
    read_well(&runs, text.text, &(struct iso_runs_how){.part = "recipe"});
    assert_int_equal(iso_analyses_run(&all, &runs, &o, &err), ISO_OK);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.analysis[0].part, "strong");
    assert_near(all.analysis[0].fit.phi, 0.7, 0.02);
    assert_near(all.analysis[1].fit.phi, 0.3, 0.02);
    assert_int_equal(all.n_problems, 1);
    assert_string_equal(all.problem[0].value, "tiny");
    assert_non_null(strstr(all.problem[0].message, "too few"));
    iso_analyses_release(&all);
    iso_runs_release(&runs);

    read_well(&runs, text.text, &(struct iso_runs_how){.part = "recipe", .where = "recipe=tiny"});
    assert_int_equal(iso_analyses_run(&all, &runs, &o, &err), ISO_BAD_INPUT);
    assert_ptr_equal(strstr(err.msg, "recipe = tiny: 1 distinct run is too few"), err.msg);
    iso_analyses_release(&all);
    iso_runs_release(&runs);
    iso_str_release(&text);
}

/* --- clusters --- */

static int copies;

/* A row as so many checkpoints: the same numbers, so that only clusters can tell. */
static void put_checkpoints(struct iso_str *out, const char *row, size_t len, size_t number)
{
    for (int i = 0; i < copies; i++)
        iso_str_printf(out, "%.*s%d,run %zu\n", (int)len, row, i, number);
}

static void make_checkpoints(struct iso_runs *runs, int n, const char *cluster)
{
    const struct synth s = {.law = synth_paper, .run_noise = 0.005, .seed = 3, .n_budgets = 4};
    struct iso_str text = {0};
    copies = n;
    add_column(&text, &s, "name", put_checkpoints);
    read_well(runs, text.text, &(struct iso_runs_how){.cluster = cluster});
    iso_str_release(&text);
}

static void analyse(struct iso_analysis *s, const struct iso_runs *runs)
{
    const struct iso_analysis_options o = few(200);
    struct iso_err err;
    if (iso_analysis_run(s, runs, &o, &err) != ISO_OK)
        fail_msg("%s", err.msg);
}

/* Repeating every row three times tells nothing new, and with clusters nothing is told: errors and
 * degrees of freedom are those of the single rows, and the interval is as wide.  Without clusters
 * the interval over runs is too narrow by a factor of the root of 3. */
static void test_clusters_are_one(void **state)
{
    (void)state;
    struct iso_runs single, triple, blind;
    struct iso_analysis one, three, wrong;
    make_checkpoints(&single, 1, "name");
    make_checkpoints(&triple, 3, "name");
    make_checkpoints(&blind, 3, NULL);
    assert_int_equal(triple.n, 3 * single.n);
    analyse(&one, &single);
    analyse(&three, &triple);
    analyse(&wrong, &blind);
    assert_true(one.fit.df == three.fit.df);
    assert_near(one.fit.phi, three.fit.phi, 1e-6);
    for (size_t p = 0; p < one.fit.n_param; p++)
        assert_near(three.fit.std_error[p] / one.fit.std_error[p], 1, 1e-4);
    assert_int_equal(three.intervals.n_bootstraps, 1);
    const struct iso_bootstrap *b = &three.intervals.bootstrap[0];
    assert_int_equal(b->block, ISO_BLOCK_CLUSTER);
    assert_int_equal(b->n_blocks, single.n);
    assert_string_equal(iso_interval_name(three.intervals.headline.kind), "clusters");
    assert_near(b->sd / one.intervals.bootstrap[0].sd, 1, 0.15);
    const struct iso_bootstrap *over_runs =
        iso_intervals_bootstrap(&wrong.intervals, ISO_INTERVAL_RUNS);
    assert_near(over_runs->sd / b->sd, 1 / sqrt(3), 0.1);
    /* The jackknife leaves out clusters, and the checks count them. */
    const struct iso_jackknife *j = &three.intervals.jackknife;
    assert_int_equal(j->n, 4 + 4 + single.n);
    assert_non_null(j->row[j->n - 1].cluster);
    assert_non_null(strstr(iso_checks_find(&three.checks, "cells")->message, " clusters test the"));
    iso_analysis_release(&one);
    iso_analysis_release(&three);
    iso_analysis_release(&wrong);
    iso_runs_release(&single);
    iso_runs_release(&triple);
    iso_runs_release(&blind);
}

/* The same for delta phi. */
static void test_compare_clusters(void **state)
{
    (void)state;
    struct iso_runs single[2], triple[2];
    struct iso_compare one, three;
    static const char *const names[] = {"base", "variant"};
    struct iso_compare_options o = {.fit = few(0).fit};
    struct iso_err err;
    for (int i = 0; i < 2; i++) {
        make_checkpoints(&single[i], 1, "name");
        make_checkpoints(&triple[i], 3, "name");
    }
    for (size_t i = 0; i < single[1].n; i++)
        single[1].at[i].loss *= single[1].at[i].r > 1 ? 0.995 : 1;
    for (size_t i = 0; i < triple[1].n; i++)
        triple[1].at[i].loss *= triple[1].at[i].r > 1 ? 0.995 : 1;
    assert_int_equal(iso_compare_run(&one, &single[0], &single[1], 1, names, &o, &err), ISO_OK);
    assert_int_equal(iso_compare_run(&three, &triple[0], &triple[1], 1, names, &o, &err), ISO_OK);
    const struct iso_delta *a = &one.variant[0].joint, *b = &three.variant[0].joint;
    assert_true(a->delta_phi > 0.01);
    assert_near(b->delta_phi, a->delta_phi, 1e-5);
    assert_near(b->error / a->error, 1, 1e-3);
    assert_near(b->df, a->df, 1e-6);
    iso_compare_release(&one);
    iso_compare_release(&three);
    for (int i = 0; i < 2; i++) {
        iso_runs_release(&single[i]);
        iso_runs_release(&triple[i]);
    }
}

/* What is said about clusters, and about rows that look like one. */
static void test_cluster_words(void **state)
{
    (void)state;
    static const char same_run[] = "n,tokens,budget,loss,run\n1e8,1e9,6e17,3.2,a\n"
                                   "1e8,4e9,2.4e18,2.8,a\n2e8,1e9,1.2e18,2.9,\n";
    static const char same_name[] = "n,tokens,budget,loss,Name\n1e8,1e9,6e17,3.2,a\n"
                                    "1e8,2e9,1.2e18,3,a\n";
    struct iso_runs runs;
    struct iso_err err;
    assert_int_equal(read_as(&runs, same_run, NULL, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "for checkpoints of one run name the column with `cluster`"));
    iso_runs_release(&runs);
    read_well(&runs, same_run, &(struct iso_runs_how){.cluster = "run"});
    assert_int_equal(runs.n, 3);
    assert_string_equal(runs.note[0], "1 row has no run and counts as independent of all others");
    struct iso_blocks blocks;
    iso_blocks_init(&blocks, &runs, iso_runs_unit(&runs));
    assert_int_equal(blocks.n, 2); /* though the other row lies between the two of the cluster */
    assert_true(blocks.of_run[0] == blocks.of_run[2] && blocks.of_run[0] != blocks.of_run[1]);
    iso_blocks_release(&blocks);
    iso_runs_release(&runs);
    read_well(&runs, same_name, NULL);
    assert_ptr_equal(strstr(runs.note[0], "rows with the same Name count as independent runs"),
                     runs.note[0]);
    iso_runs_release(&runs);

    struct iso_analysis s;
    struct iso_analysis_options o = few(40);
    o.interval = ISO_INTERVAL_RUNS;
    make_checkpoints(&runs, 2, "name");
    assert_int_equal(iso_analysis_run(&s, &runs, &o, &err), ISO_USAGE);
    assert_ptr_equal(strstr(err.msg, "`interval` runs takes the rows of a `cluster`"), err.msg);
    iso_analysis_release(&s);
    iso_runs_release(&runs);
}

/* Data seen more than once, where a column tells. */
static void test_epochs(void **state)
{
    (void)state;
    static const struct {
        const char *text, *note;
    } cases[] = {
        {"n,tokens,loss,epochs\n1e8,2e9,3,1\n1e8,4e9,2.9,2\n1e8,8e9,2.8,4\n",
         "2 runs saw their data more than once (up to 4 epochs)"},
        {"n,tokens,loss,train/epoch\n1e8,2e9,3,0.98\n", NULL},
        {"n,tokens,loss,dataset_tokens\n1e8,2e9,3,2e9\n1e8,5e9,2.9,2e9\n",
         "1 run saw its data more than once (up to 2.5 epochs)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_runs runs;
        bool found = false;
        read_well(&runs, cases[i].text, NULL);
        for (size_t k = 0; k < runs.n_note; k++)
            found |= strstr(runs.note[k], cases[i].note ? cases[i].note : "more than once") != NULL;
        assert_int_equal(found, cases[i].note != NULL);
        iso_runs_release(&runs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),           cmocka_unit_test(test_analyses),
        cmocka_unit_test(test_clusters_are_one), cmocka_unit_test(test_compare_clusters),
        cmocka_unit_test(test_cluster_words),    cmocka_unit_test(test_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
