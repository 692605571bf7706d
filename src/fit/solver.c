/* The table of solvers and what they share: see solver.h. */
#include "fit/solver.h"

#include "base/str.h"

#include <math.h>

const struct iso_solver *const iso_solvers[] = {
    &iso_solver_newton,
#if ISO_HAVE_NLOPT
    &iso_solver_lbfgs,
#endif
    NULL,
};

const struct iso_solver *iso_solver_find(const char *name)
{
    for (size_t i = 0; iso_solvers[i]; i++)
        if (iso_str_eq(iso_solvers[i]->name, name))
            return iso_solvers[i];
    return NULL;
}

bool iso_param_held(const struct iso_design *x, const double *param, const double *gradient,
                    size_t p)
{
    return (param[p] <= x->lower[p] && gradient[p] >= 0) ||
           (param[p] >= x->upper[p] && gradient[p] <= 0) || x->lower[p] == x->upper[p];
}

bool iso_solve_damped(double *step, const double *h, const double *d, const double *g, size_t n,
                      double damping)
{
    double l[ISO_MAX_PARAM * ISO_MAX_PARAM];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = h[i * n + j] + (i == j ? damping * d[i] : 0.0);
            for (size_t k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            if (i != j)
                l[i * n + j] = sum * l[j * n + j];
            else if (sum > 1e-14 * fabs(h[i * n + i]) && sum > 0)
                l[i * n + i] = 1.0 / sqrt(sum); /* the inverse: divisions are slow */
            else
                return false;
        }
    for (size_t i = 0; i < n; i++) {
        double sum = -g[i];
        for (size_t k = 0; k < i; k++)
            sum -= l[i * n + k] * step[k];
        step[i] = sum * l[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        double sum = step[i];
        for (size_t k = i + 1; k < n; k++)
            sum -= l[k * n + i] * step[k];
        step[i] = sum * l[i * n + i];
    }
    return true;
}
