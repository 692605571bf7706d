/* The iso-parameter form of Parcae (Prairie et al., 2026): recurrences multiply the whole model,
 * prelude and coda included.
 *
 *     N_eff = r (N_once + N_rec) */
#include "fit/law.h"

static void worth(struct iso_worth *out, double r, const double *theta)
{
    (void)theta;
    out->u = out->w = r;
}

const struct iso_law iso_law_parcae = {
    .name = "parcae",
    .formula = "L = E + A (r N)^-alpha + B D^-beta",
    .summary = "recurrences multiply all parameters (the iso-parameter form of Parcae)",
    .worth = worth,
};
