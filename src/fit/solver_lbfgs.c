/* L-BFGS with bounds, from NLopt: the method of the paper and the twin that the Newton solver is
 * tested against.  The only file that includes nlopt.h.
 *
 * Parameters are scaled to the unit box, because L-BFGS begins with a unit matrix. */
#include "fit/solver.h"

#include <math.h>
#include <nlopt.h>
#include <string.h>

struct problem {
    const struct iso_design *x;
    struct iso_scratch *scratch;
    double best; /* NLopt may end at another point than the lowest it saw */
    double best_param[ISO_MAX_PARAM];
    int evaluations;
};

static double width(const struct iso_design *x, size_t p)
{
    return x->upper[p] - x->lower[p];
}

static void unscale(double *param, const double *unit, const struct iso_design *x)
{
    for (size_t p = 0; p < x->n_param; p++)
        param[p] = x->lower[p] + unit[p] * width(x, p);
}

static double evaluate(unsigned n, const double *unit, double *slope, void *data)
{
    struct problem *problem = data;
    double param[ISO_MAX_PARAM], gradient[ISO_MAX_PARAM];
    unscale(param, unit, problem->x);
    const double value =
        iso_objective(problem->x, param, gradient, NULL, ISO_CURVE_NONE, problem->scratch);
    for (unsigned p = 0; slope && p < n; p++)
        slope[p] = gradient[p] * width(problem->x, p);
    if (value < problem->best) {
        problem->best = value;
        memcpy(problem->best_param, param, n * sizeof *param);
    }
    problem->evaluations++;
    return value;
}

static void finish(struct iso_solution *sol, const struct iso_design *x, int max_iterations,
                   struct iso_scratch *scratch)
{
    struct problem problem = {.x = x, .scratch = scratch, .best = INFINITY};
    double unit[ISO_MAX_PARAM];
    for (size_t p = 0; p < x->n_param; p++)
        unit[p] = width(x, p) > 0 ? (sol->param[p] - x->lower[p]) / width(x, p) : 0;
    nlopt_opt opt = nlopt_create(NLOPT_LD_LBFGS, (unsigned)x->n_param);
    nlopt_set_vector_storage(opt, 10); /* otherwise every call allocates 25 MB */
    nlopt_set_lower_bounds1(opt, 0);
    nlopt_set_upper_bounds1(opt, 1);
    nlopt_set_min_objective(opt, evaluate, &problem);
    nlopt_set_ftol_rel(opt, 1e-14);
    nlopt_set_maxeval(opt, max_iterations);
    double value;
    /* A bare failure near round-off is not a lost fit: the best point seen is kept either way. */
    (void)nlopt_optimize(opt, unit, &value);
    nlopt_destroy(opt);
    sol->value = problem.best;
    sol->iterations += problem.evaluations;
    memcpy(sol->param, problem.best_param, sizeof sol->param);
}

const struct iso_solver iso_solver_lbfgs = {
    .name = "lbfgs",
    .summary = "NLopt's L-BFGS, the paper's method",
    .finish = finish,
};
