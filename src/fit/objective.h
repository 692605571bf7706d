/* The objective of every fit: the sum over runs of the Huber loss of
 * z = (ln predicted - ln observed) / delta, with gradient and Hessian.
 *
 * It is summed, not averaged, and in units of delta^2: near a solution it is of the order of the
 * number of runs, so that relative and absolute tests of progress mean the same. */
#ifndef ISO_FIT_OBJECTIVE_H
#define ISO_FIT_OBJECTIVE_H

#include "fit/fit.h"

/* Runs that share r and recipe, so that one u and one w hold for all of them; their rows stand
 * together, padded to a multiple of ISO_LANES with rows of weight 0. */
struct iso_row_group {
    size_t first, n;
    double r;
    size_t recipe;
    /* Parameter numbers; ISO_NO_PARAM where the law has none for these runs. */
    size_t shape[ISO_MAX_SHAPE], offset;
};

struct iso_design {
    const struct iso_law *law;
    double delta;
    size_t n_param, n_shape;
    size_t phi; /* number of the (first) parameter phi; ISO_NO_PARAM in laws without one */
    char name[ISO_MAX_PARAM][24];
    struct iso_param_use use[ISO_MAX_PARAM];
    double lower[ISO_MAX_PARAM], upper[ISO_MAX_PARAM]; /* equal: held fixed */
    bool has_given;
    double given[ISO_MAX_PARAM]; /* a start beside those that are drawn */
    size_t n_group, n;           /* rows with padding */
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
/* Lets every fit of this design, and of its resamples, start also from `param`, cut to the box. */
void iso_design_give_start(struct iso_design *x, const double *param);
/* Parameters that are not held fixed. */
size_t iso_design_free_params(const struct iso_design *x);
/* Different r above 1, and how many of them the free shape parameters need. */
size_t iso_design_looped(const struct iso_design *x);
size_t iso_design_looped_needed(const struct iso_design *x);
/* The name of one of the parameters that all laws share. */
const char *iso_shared_param_name(size_t p);
/* The sizes that the law sees, under the options' conventions. */
void iso_design_sizes(double *n_once, double *n_rec, const struct iso_run *run,
                      enum iso_injection injection, bool embeddings);

/* Memory that evaluations need; one per thread. */
struct iso_scratch {
    double *ln_n, *share, *t_n, *t_d, *ln_s; /* [n] of the largest design */
    struct iso_worth *worth;                 /* [groups] what the law says about each */
    double *own;                             /* sums of each group */
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
/* The same where the scratch has the sizes already, of iso_log_sizes at the same shapes. */
double iso_objective_sized(const struct iso_design *x, const double *param, double *gradient,
                           double *hessian, enum iso_curvature curvature, struct iso_scratch *s);
/* Fills s->worth, s->ln_n with ln N_eff of every row, and s->share with its derivative by ln w,
 * which is the share of the looped blocks in N_eff. */
void iso_log_sizes(const struct iso_design *x, const double *param, struct iso_scratch *s);
/* ln predicted - ln observed of every row (0 in the padding). */
void iso_residuals(double *out, const struct iso_design *x, const double *param,
                   struct iso_scratch *s);

#endif
