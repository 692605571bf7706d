/* Learning-rate sweeps: what a base rate costs against the best one.
 *
 * A condition is a (budget, r, width).  Its runs differ in the base rate, and the losses of
 * repeated seeds are averaged.  The best rate is the vertex of the parabola in ln(rate) through the
 * lowest point and its two neighbours; the regret of a rate is its loss above that vertex.  A rate
 * transfers when its regret is small in every condition: over widths and over tokens. */
#ifndef ISO_FIT_REGRET_H
#define ISO_FIT_REGRET_H

#include "base/json.h"
#include "base/table.h"
#include "fit/runs.h"

struct iso_rate_point {
    double rate, loss, regret;
    size_t n_runs;
};

struct iso_rate_curve {
    double budget, r, unshared, d_model;
    double tokens, per_param;     /* tokens, and tokens per executed parameter */
    struct iso_rate_point *point; /* [n], by rising rate */
    size_t n;
    double best_rate, best_loss;
    bool inside;   /* the best rate lies between the smallest and the largest */
    double regret; /* at the chosen rate; NaN when it was not run here */
};

/* One base rate over all conditions that ran it. */
struct iso_rate_choice {
    double rate, mean, worst; /* regret */
    size_t n;
};

struct iso_regret {
    struct iso_arena arena;
    struct iso_rate_curve *curve; /* [n], by r, width, budget */
    size_t n, n_skipped;          /* conditions; those with fewer than three rates */
    struct iso_rate_choice *choice;
    size_t n_choice;
    double chosen; /* base rate */
};

/* `rate` is the base rate to judge; NaN takes the one of the lowest mean regret among those that
 * every condition ran. */
enum iso_status iso_regret_run(struct iso_regret *out, const struct iso_runs *runs, double rate,
                               struct iso_err *err);
void iso_regret_release(struct iso_regret *regret);

/* One row per condition, and one per rate. */
void iso_regret_curves_table(struct iso_table *t, const struct iso_regret *regret);
void iso_regret_choices_table(struct iso_table *t, const struct iso_regret *regret);
void iso_regret_write_json(struct iso_json_out *w, const struct iso_regret *regret);
/* "Base matrix rate 0.02: ..." in plain words. */
void iso_regret_verdict(struct iso_str *out, const struct iso_regret *regret);

/* Fails when one (budget, r, size) has runs of several base rates: a fit would take what they
 * cost for noise. */
enum iso_status iso_runs_check_rates(const struct iso_runs *runs, struct iso_err *err);

#endif
