/* The joint law: recurrent parameters count r^phi times.
 *
 *     N_eff = N_once + r^phi N_rec */
#include "fit/law.h"

#include <math.h>

void iso_law_joint_worth(struct iso_worth *out, double r, const double *theta)
{
    const double log_r = log(r);
    out->w = exp(theta[0] * log_r);
    out->d1[0] = log_r * out->w;
    out->d2[0][0] = log_r * log_r * out->w;
}

const struct iso_law iso_law_joint = {
    .name = "joint",
    .formula = "L = E + A (N_once + r^phi N_rec)^-alpha + B D^-beta",
    .summary = "one law over all r; phi is the worth of a recurrence",
    .param = {{"phi", ISO_SHAPE, ISO_PER_RECIPE, -3, 3}},
    .worth = iso_law_joint_worth,
};
