/* How far the number can be trusted: bootstraps, profile, jackknife, pure error.  See
 * docs/fitting.md for what each assumes. */
#ifndef ISO_FIT_INTERVAL_H
#define ISO_FIT_INTERVAL_H

#include "fit/fit.h"

/* What is drawn with replacement. */
enum iso_block {
    ISO_BLOCK_CELL,    /* all runs of a (budget, r): the paper's */
    ISO_BLOCK_RUN,     /* single runs */
    ISO_BLOCK_BUDGET,  /* all runs of a budget */
    ISO_BLOCK_POINT,   /* all seeds of one design point; only with repeated seeds */
    ISO_BLOCK_CLUSTER, /* all rows of a cluster; where a table has them, instead of all others */
    ISO_N_BLOCKS,
};
const char *iso_block_name(enum iso_block block); /* "cell", "run", "budget", "point", ... */
/* Runs that may share an error: those of a cluster where the table has clusters, else those of a
 * cell. */
enum iso_block iso_runs_unit(const struct iso_runs *runs);

enum {
    ISO_MIN_RESAMPLES = 40,   /* fewer refits have no 2.5 % and 97.5 % points */
    ISO_MAX_RESAMPLES = 4000, /* when their number is not given */
};
/* Refits in blocks until the Monte Carlo error of each end is at most 2 % of the width. */
#define ISO_RESAMPLES_AUTO SIZE_MAX

struct iso_bootstrap {
    enum iso_block block;
    size_t n_blocks, n_resamples;
    double *phi;            /* [n_resamples], sorted; NaN in laws without phi */
    double *param;          /* [n_resamples * n_param], in the order of the draws */
    double level;           /* 0.95 */
    double low, high;       /* of the interval of phi: the 2.5 % and 97.5 % points at this level */
    double mc_low, mc_high; /* standard errors of the two ends: another seed moves them so far */
    double mean, sd;
    size_t at_bound; /* resamples whose phi ended on its bound */
    /* How far each end lies from the median, in what the quartile on its side makes of a normal
     * law (1: like a normal one), and whether one of them is so far that the percentiles say
     * little. */
    double tail_low, tail_high;
    bool heavy_tail;
    double below_0, above_1; /* share of resamples */
    size_t redrawn;          /* resamples that held too little to fit, drawn again */
    double param_low[ISO_MAX_PARAM], param_high[ISO_MAX_PARAM]; /* the same for all parameters */
};

/* Refits `resamples` times, starting from `best`, the fit to all runs, and from a few points of
 * each refit's own (iso_refit).  The arrays live in `arena`. */
enum iso_status iso_bootstrap_run(struct iso_bootstrap *out, struct iso_arena *arena,
                                  const struct iso_runs *runs, const struct iso_fit *best,
                                  const struct iso_fit_options *options, enum iso_block block,
                                  size_t resamples, struct iso_err *err);

/* Bias-corrected and accelerated ends (Efron, 1987) of a bootstrap over cells: `without` holds phi
 * without each cell.  Where the refits have a heavy tail, plain percentiles lie too far out on its
 * side; see docs/fitting.md for what covers. */
struct iso_interval;
void iso_bootstrap_bca(struct iso_interval *out, const struct iso_bootstrap *b, double phi,
                       const double *without, size_t n_without);

/* The interval of what a block looped r times is worth, by the same refits. */
void iso_bootstrap_worth(double out[2], const struct iso_bootstrap *b, const struct iso_fit *fit,
                         double r);

/* Objective against phi held fixed, the other parameters refitted. */
struct iso_profile {
    size_t n;
    double *phi, *huber_sum; /* [n], phi rising */
    double *statistic;       /* [n], about chi-square with 1 degree of freedom at the truth */
    double scale;            /* statistic = 2 (huber_sum - minimum) / scale */
    double critical;         /* chi-square at the level: 3.841 */
    double low, high;        /* where the statistic crosses it; NaN when it does not in the box */
};
/* What makes a rise of the Huber sum, doubled, about chi-square: see profile.c. */
double iso_fit_scale(const struct iso_fit *fit, const struct iso_runs *runs);
enum iso_status iso_profile_run(struct iso_profile *out, struct iso_arena *arena,
                                const struct iso_runs *runs, const struct iso_fit *best,
                                const struct iso_fit_options *options, struct iso_err *err);

struct iso_jackknife_row {
    double budget, r;    /* what was left out; NaN when it is not part of it */
    double unshared;     /* of a cell of the control, its iterations; 0 of another; else NaN */
    const char *cluster; /* likewise, or NULL */
    size_t n_runs;       /* that remain */
    double phi, shift;   /* shift = phi - phi of all runs */
    const char *problem; /* NULL, or why there is no fit without it */
};
struct iso_jackknife {
    size_t n;
    struct iso_jackknife_row *row; /* each budget, each r, each cell or cluster; none of a kind
                                      above 200 */
    size_t n_problems;             /* rows without a fit */
    double max_shift;              /* largest |shift| */
};
enum iso_status iso_jackknife_run(struct iso_jackknife *out, struct iso_arena *arena,
                                  const struct iso_runs *runs, const struct iso_fit *best,
                                  const struct iso_fit_options *options, struct iso_err *err);

/* With repeated seeds: noise of a run and a lack-of-fit test on ln L. */
struct iso_pure_error {
    size_t n_points; /* design points with more than one seed; 0: nothing below is set */
    size_t df;       /* degrees of freedom of the pure error */
    double sd;       /* of ln L between seeds */
    size_t df_lack;
    double f, p_value; /* lack of fit against pure error */
};
void iso_pure_error_run(struct iso_pure_error *out, const struct iso_runs *runs,
                        const struct iso_fit *fit);

/* Which interval the headline has. */
enum iso_interval_kind {
    ISO_INTERVAL_CELLS,
    ISO_INTERVAL_RUNS,
    ISO_INTERVAL_BUDGETS,
    ISO_INTERVAL_PROFILE,
    ISO_INTERVAL_CLUSTERS, /* instead of cells, where the table has them */
    ISO_N_INTERVALS,
};
const char *iso_interval_name(enum iso_interval_kind kind); /* "cells", "runs", ... */

struct iso_interval {
    enum iso_interval_kind kind;
    const char *method;     /* "percentile", "bca" (refits with a heavy tail) or "profile" */
    double low, high;       /* NaN when there is none */
    double mc_low, mc_high; /* Monte Carlo errors of the ends; 0 in a profile */
};

/* Everything about the interval of phi. */
struct iso_intervals {
    struct iso_interval headline;
    size_t n_bootstraps;
    struct iso_bootstrap bootstrap[ISO_N_BLOCKS]; /* the first is over cells or clusters; none
                                                     without refits */
    struct iso_profile profile;
    struct iso_jackknife jackknife;
    struct iso_pure_error pure;
    const char *widest; /* "bootstrap over budgets", "profile", ... */
    double widest_low, widest_high;
};
enum iso_status iso_intervals_run(struct iso_intervals *out, struct iso_arena *arena,
                                  const struct iso_runs *runs, const struct iso_fit *best,
                                  const struct iso_fit_options *options, size_t resamples,
                                  enum iso_interval_kind headline, struct iso_err *err);

/* The headline that a table of cells has by default, with only the refits that it takes. */
enum iso_status iso_interval_over_cells(struct iso_interval *out, const struct iso_runs *runs,
                                        const struct iso_fit *best,
                                        const struct iso_fit_options *options, size_t resamples,
                                        struct iso_err *err);

/* The bootstrap behind an interval, or NULL. */
const struct iso_bootstrap *iso_intervals_bootstrap(const struct iso_intervals *intervals,
                                                    enum iso_interval_kind kind);

/* "[0.42, 0.50]", rounded outwards: no more digits than the Monte Carlo errors of the ends support,
 * unless it takes more to show the width; three at most. */
void iso_interval_write(struct iso_str *out, const struct iso_interval *interval);

/* Whether an end lies so near x that another seed may put it on the other side: within two of its
 * Monte Carlo errors. */
bool iso_interval_borderline(const struct iso_interval *interval, double x);

#endif
