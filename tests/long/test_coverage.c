/* Does the 95 % interval of phi cover the truth?  200 simulated studies on the paper's grid, each
 * with the default interval (bootstrap over cells); coverage must lie between 90 and 99 %, for
 * noise that is independent from run to run and for noise that cells share, and with clusters for
 * checkpoints, which share the error of their run.
 *
 * The refits use few starts, which is enough: nearly all of them reach the best minimum. */
#include "test.h"

#include "base/parallel.h"
#include "fit/interval.h"
#include "fit_synth.h"

#include <stdio.h>

enum { STUDIES = 200, RESAMPLES = 200, STARTS = 4 };

struct job {
    double run_noise, cell_noise;
    bool covered[STUDIES], covered_by_runs[STUDIES];
};

static bool covers(const struct iso_runs *runs, struct iso_fit_options *o, enum iso_block block)
{
    struct iso_arena arena = {0};
    struct iso_bootstrap b;
    struct iso_fit fit;
    struct iso_err err;
    if (iso_fit_run(&fit, runs, o, &err) != ISO_OK ||
        iso_bootstrap_run(&b, &arena, runs, &fit, o, block, RESAMPLES, &err) != ISO_OK)
        abort();
    iso_arena_release(&arena);
    return b.low <= synth_paper.phi && synth_paper.phi <= b.high;
}

static void run_one(void *ctx, size_t i, int worker)
{
    struct job *job = ctx;
    struct synth s = {.law = synth_paper,
                      .run_noise = job->run_noise,
                      .cell_noise = job->cell_noise,
                      .seed = 1000 + i};
    struct iso_fit_options o = iso_fit_defaults();
    struct iso_runs runs;
    (void)worker;
    o.starts = STARTS;
    o.seed = i;
    synth_runs(&runs, &s);
    job->covered[i] = covers(&runs, &o, ISO_BLOCK_CELL);
    job->covered_by_runs[i] = covers(&runs, &o, ISO_BLOCK_RUN);
    iso_runs_release(&runs);
}

static void check(double run_noise, double cell_noise)
{
    static struct job job;
    job = (struct job){.run_noise = run_noise, .cell_noise = cell_noise};
    iso_parallel_for(STUDIES, iso_cpu_count(), run_one, &job);
    int cells = 0, single = 0;
    for (int i = 0; i < STUDIES; i++) {
        cells += job.covered[i];
        single += job.covered_by_runs[i];
    }
    printf("noise %g per run, %g per cell: covered %.1f %% by cells, %.1f %% by runs\n", run_noise,
           cell_noise, 100.0 * cells / STUDIES, 100.0 * single / STUDIES);
    assert_true(cells >= 0.90 * STUDIES);
    assert_true(cells <= 0.99 * STUDIES);
    if (cell_noise > run_noise) /* the reason for drawing cells */
        assert_true(single < cells);
}

static void test_independent_noise(void **state)
{
    (void)state;
    check(3e-3, 0);
}

static void test_shared_noise(void **state)
{
    (void)state;
    check(1.5e-3, 2e-3);
}

/* --- checkpoints of one run --- */

enum { CHECKPOINTS = 4 };

/* The runs of a study at a quarter, a half, three quarters and all of their tokens: what a run
 * errs, all of its checkpoints err. */
static void make_checkpoints(struct iso_runs *out, const struct iso_runs *runs, uint64_t seed)
{
    struct iso_rng rng = {seed, iso_rng_stream("checkpoints", 0), 0};
    *out = (struct iso_runs){.clustered = true};
    for (size_t i = 0; i < runs->n; i++) {
        const double shared = 4e-3 * iso_rng_normal(&rng);
        const char *name = iso_arena_printf(&out->arena, "run %zu", i);
        for (int k = 1; k <= CHECKPOINTS; k++) {
            struct iso_run row = runs->at[i];
            row.tokens *= (double)k / CHECKPOINTS;
            row.budget *= (double)k / CHECKPOINTS;
            row.loss = synth_loss(&synth_paper, row.d_model, (int)row.r, row.tokens) *
                       exp(shared + 1e-3 * iso_rng_normal(&rng));
            row.cluster = name;
            *ISO_PUSH(out->at, out->n, out->room) = row;
        }
    }
    iso_runs_sort(out);
}

static void run_checkpoints(void *ctx, size_t i, int worker)
{
    struct job *job = ctx;
    const struct synth s = {.law = synth_paper, .seed = 1000 + i, .n_budgets = 4};
    struct iso_fit_options o = iso_fit_defaults();
    struct iso_runs runs, rows;
    (void)worker;
    o.starts = STARTS;
    o.seed = i;
    synth_runs(&runs, &s);
    make_checkpoints(&rows, &runs, 1000 + i);
    job->covered[i] = covers(&rows, &o, ISO_BLOCK_CLUSTER);
    job->covered_by_runs[i] = covers(&rows, &o, ISO_BLOCK_RUN);
    iso_runs_release(&rows);
    iso_runs_release(&runs);
}

static void test_checkpoints(void **state)
{
    (void)state;
    static struct job job;
    int clusters = 0, single = 0;
    iso_parallel_for(STUDIES, iso_cpu_count(), run_checkpoints, &job);
    for (int i = 0; i < STUDIES; i++) {
        clusters += job.covered[i];
        single += job.covered_by_runs[i];
    }
    printf("%d checkpoints of each run: covered %.1f %% by clusters, %.1f %% by rows\n",
           CHECKPOINTS, 100.0 * clusters / STUDIES, 100.0 * single / STUDIES);
    assert_true(clusters >= 0.90 * STUDIES && clusters <= 0.99 * STUDIES);
    assert_true(single < 0.8 * STUDIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_independent_noise),
        cmocka_unit_test(test_shared_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
