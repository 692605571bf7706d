/* Simulated studies on the paper's grid, clean and with one fault each: what the checks of a fit
 * must let pass, and what they must find.  Noise is in nats. */
#ifndef ISO_TESTS_FIT_FAULTS_H
#define ISO_TESTS_FIT_FAULTS_H

#include "fit/check.h"
#include "fit_synth.h"

/* The joint fit to the paper's own runs, examples/paper_baseline.csv. */
static const struct synth_law fault_truth = {28.2396, 0.199668, 889.469, 0.367051, 1.566677, 0.458};

struct fault {
    const char *name;
    void (*plant)(struct iso_runs *runs, struct iso_rng *rng); /* NULL: clean */
    const char *check;                                         /* that must find it */
    enum iso_level level;                                      /* that it says */
    double cell_nats;                                          /* noise that a cell shares */
    double wider;                                              /* factor on the widths; 0 means 1 */
};

/* Moves each loss by what another phi for its (r, budget) would change. */
static inline void fault_other_phi(struct iso_runs *runs, double (*phi)(double r, double budget))
{
    for (size_t i = 0; i < runs->n; i++) {
        struct iso_run *run = &runs->at[i];
        struct synth_law law = fault_truth;
        const double d = run->d_model, was = synth_loss(&law, d, (int)run->r, run->tokens);
        law.phi = phi(run->r, run->budget);
        run->loss += synth_loss(&law, d, (int)run->r, run->tokens) - was;
    }
}

static inline void fault_shift(struct iso_runs *runs, double r, double nats)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->at[i].r == r)
            runs->at[i].loss += nats;
}

static inline void fault_r1_above(struct iso_runs *runs, struct iso_rng *rng)
{
    (void)rng;
    fault_shift(runs, 1, 0.03);
}

static inline void fault_r1_below(struct iso_runs *runs, struct iso_rng *rng)
{
    (void)rng;
    fault_shift(runs, 1, -0.03);
}

static inline void fault_r8_mistuned(struct iso_runs *runs, struct iso_rng *rng)
{
    (void)rng;
    fault_shift(runs, 8, 0.03);
}

static inline double fault_phi_saturating(double r, double budget)
{
    (void)budget;
    return r == 2 ? 0.60 : r == 4 ? 0.45 : 0.35;
}

static inline void fault_saturation(struct iso_runs *runs, struct iso_rng *rng)
{
    (void)rng;
    fault_other_phi(runs, fault_phi_saturating);
}

static inline double fault_phi_drifting(double r, double budget)
{
    (void)r;
    const double share = log(budget / synth_budget[0]) / log(synth_budget[5] / synth_budget[0]);
    return 0.30 + (0.62 - 0.30) * share;
}

static inline void fault_drift(struct iso_runs *runs, struct iso_rng *rng)
{
    (void)rng;
    fault_other_phi(runs, fault_phi_drifting);
}

/* A normal error for each (budget, r) cell. */
static inline void fault_cell_error(struct iso_runs *runs, struct iso_rng *rng, double nats)
{
    double error = 0;
    for (size_t i = 0; i < runs->n; i++) {
        if (i == 0 || runs->at[i].budget != runs->at[i - 1].budget ||
            runs->at[i].r != runs->at[i - 1].r)
            error = nats * iso_rng_normal(rng);
        runs->at[i].loss += error;
    }
}

static inline void fault_rate_noise(struct iso_runs *runs, struct iso_rng *rng)
{
    fault_cell_error(runs, rng, 0.03);
}

static inline void fault_mistyped(struct iso_runs *runs, struct iso_rng *rng)
{
    runs->at[iso_rng_below(rng, runs->n)].loss = 26.5;
}

static inline void fault_blown_up(struct iso_runs *runs, struct iso_rng *rng)
{
    for (size_t left = 12; left;) {
        struct iso_run *run = &runs->at[iso_rng_below(rng, runs->n)];
        if (run->loss < 12) {
            run->loss = 12 + 15 * iso_rng_uniform(rng);
            left--;
        }
    }
}

static inline void fault_thousands(struct iso_runs *runs, struct iso_rng *rng)
{
    (void)rng;
    for (size_t i = 0; i < runs->n; i++)
        runs->at[i].tokens /= 1000;
}

static inline void fault_swapped(struct iso_runs *runs, struct iso_rng *rng)
{
    (void)rng;
    for (size_t i = 0; i < runs->n; i++) {
        const double tokens = runs->at[i].tokens;
        runs->at[i].tokens = runs->at[i].n_once;
        runs->at[i].n_once = tokens;
    }
    iso_runs_sort(runs);
}

/* Keeps the runs within these limits. */
static inline void fault_keep(struct iso_runs *runs, double r_from, double r_to, double budget_to)
{
    size_t kept = 0;
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        if (run->r >= r_from && run->r <= r_to && run->budget <= budget_to)
            runs->at[kept++] = *run;
    }
    runs->n = kept;
}

static inline void fault_no_r1(struct iso_runs *runs, struct iso_rng *rng)
{
    (void)rng;
    fault_keep(runs, 2, 8, INFINITY);
}

static inline void fault_nothing(struct iso_runs *runs, struct iso_rng *rng)
{
    (void)runs;
    (void)rng;
}

/* Two budgets, three r and twelve times the noise: refits run to the edge of the box. */
static inline void fault_small_study(struct iso_runs *runs, struct iso_rng *rng)
{
    fault_keep(runs, 1, 4, 1.5e18);
    for (size_t i = 0; i < runs->n; i++)
        runs->at[i].loss += 0.06 * iso_rng_normal(rng);
}

static const struct fault faults[] = {
    {"clean, independent noise", NULL, NULL, ISO_LEVEL_OK, 0, 0},
    {"clean, noise shared by cells too", NULL, NULL, ISO_LEVEL_OK, 0.005, 0},
    {"r = 1 shifted by +0.03 nats", fault_r1_above, "offset", ISO_LEVEL_CAUTION, 0, 0},
    {"r = 1 shifted by -0.03 nats", fault_r1_below, "offset", ISO_LEVEL_CAUTION, 0, 0},
    {"r = 8 mistuned by +0.03 nats", fault_r8_mistuned, "one_phi", ISO_LEVEL_CAUTION, 0, 0},
    {"saturation, phi = 0.60, 0.45, 0.35", fault_saturation, "one_phi", ISO_LEVEL_CAUTION, 0, 0},
    {"phi drifts from 0.30 to 0.62", fault_drift, "drift", ISO_LEVEL_CAUTION, 0, 0},
    {"rate noise of 0.03 nats per cell", fault_rate_noise, "cell_noise", ISO_LEVEL_CAUTION, 0, 0},
    {"one loss mistyped as 26.5", fault_mistyped, "outliers", ISO_LEVEL_CAUTION, 0, 0},
    {"12 runs blown up to 12-27 nats", fault_blown_up, "diverged", ISO_LEVEL_FAIL, 0, 0},
    {"tokens in thousands", fault_thousands, "flops", ISO_LEVEL_FAIL, 0, 0},
    {"n_once and tokens swapped", fault_swapped, "flops", ISO_LEVEL_FAIL, 0, 0},
    {"no run with r = 1", fault_no_r1, "anchor", ISO_LEVEL_FAIL, 0, 0},
    {"widths beyond the optimum", fault_nothing, "bracketing", ISO_LEVEL_CAUTION, 0, 2},
    {"small noisy study", fault_small_study, "heavy_tail", ISO_LEVEL_FAIL, 0, 0},
};
enum { N_FAULTS = sizeof faults / sizeof *faults };

/* Study number `seed` with this fault, 0.005 nats of noise per run; fills an empty table. */
static inline void fault_study(struct iso_runs *runs, const struct fault *fault, uint64_t seed)
{
    const struct synth clean = {.law = fault_truth, .wider = fault->wider};
    struct iso_rng rng = {seed, iso_rng_stream("fault", 0), 0};
    synth_runs(runs, &clean);
    for (size_t i = 0; i < runs->n; i++)
        runs->at[i].loss += 0.005 * iso_rng_normal(&rng);
    fault_cell_error(runs, &rng, fault->cell_nats);
    if (fault->plant)
        fault->plant(runs, &rng);
}

/* Fits and checks a study, with a bootstrap over cells of `starts` per refit.  On the paper's grid
 * nearly all starts reach the best minimum, so few are enough. */
static inline void fault_judge(struct iso_checks *checks, struct iso_arena *arena,
                               const struct iso_runs *runs, int starts, uint64_t seed)
{
    struct iso_fit_options o = iso_fit_defaults();
    struct iso_fit fit;
    struct iso_intervals intervals = {.n_bootstraps = 1};
    o.seed = seed;
    o.starts = 20;
    if (iso_fit_run(&fit, runs, &o, NULL) != ISO_OK)
        abort();
    o.starts = starts;
    if (iso_bootstrap_run(&intervals.bootstrap[0], arena, runs, &fit, &o, ISO_BLOCK_CELL, 200,
                          NULL) != ISO_OK)
        abort();
    intervals.headline.low = intervals.bootstrap[0].low;
    intervals.headline.high = intervals.bootstrap[0].high;
    o.starts = 20;
    iso_checks_run(checks, arena, runs, &fit, &o, &intervals);
}

#endif
