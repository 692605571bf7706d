/* What the checks share: residuals, the cells they lie in, and the law's slopes. */
#ifndef ISO_FIT_CHECK_INPUT_H
#define ISO_FIT_CHECK_INPUT_H

#include "fit/check.h"
#include "fit/resample.h"

struct iso_check_input {
    struct iso_arena *arena;
    const struct iso_runs *runs;
    const struct iso_fit *fit;
    struct iso_fit_options quick;          /* of the fit, with few starts */
    const struct iso_intervals *intervals; /* NULL: no resampling */
    struct iso_blocks cells;
    double *residual;  /* [runs] ln observed - ln predicted */
    double deviation;  /* their robust standard deviation */
    double *pulled;    /* [runs] the residuals, those beyond 4 deviations drawn in to 4 */
    size_t n_slopes;   /* free parameters */
    double *slope;     /* [runs * n_slopes] d ln L by each free parameter */
    double *phi_slope; /* [runs] d ln L by phi, all phi's of the law together */
};
void iso_check_input_init(struct iso_check_input *in, struct iso_arena *arena,
                          const struct iso_runs *runs, const struct iso_fit *fit,
                          const struct iso_fit_options *options,
                          const struct iso_intervals *intervals);
void iso_check_input_release(struct iso_check_input *in);

/* Sets the level: caution above the threshold. */
void iso_finding_set(struct iso_finding *out, double value, double threshold);
/* The statistic cannot be computed: level and message say what is missing. */
void iso_finding_untested(struct iso_finding *out, enum iso_level level, const char *why);

/* The checks: check_law.c, check_runs.c, check_interval.c. */
void iso_check_one_phi(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_offset(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_drift(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_cell_noise(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_noise(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_outliers(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_cells(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_anchor(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_flops(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_diverged(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_one_data(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_bounds(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_bracketing(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_influence(struct iso_finding *out, const struct iso_check_input *in);
void iso_check_heavy_tail(struct iso_finding *out, const struct iso_check_input *in);

#endif
