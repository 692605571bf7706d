/* What follows from a fit: residuals, parabolas, the compute-optimal frontier, equivalents. */
#ifndef ISO_FIT_DERIVED_H
#define ISO_FIT_DERIVED_H

#include "fit/fit.h"

struct iso_residual_stats {
    double r; /* NaN in the row over all runs */
    size_t n;
    double mean, max_abs, rmse; /* actual - predicted, nats */
};

/* loss = c0 + c1 x + c2 x^2 with x = ln N, over the runs of one cell. */
struct iso_parabola {
    double budget, r, unshared; /* of the cell */
    size_t n_runs;
    bool has_minimum; /* at least 3 sizes and curved upwards */
    bool inside;      /* the minimum lies between the smallest and the largest N */
    double c[3];
    double n_opt, d_opt, loss_opt; /* N*, D*, L* when has_minimum */
    double gap; /* of loss_opt to that of r = 1 at this budget; NaN when there is none */
};

/* Per-token training FLOPs of one r as a function of unique parameters N:
 * F = linear N + root sqrt(N), exact for a stack of fixed depth (d^2 and d terms). */
struct iso_flops_curve {
    double r, linear, root;
    double once, rec, inject; /* shares of N; they sum to 1 */
    double width;             /* d_model = width sqrt(N); NaN when the table has no widths */
    double embed;             /* n_embed = embed sqrt(N); NaN likewise */
    double max_error;         /* largest relative error over the table's runs */
    double n_min, n_max;      /* sizes in the table */
};
struct iso_flops_curve iso_flops_curve_of(struct iso_arena *arena, const struct iso_runs *runs,
                                          double r);
double iso_flops_curve_at(const struct iso_flops_curve *curve, double n);

/* A run of `n` unique parameters that spends `budget`. */
struct iso_run iso_flops_curve_run(const struct iso_flops_curve *curve, double n, double budget);

struct iso_frontier_point {
    double budget, r;
    double n_opt, d_opt, loss_opt, d_model; /* d_model is NaN when unknown */
    double gap;                             /* to r = 1 at this budget; NaN without r = 1 */
    bool extrapolated;                      /* n_opt lies outside the sizes of the table */
};
struct iso_frontier_exponent {
    double r;
    double n_exponent, d_exponent;           /* N* ~ C^n, D* ~ C^d over the budgets of the table */
    double gap_min, gap_max;                 /* of the frontier to that of r = 1 */
    double optimum_gap_min, optimum_gap_max; /* of the cells' parabolas, likewise */
};

struct iso_equivalent {
    double r;
    double blocks;    /* unique blocks that one looped block is worth; NaN if the law assumes it */
    double recovered; /* blocks / r: share of full equivalence */
    double unique,
        effective;    /* sizes relative to the r = 1 model of the same width, NaN if unknown */
    double same_loss; /* unique size of an r = 1 model with the same N_eff, relative to unique */
};

struct iso_derived {
    double *predicted, *residual, *n_eff; /* per run of the table; nats */
    size_t n_runs;
    size_t n_stats;
    struct iso_residual_stats *stats; /* each r, then (with several) all */
    size_t n_parabolas;
    struct iso_parabola *parabola;
    size_t n_curves;
    struct iso_flops_curve *curve; /* one per r */
    size_t n_frontier;
    struct iso_frontier_point *frontier; /* every budget and r */
    size_t n_exponents;
    struct iso_frontier_exponent *exponent; /* one per r */
    size_t n_equivalents;
    struct iso_equivalent *equivalent; /* one per r */
};

/* Cannot fail: parts that the table does not allow are left empty or NaN. */
void iso_derived_run(struct iso_derived *out, struct iso_arena *arena, const struct iso_runs *runs,
                     const struct iso_fit *fit);

/* Fills in the gaps against the r = 1 points of `reference`, the same or another fit. */
void iso_derived_gaps(struct iso_derived *out, const struct iso_derived *reference);
/* One optimum of the frontier, for any budget (figures draw curves with it). */
struct iso_frontier_point iso_frontier_at(const struct iso_fit *fit,
                                          const struct iso_flops_curve *curve, double budget);

#endif
