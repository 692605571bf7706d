/* A refit's few starts find the minimum that 500 find: resamples over cells of the paper's table
 * and of the pocket study's. */
#include "fit/analysis.h"
#include "fit/multistart.h"
#include "fit/resample.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

static size_t count_misses(const char *path, size_t resamples)
{
    struct iso_fit_options o = iso_fit_defaults();
    struct iso_runs runs;
    struct iso_design x;
    struct iso_blocks cells;
    struct iso_multistart best;
    struct iso_err err;
    size_t misses = 0;
    if (iso_runs_read(&runs, (const char *[]){path}, 1, NULL, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(iso_design_init(&x, &runs, &o, &err), ISO_OK);
    iso_multistart_run(&best, &x, &o, 0, 2);
    iso_design_give_start(&x, best.best.param);
    iso_blocks_init(&cells, &runs, ISO_BLOCK_CELL);
    unsigned *count = calloc(runs.n, sizeof *count);
    for (size_t i = 0; i < resamples; i++) {
        struct iso_rng rng = {11, i, 0};
        struct iso_design resampled;
        struct iso_solution few;
        struct iso_multistart all;
        iso_blocks_draw(count, &cells, &rng);
        iso_design_resample(&resampled, &x, count);
        iso_refit(&few, &resampled, &o, i);
        resampled.has_given = false;
        iso_multistart_run(&all, &resampled, &o, i, 2);
        misses += few.value > all.best.value * (1 + 1e-6);
        iso_design_release(&resampled);
    }
    printf("%s: the minimum of 500 starts missed in %zu of %zu resamples\n", path, misses,
           resamples);
    free(count);
    iso_blocks_release(&cells);
    iso_design_release(&x);
    iso_runs_release(&runs);
    return misses;
}

static void few_starts_find_the_minimum(void **state)
{
    (void)state;
    assert_int_equal(count_misses("examples/paper_baseline.csv", 500), 0);
    assert_int_equal(count_misses("docs/results/pocket/base.csv", 300), 0);
    assert_int_equal(count_misses("docs/results/pocket/truncated.csv", 300), 0);
    assert_int_equal(count_misses("docs/results/pocket/hyper.csv", 300), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_starts_find_the_minimum)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
