/* A worth that levels off: with x = r^phi - 1, what r^phi adds to one block,
 *
 *     N_eff = N_once + (1 + x / (1 + sigma x)) N_rec
 *
 * sigma = 0 is the joint law.  phi is the slope of w at r = 1 whatever sigma is, and no number of
 * loops makes a block worth more than 1 + 1/sigma. */
#include "fit/law.h"

#include <math.h>

static void worth(struct iso_worth *out, double r, const double *theta)
{
    const double log_r = log(r), power = exp(theta[0] * log_r), x = power - 1;
    const double q = 1 + theta[1] * x, x1 = log_r * power, x2 = log_r * x1; /* x by phi */
    out->w = 1 + x / q;
    out->d1[0] = x1 / (q * q);
    out->d1[1] = -x * x / (q * q);
    out->d2[0][0] = x2 / (q * q) - 2 * theta[1] * x1 * x1 / (q * q * q);
    out->d2[0][1] = -2 * x * x1 / (q * q * q);
    out->d2[1][1] = 2 * x * x * x / (q * q * q);
}

static double ceiling(const double *theta)
{
    return theta[0] > 0 ? 1 + 1 / theta[1] : 1; /* infinite where sigma is 0 */
}

const struct iso_law iso_law_saturating = {
    .name = "saturating",
    .formula = "L = E + A (N_once + w N_rec)^-alpha + B D^-beta, w = 1 + x / (1 + sigma x), "
               "x = r^phi - 1",
    .summary = "the joint law with a ceiling of 1 + 1/sigma on what a looped block is worth",
    .param = {{"phi", ISO_SHAPE, ISO_PER_RECIPE, 0, 3}, {"sigma", ISO_SHAPE, ISO_PER_RECIPE, 0, 1}},
    .worth = worth,
    .ceiling = ceiling,
    .ceiling_formula = "1 + 1/sigma",
    .relaxes = &iso_law_joint,
};
