/* Bounded minimisers of the objective, one row of a table each. */
#ifndef ISO_FIT_SOLVER_H
#define ISO_FIT_SOLVER_H

#include "fit/objective.h"

struct iso_solution {
    double param[ISO_MAX_PARAM];
    double value; /* in units of delta^2 */
    int iterations;
};

/* Both go downhill from s->param, staying in the box.  A solver with two stages names the first
 * one too: starts that end the approach at the same point are finished once. */
struct iso_solver {
    const char *name, *summary;
    void (*approach)(struct iso_solution *s, const struct iso_design *x, int max_iterations,
                     struct iso_scratch *scratch); /* may be NULL */
    void (*finish)(struct iso_solution *s, const struct iso_design *x, int max_iterations,
                   struct iso_scratch *scratch);
};

extern const struct iso_solver iso_solver_newton, iso_solver_lbfgs;
/* All of them, ended by NULL; the first is the default. */
extern const struct iso_solver *const iso_solvers[];
const struct iso_solver *iso_solver_find(const char *name);

/* Whether parameter p is held by the box: fixed, or on a bound that the descent pushes against. */
bool iso_param_held(const struct iso_design *x, const double *param, const double *gradient,
                    size_t p);

/* Replaces a, b and e by the best ones for the other parameters (relative least squares, no term
 * below a small share of the loss), cut to the box; the scratch has the sizes then. */
void iso_solve_linear_part(double *param, const struct iso_design *x, struct iso_scratch *s);

/* Solves (h + damping diag(d)) step = -g for n unknowns by Cholesky; h is n * n, row by row.
 * False when the matrix is not positive definite. */
bool iso_solve_damped(double *step, const double *h, const double *d, const double *g, size_t n,
                      double damping);

#endif
