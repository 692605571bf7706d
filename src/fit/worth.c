/* What a fit says about one run or one r: see fit.h. */
#include "fit/fit.h"

#include "fit/objective.h"

#include <math.h>

/* The shape parameters of runs with this r and recipe; false when the fit has none for them. */
static bool shapes_of(double theta[ISO_MAX_SHAPE], const struct iso_fit *fit, const double *param,
                      double r, size_t recipe)
{
    bool all = true;
    size_t n = 0;
    for (const struct iso_law_param *of = fit->law->param; of->name; of++) {
        if (of->role != ISO_SHAPE)
            continue;
        const size_t p = iso_param_find(fit->use, fit->n_param, of, r, recipe);
        theta[n++] = p == ISO_NO_PARAM ? 0 : param[p];
        all &= p != ISO_NO_PARAM;
    }
    return all;
}

const struct iso_law_param *iso_fit_missing(const struct iso_fit *fit, double r)
{
    const struct iso_law_param *of = fit->law->param;
    if (r <= 1)
        return NULL;
    while (of->name && iso_param_find(fit->use, fit->n_param, of, r, 0) != ISO_NO_PARAM)
        of++;
    return of->name ? of : NULL;
}

bool iso_fit_covers(const struct iso_fit *fit, const struct iso_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (iso_fit_missing(fit, runs->at[i].r))
            return false;
    return true;
}

bool iso_fit_phi_is_free(const struct iso_fit *fit)
{
    const size_t p = fit->phi_param;
    return p != ISO_NO_PARAM && fit->lower[p] < fit->upper[p];
}

bool iso_fit_phi_per_r(const struct iso_fit *fit)
{
    return fit->phi_param != ISO_NO_PARAM && !isnan(fit->use[fit->phi_param].r);
}

double iso_fit_phi(const struct iso_fit *fit, double r)
{
    if (fit->phi_param == ISO_NO_PARAM)
        return NAN;
    const size_t p = iso_param_find(fit->use, fit->n_param, fit->use[fit->phi_param].of, r, 0);
    return p == ISO_NO_PARAM ? 0 : fit->param[p];
}

double iso_fit_worth_at(const struct iso_fit *fit, const double *param, double r, size_t recipe)
{
    double theta[ISO_MAX_SHAPE] = {0};
    if (iso_law_shapes(fit->law) == 0)
        return NAN;
    if (!shapes_of(theta, fit, param, r, recipe) && r > 1)
        return NAN;
    struct iso_worth at;
    iso_law_at(&at, fit->law, r, theta);
    return at.w;
}

double iso_fit_worth(const struct iso_fit *fit, double r, size_t recipe)
{
    return iso_fit_worth_at(fit, fit->param, r, recipe);
}

static double worth_if(const struct iso_fit *fit, double phi, double r)
{
    double param[ISO_MAX_PARAM];
    for (size_t p = 0; p < fit->n_param; p++) {
        const struct iso_law_param *of = fit->use[p].of;
        param[p] = of && iso_str_eq(of->name, "phi") ? phi : fit->param[p];
    }
    return iso_fit_worth_at(fit, param, r, 0);
}

bool iso_fit_phi_spans(const struct iso_fit *fit)
{
    return fit->phi_param != ISO_NO_PARAM && !iso_fit_phi_per_r(fit) &&
           fabs(worth_if(fit, 0, 8) - 1) < 1e-9 && fabs(worth_if(fit, 1, 8) - 8) < 1e-9;
}

double iso_fit_ceiling(const struct iso_fit *fit)
{
    double theta[ISO_MAX_SHAPE] = {0};
    if (!fit->law->ceiling || !shapes_of(theta, fit, fit->param, 2, 0))
        return NAN;
    const double ceiling = fit->law->ceiling(theta);
    return isinf(ceiling) ? NAN : ceiling;
}

void iso_fit_write_worth(struct iso_str *out, const struct iso_fit *fit, double r)
{
    const double blocks = iso_fit_worth(fit, r, 0), ceiling = iso_fit_ceiling(fit);
    double theta[ISO_MAX_SHAPE] = {0};
    if (isnan(blocks) || r <= 1)
        return;
    (void)shapes_of(theta, fit, fit->param, r, 0);
    struct iso_worth at;
    iso_law_at(&at, fit->law, r, theta);
    iso_str_printf(out,
                   "A block looped %g times is worth %.2f unique blocks, %.0f %% of full "
                   "equivalence.",
                   r, blocks, 100 * blocks / r);
    if (at.u != 1)
        iso_str_printf(out,
                       " A block beside the loop is worth %.2f blocks of a model that does "
                       "not loop.",
                       at.u);
    if (!isnan(ceiling))
        iso_str_printf(out, " However often it is looped, it is worth at most %.2f (%s).", ceiling,
                       fit->law->ceiling_formula);
}

static double log_n_eff(const struct iso_fit *fit, const struct iso_run *run)
{
    double theta[ISO_MAX_SHAPE] = {0}, once, rec;
    (void)shapes_of(theta, fit, fit->param, run->r, run->label);
    iso_design_sizes(&once, &rec, run, fit->injection, fit->embeddings);
    struct iso_worth at;
    iso_law_at(&at, fit->law, run->r, theta);
    return log(at.u * once + at.w * rec);
}

static double offset_of(const struct iso_fit *fit, const struct iso_run *run)
{
    for (const struct iso_law_param *of = fit->law->param; of->name; of++) {
        const size_t p = iso_param_find(fit->use, fit->n_param, of, run->r, run->label);
        if (of->role == ISO_OFFSET && p != ISO_NO_PARAM)
            return fit->param[p];
    }
    return 0;
}

double iso_fit_n_eff(const struct iso_fit *fit, const struct iso_run *run)
{
    return exp(log_n_eff(fit, run));
}

double iso_fit_loss(const struct iso_fit *fit, const struct iso_run *run)
{
    const double *p = fit->param;
    const double sum = exp(p[ISO_P_A] - p[ISO_P_ALPHA] * log_n_eff(fit, run)) +
                       exp(p[ISO_P_B] - p[ISO_P_BETA] * log(run->tokens)) + exp(p[ISO_P_E]);
    return sum * exp(offset_of(fit, run));
}
