/* fit: the anchor. Studies with plain runs, looped runs and an unshared control, where the graph of
 * the loop alone costs a step that the law does not know. */
#include "test.h"

#include "fit/anchor.h"
#include "fit/compare.h"
#include "fit/fit.h"
#include "fit/interval.h"
#include "fit/resample.h"
#include "fit_synth.h"

#include <string.h>

#define STEP 0.05 /* nats that injection and norms cost, shared or not */

enum kinds { PLAIN = 1, LOOPED = 2, CONTROL = 4 };

static void put_row(struct iso_str *csv, double budget, int d, int r, bool control, double phi)
{
    struct synth_law law = synth_paper;
    law.phi = phi;
    double block = 12.0 * d * d, tokens = floor(budget / synth_flops(d, r, 1));
    double once = control || r == 1 ? 20 * block : 4 * block;
    double rec = control || r == 1 ? 0 : 16.0 / r * block;
    double inject = r == 1 ? 0 : (control ? r : 1) * 2.0 * d * d;
    double n_eff = once + inject + pow(r, phi) * rec;
    double loss = law.E + law.A * pow(n_eff, -law.alpha) + law.B * pow(tokens, -law.beta);
    iso_str_printf(csv, "%.17g,%d,%d,%.17g,%.17g,%.17g,%.17g,%.17g,%d,%d\n", budget,
                   control ? 1 : r, d, once, rec, inject, tokens, loss + (r > 1 ? STEP : 0),
                   !control, r);
}

static void put_study(struct iso_str *csv, int kinds, double phi)
{
    iso_str_puts(csv, "budget,r,d_model,n_once,n_rec,n_inject,tokens,loss,share,iterations\n");
    for (int b = 0; b < 4; b++)
        for (int i = 0; synth_width[b][i]; i++) {
            int d = 64 * synth_width[b][i];
            if (kinds & PLAIN)
                put_row(csv, synth_budget[b], d, 1, false, phi);
            for (int r = 2; r <= 8; r *= 2) {
                if (kinds & LOOPED)
                    put_row(csv, synth_budget[b], d, r, false, phi);
                if (kinds & CONTROL)
                    put_row(csv, synth_budget[b], d, r, true, phi);
            }
        }
}

static void read_study(struct iso_runs *runs, int kinds, double phi, const char *anchor)
{
    struct iso_str csv = {0};
    struct iso_err err = {""};
    struct iso_runs_how how = {.anchor = anchor};
    *runs = (struct iso_runs){0};
    put_study(&csv, kinds, phi);
    if (iso_runs_add(runs, csv.text, csv.len, "t", &how, &err) != ISO_OK ||
        iso_runs_finish(runs, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    iso_str_release(&csv);
}

enum { POINTS = 4 + 5 + 5 + 6 }; /* widths of the four budgets */

static void check_anchor(int kinds, const char *asked, enum iso_anchor got, size_t plain,
                         size_t control, const char *note)
{
    struct iso_runs runs;
    size_t n_plain = 0, n_control = 0;
    read_study(&runs, kinds, 0.5, asked);
    for (size_t i = 0; i < runs.n; i++) {
        n_plain += runs.at[i].r == 1 && runs.at[i].unshared == 0;
        n_control += runs.at[i].unshared > 0;
    }
    assert_int_equal(runs.anchor, got);
    assert_int_equal(n_plain, plain);
    assert_int_equal(n_control, control);
    assert_int_equal(runs.n_left_out, runs.n_other_anchor);
    assert_int_equal(runs.n_note, note ? 1 : 0);
    if (note)
        assert_string_equal(runs.note[0], note);
    iso_runs_release(&runs);
}

/* By default the two kinds are never mixed, and what is left out is said. */
static void test_choice(void **state)
{
    (void)state;
    const size_t n = POINTS;
    check_anchor(PLAIN | LOOPED, NULL, ISO_ANCHOR_PLAIN, n, 0, NULL);
    check_anchor(
        PLAIN | LOOPED | CONTROL, NULL, ISO_ANCHOR_PLAIN, n, 0,
        "the r = 1 runs are the 20 plain runs; the 60 of the unshared control are left out (anchor "
        "plain)");
    check_anchor(
        LOOPED | CONTROL, NULL, ISO_ANCHOR_UNSHARED, 0, 3 * n,
        "the r = 1 runs are the 60 runs of the unshared control; the 0 plain ones are left out "
        "(anchor unshared)");
    check_anchor(
        PLAIN | LOOPED | CONTROL, "unshared", ISO_ANCHOR_UNSHARED, 0, 3 * n,
        "the r = 1 runs are the 60 runs of the unshared control; the 20 plain ones are left out "
        "(anchor unshared)");
    check_anchor(PLAIN | LOOPED | CONTROL, "both", ISO_ANCHOR_BOTH, n, 3 * n,
                 "the r = 1 runs are 20 plain runs and 60 of the unshared control (anchor both)");
    check_anchor(
        LOOPED | CONTROL, "plain", ISO_ANCHOR_PLAIN, 0, 0,
        "the r = 1 runs are the 0 plain runs; the 60 of the unshared control are left out (anchor "
        "plain)");
}

static double phi_of(const struct iso_runs *runs)
{
    struct iso_fit fit;
    struct iso_err err = {""};
    struct iso_fit_options o = iso_fit_defaults();
    o.starts = 50;
    if (iso_fit_run(&fit, runs, &o, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    return fit.phi;
}

/* Against the control phi is found exactly; against the plain stack the step goes into it. */
static void test_phi(void **state)
{
    (void)state;
    struct iso_runs runs;
    read_study(&runs, PLAIN | LOOPED | CONTROL, 0.5, "unshared");
    assert_true(fabs(phi_of(&runs) - 0.5) < 1e-6);
    iso_runs_release(&runs);
    read_study(&runs, PLAIN | LOOPED | CONTROL, 0.5, "plain");
    assert_true(fabs(phi_of(&runs) - 0.5) > 0.05);
    iso_runs_release(&runs);
}

/* Cells are (budget, r, iterations). */
static void test_cells(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_blocks cells;
    read_study(&runs, PLAIN | LOOPED | CONTROL, 0.5, "both");
    iso_blocks_init(&cells, &runs, ISO_BLOCK_CELL);
    assert_int_equal(cells.n, 4 * (1 + 3 + 3));
    iso_blocks_release(&cells);
    struct iso_fit fit;
    struct iso_err err;
    struct iso_arena arena = {0};
    struct iso_jackknife j;
    struct iso_fit_options o = iso_fit_defaults();
    o.starts = 20;
    assert_int_equal(iso_fit_run(&fit, &runs, &o, &err), ISO_OK);
    assert_int_equal(iso_jackknife_run(&j, &arena, &runs, &fit, &o, &err), ISO_OK);
    assert_int_equal(j.n, 4 + 4 + 28);
    size_t of_control = 0;
    for (size_t i = 0; i < j.n; i++)
        if (j.row[i].unshared == 8) {
            of_control++;
            assert_int_equal(j.row[i].n_runs, runs.n - (size_t)(j.row[i].budget == 4.64e17 ? 4
                                                                : j.row[i].budget < 2.2e18 ? 5
                                                                                           : 6));
        }
    assert_int_equal(of_control, 4);
    iso_arena_release(&arena);
    iso_runs_release(&runs);
}

/* A recipe is compared with its own control, or with the base's when it has none. */
static void test_compare(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "variant"};
    for (int own = 0; own < 2; own++) {
        struct iso_runs table[2];
        struct iso_compare c;
        struct iso_err err = {""};
        struct iso_compare_options o = {.fit = iso_fit_defaults()};
        o.fit.starts = 50;
        read_study(&table[0], PLAIN | LOOPED | CONTROL, 0.5, "unshared");
        read_study(&table[1], own ? LOOPED | CONTROL : LOOPED, 0.7, "unshared");
        if (iso_compare_run(&c, &table[0], &table[1], 1, names, &o, &err) != ISO_OK)
            fail_msg("%s", err.msg);
        assert_int_equal(c.n_plain, 0);
        assert_int_equal(c.base.n_control, 3 * POINTS);
        assert_int_equal(c.variant[0].own.n_control, 3 * POINTS);
        assert_int_equal(c.variant[0].own.own_control, own);
        assert_true(fabs(c.variant[0].separate.delta_phi - 0.2) < 1e-6);
        assert_true(fabs(c.variant[0].joint.delta_phi - 0.2) < 1e-6);
        iso_compare_release(&c);
        iso_runs_release(&table[0]);
        iso_runs_release(&table[1]);
    }
}

static const struct {
    const char *row, *message;
} broken[] = {
    {"1e18,1,5e7,0,1e6,1e9,3.1,2,4\n", "t:2: column share: \"2\" is neither 0 nor 1"},
    {"1e18,1,5e7,0,1e6,1e9,3.1,maybe,4\n", "t:2: column share: \"maybe\" is neither 0 nor 1"},
    {"1e18,4,5e7,4e7,1e6,1e9,3.1,0,4\n", "t:2: share is 0: an unshared run has r = 1 and a whole "
                                         "number of 2 or more in the column iterations"},
    {"1e18,1,5e7,0,1e6,1e9,3.1,0,1\n", "t:2: share is 0: an unshared run has r = 1 and a whole "
                                       "number of 2 or more in the column iterations"},
    {"1e18,1,5e7,0,1e6,1e9,3.1,0,\n", "t:2: share is 0: an unshared run has r = 1 and a whole "
                                      "number of 2 or more in the column iterations"},
};

static enum iso_status read_text(struct iso_runs *runs, const char *head, const char *row,
                                 struct iso_err *err)
{
    char text[256];
    snprintf(text, sizeof text, "%s\n%s", head, row);
    *runs = (struct iso_runs){0};
    enum iso_status st = iso_runs_add(runs, text, strlen(text), "t", NULL, err);
    return st == ISO_OK ? iso_runs_finish(runs, err) : st;
}

static void test_columns(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_err err;
    const char *head = "budget,r,n_once,n_rec,n_inject,tokens,loss,share,iterations";
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        assert_int_equal(read_text(&runs, head, broken[i].row, &err), ISO_BAD_INPUT);
        assert_string_equal(err.msg, broken[i].message);
        iso_runs_release(&runs);
    }
    static const char *const good[] = {"1e18,1,5e7,0,1e6,1e9,3.1,0,4\n",
                                       "1e18,1,5e7,0,1e6,1e9,3.1,false,4\n",
                                       "1e18,1,5e7,0,1e6,1e9,3.1,0.0,4.0\n"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(read_text(&runs, head, good[i], &err), ISO_OK);
        assert_true(runs.at[0].unshared == 4);
        iso_runs_release(&runs);
    }
    static const char *const shared[] = {"1e18,1,5e7,0,1e6,1e9,3.1,1,1\n",
                                         "1e18,1,5e7,0,1e6,1e9,3.1,true,1\n",
                                         "1e18,1,5e7,0,1e6,1e9,3.1,,\n"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(read_text(&runs, head, shared[i], &err), ISO_OK);
        assert_true(runs.at[0].unshared == 0);
        iso_runs_release(&runs);
    }
    /* In another program's table the words mean something else. */
    assert_int_equal(read_text(&runs, "flops,params,tokens,loss,share,iterations",
                               "1e18,5e7,1e9,3.1,0,20000\n", &err),
                     ISO_OK);
    assert_true(runs.at[0].unshared == 0 && runs.anchor == ISO_ANCHOR_PLAIN);
    struct iso_str csv = {0};
    iso_runs_write_csv(&csv, &runs); /* which has our names */
    iso_runs_release(&runs);
    assert_int_equal(iso_runs_add(&runs, csv.text, csv.len, "again", NULL, &err), ISO_OK);
    assert_int_equal(iso_runs_finish(&runs, &err), ISO_OK);
    assert_true(runs.n == 1 && runs.at[0].unshared == 0);
    iso_str_release(&csv);
    iso_runs_release(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),  cmocka_unit_test(test_phi),
        cmocka_unit_test(test_cells),   cmocka_unit_test(test_compare),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
