/* Does the 95 % interval of phi cover the truth?  200 simulated studies on the paper's grid, each
 * with the default interval (bootstrap over cells); coverage must lie between 90 and 99 %, for
 * noise that is independent from run to run and for noise that cells share.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_independent_noise),
        cmocka_unit_test(test_shared_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
