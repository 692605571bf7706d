/* The iso-parameter form of Parcae (Prairie et al., 2026): recurrences multiply the whole model,
 * prelude and coda included.
 *
 *     N_eff = r (N_once + N_rec) */
#include "fit/law.h"

#include "fit/vmath.h"

static void log_n_eff(double *ln, double *d1, double *d2, const double *n_once, const double *n_rec,
                      size_t n, double r, double phi)
{
    (void)phi;
    for (size_t i = 0; i < n; i++) {
        ln[i] = r * (n_once[i] + n_rec[i]);
        d1[i] = d2[i] = 0.0;
    }
    iso_vlog(ln, ln, n);
}

const struct iso_law iso_law_parcae = {
    .name = "parcae",
    .formula = "L = E + A (r N)^-alpha + B D^-beta",
    .summary = "recurrences multiply all parameters (the iso-parameter form of Parcae)",
    .log_n_eff = log_n_eff,
};
