/* A damped Newton method in a box (Levenberg and Marquardt's damping, Bertsekas' projection).
 *
 * A fit has few parameters and cheap second derivatives, so Newton steps pay.  Far from a
 * minimum, where Huber's loss is linear and has no curvature of its own, the matrix is that of
 * iterated reweighted least squares, which is never indefinite; once progress is small it is the
 * exact Hessian, whose last steps are quadratic.
 * 1. Parameters on a bound that the gradient pushes against are held; the step is solved for
 *    the others and cut to the box.
 * 2. A step is taken only if it lowers the objective; else the damping grows. */
#include "fit/solver.h"

#include <math.h>
#include <string.h>

struct state {
    const struct iso_design *x;
    struct iso_scratch *scratch;
    double gradient[ISO_MAX_PARAM], hessian[ISO_MAX_PARAM * ISO_MAX_PARAM];
    double damping;
    enum iso_curvature curvature;
};

/* The part of gradient and Hessian that belongs to parameters that are not held. */
static size_t free_part(const struct state *s, const double *param, size_t *index, double *h,
                        double *d, double *g)
{
    const size_t n_param = s->x->n_param;
    size_t n = 0;
    for (size_t p = 0; p < n_param; p++)
        if (!iso_param_held(s->x, param, s->gradient, p))
            index[n++] = p;
    for (size_t i = 0; i < n; i++) {
        g[i] = s->gradient[index[i]];
        for (size_t j = 0; j < n; j++)
            h[i * n + j] = s->hessian[index[i] * n_param + index[j]];
        d[i] = fabs(h[i * n + i]) + 1e-12;
    }
    return n;
}

/* One step from `param`: lowers value and moves param, or gives up and returns false. */
static bool advance(struct state *s, double *param, double *value)
{
    const struct iso_design *x = s->x;
    size_t index[ISO_MAX_PARAM];
    double h[ISO_MAX_PARAM * ISO_MAX_PARAM], d[ISO_MAX_PARAM], g[ISO_MAX_PARAM];
    double step[ISO_MAX_PARAM], trial[ISO_MAX_PARAM];
    double gradient[ISO_MAX_PARAM], hessian[ISO_MAX_PARAM * ISO_MAX_PARAM];
    const size_t n = free_part(s, param, index, h, d, g);
    for (; n > 0 && s->damping < 1e12; s->damping *= 6) {
        if (!iso_solve_damped(step, h, d, g, n, s->damping))
            continue;
        memcpy(trial, param, x->n_param * sizeof *trial);
        for (size_t i = 0; i < n; i++) {
            const size_t p = index[i];
            trial[p] = fmin(fmax(param[p] + step[i], x->lower[p]), x->upper[p]);
        }
        const double lower = iso_objective(x, trial, gradient, hessian, s->curvature, s->scratch);
        if (!(lower < *value))
            continue;
        memcpy(param, trial, x->n_param * sizeof *trial);
        memcpy(s->gradient, gradient, x->n_param * sizeof *gradient);
        memcpy(s->hessian, hessian, x->n_param * x->n_param * sizeof *hessian);
        *value = lower;
        s->damping = fmax(s->damping / 10, 1e-14);
        return true;
    }
    return false;
}

static void minimise(struct iso_solution *sol, const struct iso_design *x, int max_iterations,
                     struct iso_scratch *scratch)
{
    struct state s = {.x = x, .scratch = scratch, .damping = 1e-2, .curvature = ISO_CURVE_IRLS};
    sol->value = iso_objective(x, sol->param, s.gradient, s.hessian, s.curvature, scratch);
    int small = 0;
    for (sol->iterations = 0; sol->iterations < max_iterations; sol->iterations++) {
        const double before = sol->value;
        const bool moved = advance(&s, sol->param, &sol->value);
        const double gain = before - sol->value;
        if (s.curvature == ISO_CURVE_IRLS && (!moved || gain < 0.03 * before)) {
            s.curvature = ISO_CURVE_EXACT;
            s.damping = 1e-4;
            sol->value = iso_objective(x, sol->param, s.gradient, s.hessian, s.curvature, scratch);
            continue;
        }
        small = gain <= 1e-13 * before ? small + 1 : 0;
        if (!moved || small == 2)
            break;
    }
}

const struct iso_solver iso_solver_newton = {
    .name = "newton",
    .summary = "damped Newton steps in the box",
    .minimise = minimise,
};
