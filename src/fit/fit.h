/* The point fit: the best of many bounded minimisations of the summed Huber loss of
 * ln(predicted) - ln(observed), as in spec section 5 (Hoffmann et al., 2022). */
#ifndef ISO_FIT_FIT_H
#define ISO_FIT_FIT_H

#include "base/err.h"
#include "fit/law.h"
#include "fit/runs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the parameters of the injection layer are counted. */
enum iso_injection { ISO_INJECT_ONCE, ISO_INJECT_RECURRENT, ISO_INJECT_NONE };

struct iso_fit_options {
    const struct iso_law *law;
    enum iso_injection injection;
    bool embeddings;  /* count n_embed in N_once */
    double fixed_phi; /* NaN: phi is free */
    double delta;     /* of the Huber loss */
    int starts, max_iterations;
    uint64_t seed;
    int threads;
    const struct iso_solver *solver; /* NULL: the default */
};

/* The paper's settings: joint law, injection once, delta 1e-3, 500 starts, one thread. */
struct iso_fit_options iso_fit_defaults(void);
const char *iso_injection_name(enum iso_injection injection);
bool iso_injection_parse(enum iso_injection *out, const char *name);

/* Another minimum whose objective is within 1 % of the best one. */
struct iso_rival {
    double huber_sum, phi;
    int starts; /* that ended there */
};
enum { ISO_MAX_RIVALS = 8 };

struct iso_fit {
    const struct iso_law *law;
    enum iso_injection injection;
    bool embeddings;
    double delta;
    size_t n_runs, n_param;
    char name[ISO_MAX_PARAM]
             [24]; /* "a", "alpha", "b", "beta", "e", "phi", "phi_r4", "phi_1", ... */
    double param[ISO_MAX_PARAM];
    double lower[ISO_MAX_PARAM], upper[ISO_MAX_PARAM]; /* the box; equal when held fixed */
    bool on_bound[ISO_MAX_PARAM];                      /* free, and ended on its bound */
    double std_error[ISO_MAX_PARAM];                   /* sandwich; NaN where not defined */
    /* The same in natural units; phi is NaN in laws without one, and the first of several. */
    double A, alpha, B, beta, E, phi;
    double huber_sum;
    double r2;            /* on raw nats */
    double rmse, max_abs; /* of the residuals in nats */
    int starts;           /* tried */
    int starts_best;      /* of them reached the best minimum */
    double iterations;    /* mean per start */
    size_t n_rivals;
    struct iso_rival rival[ISO_MAX_RIVALS]; /* best first */
    double gradient_norm; /* largest |projected gradient|, parameters scaled to their box,
                             objective scaled by delta^2 * runs */
    double condition;     /* of the Hessian of the free parameters, likewise scaled */
};

/* Fits.  Refuses when there are fewer distinct runs than free parameters. */
enum iso_status iso_fit_run(struct iso_fit *fit, const struct iso_runs *runs,
                            const struct iso_fit_options *options, struct iso_err *err);

/* phi of the runs with this r (of the first recipe): NaN in laws without one, 0 where r = 1 has
 * none of its own. */
double iso_fit_phi(const struct iso_fit *fit, double r);
/* N_eff and the loss that the fit gives a run. */
double iso_fit_n_eff(const struct iso_fit *fit, const struct iso_run *run);
double iso_fit_loss(const struct iso_fit *fit, const struct iso_run *run);

#endif
