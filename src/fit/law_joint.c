/* The joint law: recurrent parameters count r^phi times.
 *
 *     N_eff = N_once + r^phi N_rec
 *
 * With f = r^phi N_rec / N_eff: d ln N_eff / d phi = f ln r, and the second derivative is
 * f (1 - f) (ln r)^2. */
#include "fit/law_joint.h"

#include "fit/simd.h"

#include <math.h>

ISO_INLINE void body(double *ln, double *d1, double *d2, const double *n_once, const double *n_rec,
                     size_t n, double r, double phi)
{
    const double log_r = log(r), worth = exp(phi * log_r);
    for (size_t i = 0; i < n; i += ISO_LANES) {
        const v4d looped = worth * load4(n_rec + i), n_eff = load4(n_once + i) + looped;
        const v4d share = looped / n_eff;
        store4(d1 + i, log_r * share);
        store4(d2 + i, log_r * log_r * share * (1.0 - share));
        store4(ln + i, log4(n_eff));
    }
}

ISO_TWICE(, iso_law_joint_log_n_eff, body,
          (double *ln, double *d1, double *d2, const double *n_once, const double *n_rec, size_t n,
           double r, double phi),
          (ln, d1, d2, n_once, n_rec, n, r, phi))

const struct iso_law iso_law_joint = {
    .name = "joint",
    .formula = "L = E + A (N_once + r^phi N_rec)^-alpha + B D^-beta",
    .summary = "one law over all r; phi is the worth of a recurrence",
    .phi = ISO_PER_LABEL,
    .log_n_eff = iso_law_joint_log_n_eff,
};
