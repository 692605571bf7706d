/* The law of Hoffmann et al. (2022): unique parameters, however often they are used.
 *
 *     N_eff = N_once + N_rec */
#include "fit/law.h"

#include "fit/vmath.h"

static void log_n_eff(double *ln, double *d1, double *d2, const double *n_once, const double *n_rec,
                      size_t n, double r, double phi)
{
    (void)r, (void)phi;
    for (size_t i = 0; i < n; i++) {
        ln[i] = n_once[i] + n_rec[i];
        d1[i] = d2[i] = 0.0;
    }
    iso_vlog(ln, ln, n);
}

const struct iso_law iso_law_chinchilla = {
    .name = "chinchilla",
    .formula = "L = E + A N^-alpha + B D^-beta",
    .summary = "unique parameters only; with --by r one fit per architecture",
    .log_n_eff = log_n_eff,
};
