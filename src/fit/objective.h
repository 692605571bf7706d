/* The objective of every fit: the sum over runs of the Huber loss of
 * z = (ln predicted - ln observed) / delta, with gradient and Hessian.
 *
 * It is summed, not averaged, and in units of delta^2: near a solution it is of the order of the
 * number of runs, so that relative and absolute tests of progress mean the same. */
#ifndef ISO_FIT_OBJECTIVE_H
#define ISO_FIT_OBJECTIVE_H

#include "fit/fit.h"

/* Runs that share r and the same parameters; their rows stand together, padded to a multiple of
 * ISO_LANES with rows of weight 0. */
struct iso_row_group {
    size_t first, n;
    double r;
    size_t phi, offset; /* parameter numbers; n_param when the law has none here */
};

struct iso_design {
    const struct iso_law *law;
    double delta;
    size_t n_param;
    char name[ISO_MAX_PARAM][24];
    double lower[ISO_MAX_PARAM], upper[ISO_MAX_PARAM];
    size_t n_group, n; /* rows with padding */
    struct iso_row_group *group;
    double *n_once, *n_rec, *log_d, *log_l, *weight; /* [n] */
    size_t *run;                                     /* [n] row of the table, SIZE_MAX: padding */
    double *memory;
};

/* Translates a table of runs.  Release also after a failure. */
enum iso_status iso_design_init(struct iso_design *x, const struct iso_runs *runs,
                                const struct iso_fit_options *options, struct iso_err *err);
/* The same design where run i of the table counts count[i] times. */
void iso_design_resample(struct iso_design *out, const struct iso_design *from,
                         const unsigned *count);
void iso_design_release(struct iso_design *x);
/* Parameters that are not held fixed. */
size_t iso_design_free_params(const struct iso_design *x);
/* The sizes that the law sees, under the options' conventions. */
void iso_design_sizes(double *n_once, double *n_rec, const struct iso_run *run,
                      enum iso_injection injection, bool embeddings);

/* Memory that evaluations need; one per thread. */
struct iso_scratch {
    double *ln_n, *d1, *d2, *t_n, *t_d, *ln_s; /* [n] of the largest design */
    double *memory;
};
void iso_scratch_init(struct iso_scratch *s, size_t n);
void iso_scratch_release(struct iso_scratch *s);

enum iso_curvature {
    ISO_CURVE_NONE,  /* value and gradient only */
    ISO_CURVE_IRLS,  /* Gauss-Newton with the weights of iterated least squares: never negative */
    ISO_CURVE_EXACT, /* second derivatives */
};

/* Gives the objective; fills gradient [n_param] and, row by row, hessian [n_param * n_param].
 * Both may be NULL when curvature is NONE. */
double iso_objective(const struct iso_design *x, const double *param, double *gradient,
                     double *hessian, enum iso_curvature curvature, struct iso_scratch *s);
/* Fills s->ln_n with ln N_eff of every row, and s->d1, s->d2 with its derivatives by phi. */
void iso_log_sizes(const struct iso_design *x, const double *param, struct iso_scratch *s);
/* ln predicted - ln observed of every row (0 in the padding). */
void iso_residuals(double *out, const struct iso_design *x, const double *param,
                   struct iso_scratch *s);

#endif
