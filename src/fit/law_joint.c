/* The joint law: recurrent parameters count r^phi times.
 *
 *     N_eff = N_once + r^phi N_rec
 *
 * With f = r^phi N_rec / N_eff: d ln N_eff / d phi = f ln r, and the second derivative is
 * f (1 - f) (ln r)^2. */
#include "fit/law_joint.h"

#include "fit/vmath.h"

#include <math.h>

void iso_law_joint_log_n_eff(double *ln, double *d1, double *d2, const double *n_once,
                             const double *n_rec, size_t n, double r, double phi)
{
    const double log_r = log(r), worth = exp(phi * log_r);
    for (size_t i = 0; i < n; i++) {
        const double looped = worth * n_rec[i], n_eff = n_once[i] + looped;
        const double share = looped / n_eff;
        d1[i] = log_r * share;
        d2[i] = log_r * log_r * share * (1.0 - share);
        ln[i] = n_eff;
    }
    iso_vlog(ln, ln, n);
}

const struct iso_law iso_law_joint = {
    .name = "joint",
    .formula = "L = E + A (N_once + r^phi N_rec)^-alpha + B D^-beta",
    .summary = "one law over all r; phi is the worth of a recurrence",
    .phi = ISO_PER_LABEL,
    .log_n_eff = iso_law_joint_log_n_eff,
};
