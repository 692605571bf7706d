/* Robustness: the same fit with one choice changed. */
#ifndef ISO_FIT_ROBUST_H
#define ISO_FIT_ROBUST_H

#include "fit/fit.h"

struct iso_robust_row {
    const char *group;   /* "budgets", "injection", "embeddings", "delta", "law" */
    const char *name;    /* "low half, C <= 2.15e+18", "recurrent", "0.0001", ... */
    const char *problem; /* NULL, or why there is no such fit */
    double most, least;  /* the budget that bounds its half of them; NaN where none does */
    double phi;
    struct iso_fit fit;
};

/* phi fitted freely for each r: a check of the shape r^phi. */
struct iso_phi_of_r {
    double r, phi, std_error, plus_minus;
};
/* The offset of ln L that each r would like, and phi when it gets one. */
struct iso_offset_of_r {
    double r, offset, std_error, plus_minus;
};

/* The largest budget left out, fitted on the rest, and predicted. */
struct iso_holdout {
    double budget; /* NaN when there are too few budgets */
    size_t n_train, n_test;
    double phi, rmse, mean, max_abs; /* residuals in nats of the runs held out */
    double rmse_in_sample;           /* of the same runs in the full fit */
};

struct iso_robust {
    size_t n;
    struct iso_robust_row *row;
    size_t n_r;
    struct iso_phi_of_r *phi_of_r;       /* [n_r], NULL when it could not be fitted */
    struct iso_offset_of_r *offset_of_r; /* [n_r], likewise */
    double offset_phi, offset_phi_error, offset_phi_plus_minus;
    struct iso_holdout holdout;
};
/* Cannot fail: a fit that its part of the table does not allow says so in its row. */
void iso_robust_run(struct iso_robust *out, struct iso_arena *arena, const struct iso_runs *runs,
                    const struct iso_fit *best, const struct iso_fit_options *options);

#endif
