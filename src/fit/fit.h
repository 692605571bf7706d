/* The point fit: the best of many bounded minimisations of the summed Huber loss of
 * ln(predicted) - ln(observed) (Hoffmann et al., 2022). */
#ifndef ISO_FIT_FIT_H
#define ISO_FIT_FIT_H

#include "base/err.h"
#include "base/str.h"
#include "fit/law.h"
#include "fit/runs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the parameters of the injection layer are counted. */
enum iso_injection { ISO_INJECT_ONCE, ISO_INJECT_RECURRENT, ISO_INJECT_NONE };

/* A parameter held at a value: by its name, or "A", "B", "E" in natural units. */
struct iso_fixed {
    const char *name;
    double value;
};
enum { ISO_MAX_FIXED = 8 };

struct iso_fit_options {
    const struct iso_law *law;
    enum iso_injection injection;
    bool embeddings; /* count n_embed in N_once */
    size_t n_fixed;
    struct iso_fixed fixed[ISO_MAX_FIXED];
    double delta; /* of the Huber loss */
    double level; /* of every interval and of every +-: 0.95 */
    int starts, max_iterations;
    uint64_t seed;
    int threads;
    const struct iso_solver *solver; /* NULL: the default */
};

/* The paper's settings: joint law, injection once, delta 1e-3, 500 starts, one thread. */
struct iso_fit_options iso_fit_defaults(void);
/* Holds a parameter from now on; `name` must outlive the options. */
void iso_fit_fix(struct iso_fit_options *options, const char *name, double value);
/* Where a parameter is held, or NaN. */
double iso_fit_fixed(const struct iso_fit_options *options, const char *name);
const char *iso_injection_name(enum iso_injection injection);
bool iso_injection_parse(enum iso_injection *out, const char *name);

/* Another minimum whose objective is within 1 % of the best one. */
struct iso_rival {
    double huber_sum, phi;
    int starts; /* that ended there */
};
enum { ISO_MAX_RIVALS = 8 };

/* Whose parameter it is. */
struct iso_param_use {
    const struct iso_law_param *of; /* NULL: one of the five that all laws share */
    double r;                       /* NaN: of every r, or of all looped ones */
    size_t recipe;                  /* SIZE_MAX: of every recipe */
};
bool iso_param_serves(const struct iso_param_use *use, double r, size_t recipe);
/* The parameter `of` of the runs with this r and recipe, or ISO_NO_PARAM. */
size_t iso_param_find(const struct iso_param_use *use, size_t n_param,
                      const struct iso_law_param *of, double r, size_t recipe);

/* Fewer degrees of freedom than this see only monstrous faults, and bound nothing. */
enum { ISO_LEAST_FREEDOM = 3 };

struct iso_fit {
    const struct iso_law *law;
    enum iso_injection injection;
    bool embeddings;
    double delta;
    size_t n_runs, n_param;
    char name[ISO_MAX_PARAM]
             [24]; /* "a", "alpha", "b", "beta", "e", "phi", "phi_r4", "phi_1", ... */
    struct iso_param_use use[ISO_MAX_PARAM];
    size_t phi_param; /* number of the (first) phi; ISO_NO_PARAM in laws without one */
    double param[ISO_MAX_PARAM];
    double lower[ISO_MAX_PARAM], upper[ISO_MAX_PARAM]; /* the box; equal when held fixed */
    bool on_bound[ISO_MAX_PARAM];                      /* free, and ended on its bound */
    /* Both NaN where not defined.  The error allows for noise that cells share; +- is half of an
     * interval: Student's t with `df` = cells - free parameters times it, from 3 on. */
    double std_error[ISO_MAX_PARAM], plus_minus[ISO_MAX_PARAM];
    double df;
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

/* Whether phi was fitted, rather than absent or held. */
bool iso_fit_phi_is_free(const struct iso_fit *fit);
/* Whether each r has a phi of its own. */
bool iso_fit_phi_per_r(const struct iso_fit *fit);
/* phi of the runs with this r (of the first recipe): NaN in laws without one, 0 where r = 1 has
 * none of its own. */
double iso_fit_phi(const struct iso_fit *fit, double r);
/* The unique blocks that a block looped r times is worth in this recipe: the one place that knows.
 * NaN when the law assumes it, or has no parameters for this r. */
double iso_fit_worth(const struct iso_fit *fit, double r, size_t recipe);
/* The same for parameters other than the fitted ones, for example those of a refit. */
double iso_fit_worth_at(const struct iso_fit *fit, const double *param, double r, size_t recipe);
/* Whether phi = 0 says that a looped block is worth one unique block and phi = 1 that it is worth
 * r of them, so that an interval of phi can be read against 0 and 1. */
bool iso_fit_phi_spans(const struct iso_fit *fit);
/* The most that a looped block can be worth; NaN when the law has no such limit. */
double iso_fit_ceiling(const struct iso_fit *fit);
/* "A block looped 8 times is worth 2.59 unique blocks, 32 % of full equivalence." and what else
 * the law says about it; nothing when it says nothing. */
void iso_fit_write_worth(struct iso_str *out, const struct iso_fit *fit, double r);
/* A parameter of the law that the fit has not got for looped runs of this r, or NULL: a law with
 * parameters of each r says nothing about another one. */
const struct iso_law_param *iso_fit_missing(const struct iso_fit *fit, double r);
/* Whether the fit has all parameters that these runs need: a law with parameters of each r tells
 * nothing about an r that it was not fitted to. */
bool iso_fit_covers(const struct iso_fit *fit, const struct iso_runs *runs);
/* N_eff and the loss that the fit gives a run. */
double iso_fit_n_eff(const struct iso_fit *fit, const struct iso_run *run);
double iso_fit_loss(const struct iso_fit *fit, const struct iso_run *run);

#endif
