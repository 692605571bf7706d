/* The law of Hoffmann et al. (2022): unique parameters, however often they are used.
 *
 *     N_eff = N_once + N_rec */
#include "fit/law.h"

#include "fit/simd.h"

ISO_INLINE void body(double *ln, double *d1, double *d2, const double *n_once, const double *n_rec,
                     size_t n, double r, double phi)
{
    (void)r, (void)phi;
    for (size_t i = 0; i < n; i += ISO_LANES) {
        store4(ln + i, log4(load4(n_once + i) + load4(n_rec + i)));
        store4(d1 + i, splat(0));
        store4(d2 + i, splat(0));
    }
}

ISO_TWICE(static, log_n_eff, body,
          (double *ln, double *d1, double *d2, const double *n_once, const double *n_rec, size_t n,
           double r, double phi),
          (ln, d1, d2, n_once, n_rec, n, r, phi))

const struct iso_law iso_law_chinchilla = {
    .name = "chinchilla",
    .formula = "L = E + A N^-alpha + B D^-beta",
    .summary = "unique parameters only; with --by r one fit per architecture",
    .log_n_eff = log_n_eff,
};
