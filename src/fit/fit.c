/* The point fit and its diagnostics: see fit.h. */
#include "fit/fit.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "fit/linalg.h"
#include "fit/multistart.h"
#include "fit/resample.h"
#include "fit/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const injection_names[] = {
    [ISO_INJECT_ONCE] = "once",
    [ISO_INJECT_RECURRENT] = "recurrent",
    [ISO_INJECT_NONE] = "none",
};

struct iso_fit_options iso_fit_defaults(void)
{
    return (struct iso_fit_options){
        .law = iso_laws[0],
        .injection = ISO_INJECT_ONCE,
        .delta = 1e-3,
        .level = 0.95,
        .starts = 500,
        .max_iterations = 10000,
        .seed = 1,
        .threads = 1,
    };
}

void iso_fit_fix(struct iso_fit_options *options, const char *name, double value)
{
    ISO_ASSERT(options->n_fixed < ISO_MAX_FIXED);
    options->fixed[options->n_fixed++] = (struct iso_fixed){name, value};
}

double iso_fit_fixed(const struct iso_fit_options *options, const char *name)
{
    double value = NAN;
    for (size_t i = 0; i < options->n_fixed; i++)
        if (iso_str_eq(options->fixed[i].name, name))
            value = options->fixed[i].value;
    return value;
}

const char *iso_injection_name(enum iso_injection injection)
{
    return injection_names[injection];
}

bool iso_injection_parse(enum iso_injection *out, const char *name)
{
    for (size_t i = 0; i < sizeof injection_names / sizeof *injection_names; i++)
        if (iso_str_eq(injection_names[i], name)) {
            *out = (enum iso_injection)i;
            return true;
        }
    return false;
}

/* Gradient norm and condition number, both with parameters scaled to their box. */
static void diagnose(struct iso_fit *fit, const struct iso_design *x, const double *gradient,
                     const double *hessian)
{
    double scaled[ISO_MAX_PARAM * ISO_MAX_PARAM], eigen[ISO_MAX_PARAM];
    size_t free_param[ISO_MAX_PARAM], n = 0;
    for (size_t p = 0; p < x->n_param; p++) {
        const double width = x->upper[p] - x->lower[p];
        fit->on_bound[p] = width > 0 && (fit->param[p] <= x->lower[p] + 1e-9 * width ||
                                         fit->param[p] >= x->upper[p] - 1e-9 * width);
        if (iso_param_held(x, fit->param, gradient, p))
            continue;
        free_param[n++] = p;
        fit->gradient_norm =
            fmax(fit->gradient_norm, fabs(gradient[p]) * width / (double)fit->n_runs);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const size_t p = free_param[i], q = free_param[j];
            scaled[i * n + j] = hessian[p * x->n_param + q] * (x->upper[p] - x->lower[p]) *
                                (x->upper[q] - x->lower[q]);
        }
    fit->condition = NAN;
    if (n > 0) {
        iso_eigenvalues(eigen, scaled, n);
        fit->condition = eigen[0] > 0 ? eigen[n - 1] / eigen[0] : INFINITY;
    }
}

/* Adds what one row contributes to the gradient; the scratch holds the terms of the law at the
 * fit's parameters. */
static void add_row_gradient(double *g, const struct iso_design *x,
                             const struct iso_row_group *group, const struct iso_worth *at,
                             size_t i, const struct iso_fit *fit, const struct iso_scratch *s)
{
    const double e_term = exp(fit->param[ISO_P_E]), sum = s->t_n[i] + s->t_d[i] + e_term;
    const double offset = group->offset == ISO_NO_PARAM ? 0 : fit->param[group->offset];
    const double z = (s->ln_s[i] + offset - x->log_l[i]) / x->delta;
    const double k = x->weight[i] * fmin(fmax(z, -1), 1) / x->delta;
    const double k_n = k * s->t_n[i] / sum, k_d = k * s->t_d[i] / sum;
    g[ISO_P_A] += k_n;
    g[ISO_P_ALPHA] -= k_n * s->ln_n[i];
    g[ISO_P_B] += k_d;
    g[ISO_P_BETA] -= k_d * x->log_d[i];
    g[ISO_P_E] += k * e_term / sum;
    for (size_t j = 0; j < x->n_shape; j++)
        if (group->shape[j] != ISO_NO_PARAM)
            g[group->shape[j]] -= fit->alpha * k_n * s->share[i] * at->d1[j] / at->w;
    if (group->offset != ISO_NO_PARAM)
        g[group->offset] += k;
}

/* The gradients of the cells or clusters, [cells * n_param]; errors inside one may be
 * correlated. */
static double *cell_gradients(size_t *n_cells, const struct iso_fit *fit,
                              const struct iso_design *x, const struct iso_runs *runs,
                              const struct iso_scratch *scratch)
{
    struct iso_blocks cells;
    iso_blocks_init(&cells, runs, iso_runs_unit(runs));
    *n_cells = cells.n;
    double *g = ISO_NEW_N(double, *n_cells * x->n_param + 1);
    for (size_t k = 0; k < x->n_group; k++) {
        const struct iso_row_group *group = &x->group[k];
        for (size_t i = group->first; i < group->first + group->n; i++)
            if (x->run[i] != SIZE_MAX)
                add_row_gradient(g + cells.of_run[x->run[i]] * x->n_param, x, group,
                                 &scratch->worth[k], i, fit, scratch);
    }
    iso_blocks_release(&cells);
    return g;
}

/* Sandwich errors: H^-1 (sum over cells of g g') H^-1, g the gradient of a cell, times
 * cells / (cells - parameters), because a fit makes its own residuals small.  The scratch must hold
 * the evaluation that gave gradient and Hessian. */
static void standard_errors(struct iso_fit *fit, const struct iso_design *x,
                            const struct iso_runs *runs, const double *gradient,
                            const double *hessian, const struct iso_scratch *scratch, double level)
{
    const size_t n_param = x->n_param;
    size_t index[ISO_MAX_PARAM], n = 0, n_cells;
    for (size_t p = 0; p < n_param; p++) {
        fit->std_error[p] = fit->plus_minus[p] = NAN;
        if (!iso_param_held(x, fit->param, gradient, p))
            index[n++] = p;
    }
    double free_hessian[ISO_MAX_PARAM * ISO_MAX_PARAM], inverse[ISO_MAX_PARAM * ISO_MAX_PARAM];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            free_hessian[i * n + j] = hessian[index[i] * n_param + index[j]];
    if (n == 0 || !iso_invert_spd(inverse, free_hessian, n))
        return;
    double variance[ISO_MAX_PARAM] = {0};
    double *g = cell_gradients(&n_cells, fit, x, runs, scratch);
    for (size_t c = 0; c < n_cells; c++)
        for (size_t p = 0; p < n; p++) {
            double shift = 0;
            for (size_t q = 0; q < n; q++)
                shift += inverse[p * n + q] * g[c * n_param + index[q]];
            variance[p] += shift * shift;
        }
    free(g);
    fit->df = (double)n_cells - (double)n;
    for (size_t p = 0; fit->df > 0 && p < n; p++) {
        const double error = sqrt(variance[p] * (double)n_cells / fit->df);
        fit->std_error[index[p]] = error;
        if (fit->df >= ISO_LEAST_FREEDOM)
            fit->plus_minus[index[p]] = iso_t_quantile(level, fit->df) * error;
    }
}

/* Residuals in nats: actual - predicted. */
static void measure(struct iso_fit *fit, const struct iso_design *x, const struct iso_runs *runs,
                    struct iso_scratch *scratch)
{
    double *residual = ISO_NEW_N(double, x->n), mean = 0, total = 0, squares = 0;
    iso_residuals(residual, x, fit->param, scratch);
    for (size_t i = 0; i < runs->n; i++)
        mean += runs->at[i].loss / (double)runs->n;
    for (size_t i = 0; i < x->n; i++) {
        if (x->run[i] == SIZE_MAX)
            continue;
        const double loss = runs->at[x->run[i]].loss, nats = loss - loss * exp(residual[i]);
        total += (loss - mean) * (loss - mean);
        squares += nats * nats;
        fit->max_abs = fmax(fit->max_abs, fabs(nats));
    }
    fit->r2 = 1 - squares / total;
    fit->rmse = sqrt(squares / (double)runs->n);
    free(residual);
}

static void fill(struct iso_fit *fit, const struct iso_design *x, const struct iso_multistart *m,
                 const struct iso_runs *runs, const struct iso_fit_options *options)
{
    *fit = (struct iso_fit){.law = x->law,
                            .injection = options->injection,
                            .embeddings = options->embeddings,
                            .delta = options->delta,
                            .n_runs = runs->n,
                            .n_param = x->n_param,
                            .phi_param = x->phi,
                            .huber_sum = m->best.value * x->delta * x->delta,
                            .starts = options->starts,
                            .starts_best = m->starts_best,
                            .iterations = m->iterations,
                            .n_rivals = m->n_rivals};
    memcpy(fit->name, x->name, sizeof fit->name);
    memcpy(fit->use, x->use, sizeof fit->use);
    memcpy(fit->param, m->best.param, sizeof fit->param);
    memcpy(fit->lower, x->lower, sizeof fit->lower);
    memcpy(fit->upper, x->upper, sizeof fit->upper);
    memcpy(fit->rival, m->rival, sizeof fit->rival);
    fit->A = exp(fit->param[ISO_P_A]);
    fit->alpha = fit->param[ISO_P_ALPHA];
    fit->B = exp(fit->param[ISO_P_B]);
    fit->beta = fit->param[ISO_P_BETA];
    fit->E = exp(fit->param[ISO_P_E]);
    fit->phi = x->phi == ISO_NO_PARAM ? NAN : fit->param[x->phi];
}

static bool is_own_param(const struct iso_design *x, const char *name)
{
    for (size_t p = ISO_P_SHAPE; p < x->n_param; p++)
        if (iso_str_eq(x->name[p], name) || iso_str_eq(x->use[p].of->name, name))
            return true;
    return false;
}

/* The optimum of the law that this one relaxes, as a start: parameters that only this law has
 * are 0, where it is that law. */
static enum iso_status start_from_restriction(struct iso_design *x, const struct iso_runs *runs,
                                              const struct iso_fit_options *options,
                                              struct iso_err *err)
{
    struct iso_fit_options narrow = *options;
    struct iso_fit fit;
    narrow.law = x->law->relaxes;
    narrow.n_fixed = 0;
    for (size_t i = 0; i < options->n_fixed; i++)
        if (iso_law_param(narrow.law, options->fixed[i].name) ||
            !is_own_param(x, options->fixed[i].name))
            narrow.fixed[narrow.n_fixed++] = options->fixed[i];
    double start[ISO_MAX_PARAM] = {0};
    enum iso_status st = iso_fit_run(&fit, runs, &narrow, err);
    for (size_t p = 0; st == ISO_OK && p < x->n_param; p++) {
        const struct iso_param_use *use = &x->use[p];
        const struct iso_law_param *of = use->of ? iso_law_param(narrow.law, use->of->name) : NULL;
        const size_t from =
            p < ISO_P_SHAPE ? p
            : of            ? iso_param_find(fit.use, fit.n_param, of, isnan(use->r) ? 2 : use->r,
                                  use->recipe == SIZE_MAX ? 0 : use->recipe)
                            : ISO_NO_PARAM;
        start[p] = from == ISO_NO_PARAM ? 0 : fit.param[from];
    }
    if (st == ISO_OK)
        iso_design_give_start(x, start);
    return st;
}

enum iso_status iso_fit_run(struct iso_fit *fit, const struct iso_runs *runs,
                            const struct iso_fit_options *options, struct iso_err *err)
{
    struct iso_design x;
    enum iso_status st = iso_design_init(&x, runs, options, err);
    if (st == ISO_OK && options->law->relaxes)
        st = start_from_restriction(&x, runs, options, err);
    if (st == ISO_OK) {
        struct iso_multistart m;
        struct iso_scratch scratch;
        double gradient[ISO_MAX_PARAM], hessian[ISO_MAX_PARAM * ISO_MAX_PARAM];
        iso_multistart_run(&m, &x, options, iso_rng_stream("start", 0), options->threads);
        iso_scratch_init(&scratch, x.n);
        fill(fit, &x, &m, runs, options);
        iso_objective(&x, fit->param, gradient, hessian, ISO_CURVE_EXACT, &scratch);
        diagnose(fit, &x, gradient, hessian);
        standard_errors(fit, &x, runs, gradient, hessian, &scratch, options->level);
        measure(fit, &x, runs, &scratch);
        iso_scratch_release(&scratch);
    }
    iso_design_release(&x);
    return st;
}
