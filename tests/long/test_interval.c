/* Which interval covers?  Simulated studies: the paper's grid, and grids so small that the refits
 * of the bootstrap have a heavy tail.  Compared are plain percentiles, the bias-corrected and
 * accelerated ones (BCa), the profile, and phi +- as the page prints it.
 *
 * The headline's interval, BCa where the tail is heavy, must cover as it claims. */
#include "test.h"

#include "base/parallel.h"
#include "fit/interval.h"
#include "fit_synth.h"

#include <stdio.h>
#include <string.h>

enum { STUDIES = 200, RESAMPLES = 400, STARTS = 20 };
enum method { PERCENTILE, BCA, PROFILE, PLUS_MINUS, HEADLINE, N_METHODS };
static const char *const method_names[N_METHODS] = {"percentiles", "BCa", "profile", "+-",
                                                    "headline"};

struct grid {
    const char *name;
    double run_noise, cell_noise; /* of ln L */
    int n_budgets;
    double most_r;
};

struct study {
    bool heavy, covered[N_METHODS];
    double width[N_METHODS];
};

struct job {
    struct grid grid;
    struct study study[STUDIES];
};

static bool small_r(const struct iso_run *run, const void *most)
{
    return run->r <= *(const double *)most;
}

static size_t cells_left_out(double *phi, const struct iso_jackknife *j)
{
    size_t n = 0;
    for (size_t i = 0; i < j->n; i++)
        if (!isnan(j->row[i].budget) && !isnan(j->row[i].r) && !j->row[i].problem)
            phi[n++] = j->row[i].phi;
    return n;
}

static void note(struct study *s, enum method m, double low, double high)
{
    s->covered[m] = low <= synth_paper.phi && synth_paper.phi <= high;
    s->width[m] = high - low;
}

static void judge(struct study *s, const struct iso_runs *runs, struct iso_fit_options *o)
{
    struct iso_arena arena = {0};
    struct iso_fit fit;
    struct iso_bootstrap b;
    struct iso_profile p;
    struct iso_jackknife j;
    struct iso_interval bca = {0};
    double without[200];
    if (iso_fit_run(&fit, runs, o, NULL) != ISO_OK ||
        iso_bootstrap_run(&b, &arena, runs, &fit, o, ISO_BLOCK_CELL, RESAMPLES, NULL) != ISO_OK ||
        iso_profile_run(&p, &arena, runs, &fit, o, NULL) != ISO_OK ||
        iso_jackknife_run(&j, &arena, runs, &fit, o, NULL) != ISO_OK)
        abort();
    iso_bootstrap_bca(&bca, &b, fit.phi, without, cells_left_out(without, &j));
    const double half = fit.plus_minus[fit.phi_param];
    s->heavy = b.heavy_tail;
    note(s, PERCENTILE, b.low, b.high);
    note(s, BCA, bca.low, bca.high);
    note(s, PROFILE, isnan(p.low) ? -3 : p.low, isnan(p.high) ? 3 : p.high);
    note(s, PLUS_MINUS, fit.phi - half, fit.phi + half);
    note(s, HEADLINE, s->heavy ? bca.low : b.low, s->heavy ? bca.high : b.high);
    iso_arena_release(&arena);
}

static void run_one(void *ctx, size_t i, int worker)
{
    struct job *job = ctx;
    const struct synth s = {.law = synth_paper,
                            .run_noise = job->grid.run_noise,
                            .cell_noise = job->grid.cell_noise,
                            .seed = 7000 + i,
                            .n_budgets = job->grid.n_budgets};
    struct iso_fit_options o = iso_fit_defaults();
    struct iso_runs all, runs;
    (void)worker;
    o.starts = STARTS;
    o.seed = i;
    synth_runs(&all, &s);
    iso_runs_filter(&runs, &all, small_r, &job->grid.most_r);
    judge(&job->study[i], &runs, &o);
    iso_runs_release(&runs);
    iso_runs_release(&all);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints a row of docs/fitting.md for each method. */
static void check(struct grid grid)
{
    static struct job job;
    job = (struct job){.grid = grid};
    iso_parallel_for(STUDIES, iso_cpu_count(), run_one, &job);
    int heavy = 0;
    for (int i = 0; i < STUDIES; i++)
        heavy += job.study[i].heavy;
    printf("%s: heavy tails in %d of %d\n", grid.name, heavy, STUDIES);
    for (int m = 0; m < N_METHODS; m++) {
        int covered = 0, covered_heavy = 0;
        double width[STUDIES];
        for (int i = 0; i < STUDIES; i++) {
            covered += job.study[i].covered[m];
            covered_heavy += job.study[i].covered[m] && job.study[i].heavy;
            width[i] = job.study[i].width[m];
        }
        qsort(width, STUDIES, sizeof *width, by_value);
        printf("    %-12s covers %.1f %%, of heavy tails %.1f %%; median width %.3f\n",
               method_names[m], 100.0 * covered / STUDIES,
               heavy ? 100.0 * covered_heavy / heavy : NAN, width[STUDIES / 2]);
        if (m == HEADLINE)
            assert_true(covered >= 0.91 * STUDIES);
        if (m == HEADLINE && heavy >= 50)
            assert_true(covered_heavy >= 0.90 * heavy);
    }
}

static void test_paper_grid(void **state)
{
    (void)state;
    check((struct grid){"paper's grid, 0.0017", 1.7e-3, 0, 6, 8});
    check((struct grid){"paper's grid, 0.0017 and 0.0017 per cell", 1.7e-3, 1.7e-3, 6, 8});
}

static void test_small_grids(void **state)
{
    (void)state;
    check((struct grid){"two budgets, 0.01", 0.01, 0, 2, 8});
    check((struct grid){"three budgets, r up to 4, 0.006", 0.006, 0, 3, 4});
    check((struct grid){"three budgets, 0.01 and 0.005 per cell", 0.01, 0.005, 3, 8});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper_grid),
        cmocka_unit_test(test_small_grids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
