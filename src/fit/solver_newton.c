/* A damped Newton method in a box, in three stages.
 *
 * 1. Start.  For given exponents and phi the law is linear in A, B and E, so these three are
 *    solved for (relative least squares, none below a small share of the loss).  What is drawn at
 *    random is thus the hard half of the problem; from there nearly every start finds the best
 *    minimum, where plain descent from a point of the box often ends on a plateau.
 * 2. Approach.  With a wide Huber delta the problem is nearly least squares: smooth, and well
 *    served by Gauss-Newton steps.  As long as they gain much, A, B and E are solved for again
 *    after each: the valley is curved in them, and plain steps need three times as many
 *    evaluations to follow it.
 * 3. Finish.  With the real delta the objective has kinks in its curvature; exact Hessians take a
 *    handful of steps from the second stage's end.
 * Steps are damped (Levenberg and Marquardt; the damping follows Nielsen's rule) and cut to the
 * box (Bertsekas): parameters on a bound that the descent pushes against are held. A step is
 * accepted only if it lowers the objective. */
#include "fit/solver.h"

#include <math.h>
#include <string.h>

struct state {
    const struct iso_design *x;
    struct iso_scratch *scratch;
    double gradient[ISO_MAX_PARAM], hessian[ISO_MAX_PARAM * ISO_MAX_PARAM];
    double damping;
    bool may_project; /* solve for a, b and e again after each step, as long as that helps */
    bool project;
    enum iso_curvature curvature;
};

/* The free parameters at a point: their numbers, Hessian, damping scale and gradient. */
struct local {
    size_t n, index[ISO_MAX_PARAM];
    double h[ISO_MAX_PARAM * ISO_MAX_PARAM], d[ISO_MAX_PARAM], g[ISO_MAX_PARAM];
};

static void localise(struct local *l, const struct state *s, const double *param)
{
    const size_t n_param = s->x->n_param;
    l->n = 0;
    for (size_t p = 0; p < n_param; p++)
        if (!iso_param_held(s->x, param, s->gradient, p))
            l->index[l->n++] = p;
    for (size_t i = 0; i < l->n; i++) {
        l->g[i] = s->gradient[l->index[i]];
        for (size_t j = 0; j < l->n; j++)
            l->h[i * l->n + j] = s->hessian[l->index[i] * n_param + l->index[j]];
        l->d[i] = fabs(l->h[i * l->n + i]) + 1e-12;
    }
}

/* Adds the step to trial, cuts it to the box, and gives the decrease that the quadratic model
 * predicts for what is left of it. */
static double take(double *trial, double *step, const struct local *l, const struct iso_design *x)
{
    double decrease = 0;
    for (size_t i = 0; i < l->n; i++) {
        const size_t p = l->index[i];
        const double to = fmin(fmax(trial[p] + step[i], x->lower[p]), x->upper[p]);
        step[i] = to - trial[p];
        trial[p] = to;
    }
    for (size_t i = 0; i < l->n; i++) {
        double bent = 0;
        for (size_t j = 0; j < l->n; j++)
            bent += l->h[i * l->n + j] * step[j];
        decrease -= step[i] * (l->g[i] + 0.5 * bent);
    }
    return decrease;
}

/* One step from `param`: lowers the value and moves, or gives up and returns false. */
static bool advance(struct state *s, double *param, double *value)
{
    const struct iso_design *x = s->x;
    const size_t n_param = x->n_param;
    struct local l;
    double step[ISO_MAX_PARAM], trial[ISO_MAX_PARAM];
    double gradient[ISO_MAX_PARAM], hessian[ISO_MAX_PARAM * ISO_MAX_PARAM];
    localise(&l, s, param);
    for (double growth = 3; l.n > 0 && s->damping < 1e12; s->damping *= growth, growth *= 2) {
        if (!iso_solve_damped(step, l.h, l.d, l.g, l.n, s->damping)) {
            s->damping = fmax(s->damping, 1e-6);
            continue;
        }
        memcpy(trial, param, n_param * sizeof *trial);
        const double expected = take(trial, step, &l, x);
        if (fabs(expected) < 1e-18 * *value)
            return false; /* nothing left to gain */
        if (s->project)
            iso_solve_linear_part(trial, x, s->scratch);
        else
            iso_log_sizes(x, trial, s->scratch);
        const double lower =
            iso_objective_sized(x, trial, gradient, hessian, s->curvature, s->scratch);
        /* The last step or two gain less than round-off shows; they still sharpen the gradient. */
        const double slack = fabs(expected) < 1e-10 * *value ? 1e-13 * *value : 0;
        if (!(lower < *value + slack)) {
            s->project = false; /* least squares may have been the wrong advice */
            continue;
        }
        const double t = expected > 0 ? 2 * (*value - lower) / expected - 1 : 0;
        s->damping = fmax(s->damping * fmax(0.1, 1 - t * t * t), 1e-14);
        *value = lower;
        memcpy(param, trial, n_param * sizeof *trial);
        memcpy(s->gradient, gradient, n_param * sizeof *gradient);
        memcpy(s->hessian, hessian, n_param * n_param * sizeof *hessian);
        return true;
    }
    return false;
}

/* Steps until as many in a row as `times` gain no more than `enough`, relative to the value. */
static void descend(struct iso_solution *sol, struct state *s, double enough, int times,
                    int max_iterations)
{
    sol->value = iso_objective(s->x, sol->param, s->gradient, s->hessian, s->curvature, s->scratch);
    for (int small = 0; small < times && sol->iterations < max_iterations; sol->iterations++) {
        const double before = sol->value;
        if (!advance(s, sol->param, &sol->value))
            return;
        const double gain = before - sol->value;
        s->project = s->may_project && gain > 1e-2 * before;
        small = gain <= enough * before ? small + 1 : 0;
    }
}

static void approach(struct iso_solution *sol, const struct iso_design *x, int max_iterations,
                     struct iso_scratch *scratch)
{
    struct iso_design wide = *x;
    struct state s = {.x = &wide, .scratch = scratch, .curvature = ISO_CURVE_IRLS, .damping = 1e-4};
    s.may_project = s.project = x->lower[ISO_P_A] < x->upper[ISO_P_A] &&
                                x->lower[ISO_P_B] < x->upper[ISO_P_B] &&
                                x->lower[ISO_P_E] < x->upper[ISO_P_E];
    wide.delta = fmax(0.1, 10 * x->delta);
    iso_solve_linear_part(sol->param, x, scratch);
    descend(sol, &s, 1e-8, 1, max_iterations);
}

static void finish(struct iso_solution *sol, const struct iso_design *x, int max_iterations,
                   struct iso_scratch *scratch)
{
    struct state s = {.x = x, .scratch = scratch, .curvature = ISO_CURVE_EXACT, .damping = 1e-4};
    descend(sol, &s, 1e-14, 2, max_iterations);
}

const struct iso_solver iso_solver_newton = {
    .name = "newton",
    .summary = "damped Newton steps in the box",
    .approach = approach,
    .finish = finish,
};
