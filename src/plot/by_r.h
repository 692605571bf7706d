/* A law for each r: Chinchilla's, fitted to the runs of one r alone.  Allocation, predicted against
 * actual loss and residuals are drawn from these, for the joint law ties the exponents of all r
 * together and its optima lie beside those of the runs. */
#ifndef ISO_PLOT_BY_R_H
#define ISO_PLOT_BY_R_H

#include "fit/analysis.h"

struct iso_of_r {
    double r;
    bool own; /* its own law was fitted; with too few runs `analysis` holds that of all runs */
    struct iso_runs runs;
    struct iso_analysis analysis; /* without intervals */
};

struct iso_by_r {
    const struct iso_analysis *all; /* the fit to all runs, which must outlive this */
    struct iso_of_r *at;            /* [n] r rising */
    size_t n, n_own;
};

/* Cannot fail: an r with too few runs for a law of its own keeps that of `all`. */
void iso_by_r_fit(struct iso_by_r *out, const struct iso_analysis *all);
void iso_by_r_release(struct iso_by_r *by_r);

/* A table of the analyses of those r that have a law of their own, one below the other. */
void iso_by_r_table(struct iso_table *t, const struct iso_by_r *by_r,
                    const struct iso_analysis_table *row);
/* {"fits": [...]}, as `isodepth fit --law chinchilla --by r --json`. */
void iso_by_r_write_json(struct iso_str *out, const struct iso_by_r *by_r);

#endif
