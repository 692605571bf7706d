/* Scaling laws, one row of a table each.
 *
 * Every law has the form L = E + A * N_eff^-alpha + B * D^-beta; a law says what N_eff is.  The
 * fit works on logarithms: a = ln A, b = ln B, e = ln E, so that
 *     ln L = LSE(a - alpha ln N_eff, b - beta ln D, e),
 * and the objective, its gradient and its Hessian are shared (objective.c).  A law therefore
 * gives ln N_eff of a group of runs with one r, and two derivatives with respect to its shape
 * parameter phi; see docs/adding-a-law.md. */
#ifndef ISO_FIT_LAW_H
#define ISO_FIT_LAW_H

#include <stdbool.h>
#include <stddef.h>

/* The five parameters that all laws share, then the law's phi's, then its offsets. */
enum { ISO_P_A, ISO_P_ALPHA, ISO_P_B, ISO_P_BETA, ISO_P_E, ISO_P_SHAPE };
enum { ISO_MAX_PARAM = 40 };

enum iso_per {
    ISO_PER_NONE,   /* there is no such parameter */
    ISO_PER_LABEL,  /* one for each label of a run (one recipe: one label) */
    ISO_PER_LOOPED, /* one for each r above 1 */
};

struct iso_law {
    const char *name, *formula, *summary;
    enum iso_per phi;    /* which runs share a phi */
    enum iso_per offset; /* which runs share an offset of ln L */
    /* For n runs with `r` recurrences each: ln[i] = ln N_eff, d1[i] and d2[i] its first and
     * second derivative by phi.  n is a multiple of 4. */
    void (*log_n_eff)(double *ln, double *d1, double *d2, const double *n_once, const double *n_rec,
                      size_t n, double r, double phi);
};

extern const struct iso_law iso_law_joint, iso_law_chinchilla, iso_law_parcae, iso_law_phi_per_r,
    iso_law_offset_per_r;
/* All laws, ended by NULL; the first is the default. */
extern const struct iso_law *const iso_laws[];
/* NULL when there is none. */
const struct iso_law *iso_law_find(const char *name);
/* The nearest known name for a message, or NULL. */
const char *iso_law_nearest(const char *name);

#endif
