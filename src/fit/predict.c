/* Predictions: see predict.h. */
#include "fit/predict.h"

#include "fit/objective.h"
#include "fit/put.h"
#include "fit/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum iso_status damaged(const char *path, const char *what, struct iso_err *err)
{
    return iso_fail(err, ISO_BAD_INPUT,
                    "%s: %s; expected what isodepth fit prints as JSON, or writes as fit.json",
                    path, what);
}

/* Whose parameter i is, by its name: "phi" of all runs, "phi_r4" of those with r = 4. */
static bool read_use(struct iso_param_use *use, const struct iso_law *law, size_t i,
                     const char *name)
{
    *use = (struct iso_param_use){.r = NAN, .recipe = SIZE_MAX};
    if (i < ISO_P_SHAPE)
        return iso_str_eq(name, iso_shared_param_name(i));
    for (const struct iso_law_param *p = law->param; p->name; p++) {
        const size_t n = strlen(p->name);
        if (strncmp(p->name, name, n) != 0)
            continue;
        use->of = p;
        if (!name[n])
            return true;
        if (strncmp(name + n, "_r", 2) == 0 && iso_parse_double(name + n + 2, &use->r))
            return true;
    }
    return false;
}

static enum iso_status read_param(struct iso_fit *fit, const struct iso_json *row, const char *path,
                                  struct iso_err *err)
{
    const size_t i = fit->n_param;
    const char *name = iso_json_string(row, "name", "");
    if (i >= ISO_MAX_PARAM || strlen(name) >= sizeof fit->name[i])
        return damaged(path, "its parameters are not those of a fit", err);
    memcpy(fit->name[i], name, strlen(name) + 1);
    fit->param[i] = iso_json_number(row, "value", NAN);
    if (isnan(fit->param[i]) || !read_use(&fit->use[i], fit->law, i, name))
        return damaged(path, "a parameter is not one of its law, or not in its place", err);
    if (fit->use[i].of && fit->phi_param == ISO_NO_PARAM && iso_str_eq(fit->use[i].of->name, "phi"))
        fit->phi_param = i;
    fit->n_param++;
    return ISO_OK;
}

/* The law is there twice; who edits the copy that people see must hear that it is not used. */
static enum iso_status check_copy(const struct iso_fit *fit, const struct iso_json *v,
                                  const char *path, struct iso_err *err)
{
    const double phi = fit->phi_param == ISO_NO_PARAM ? NAN : fit->param[fit->phi_param];
    const struct {
        const char *name;
        double value;
    } copies[] = {{"A", exp(fit->param[ISO_P_A])}, {"alpha", fit->param[ISO_P_ALPHA]},
                  {"B", exp(fit->param[ISO_P_B])}, {"beta", fit->param[ISO_P_BETA]},
                  {"E", exp(fit->param[ISO_P_E])}, {"phi", phi}};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        const double copy = iso_json_number(v, copies[i].name, NAN), value = copies[i].value;
        if (fabs(copy - value) > 1e-9 * fmax(1e-9, fabs(value)))
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: %s is %.10g, but diagnostics.parameters, which predict uses, give "
                            "%.10g: the file was edited; isodepth fit writes it again",
                            path, copies[i].name, copy, value);
    }
    return ISO_OK;
}

static enum iso_status read_fit(struct iso_fit *fit, const struct iso_json *v, const char *path,
                                struct iso_err *err)
{
    const struct iso_json *rows = iso_json_get(
        iso_json_get(v, "diagnostics") ? iso_json_get(v, "diagnostics") : v, "parameters");
    const struct iso_json *embeddings = iso_json_get(v, "embeddings");
    *fit = (struct iso_fit){.law = iso_law_find(iso_json_string(v, "law", "")),
                            .embeddings = embeddings && embeddings->boolean,
                            .phi_param = ISO_NO_PARAM};
    if (iso_json_get(v, "fits"))
        return damaged(path, "it holds several fits; write one member of its list alone", err);
    if (!fit->law || !rows ||
        !iso_injection_parse(&fit->injection, iso_json_string(v, "injection", "")))
        return damaged(path, "no law, injection or parameters", err);
    enum iso_status st = ISO_OK;
    for (const struct iso_json *row = rows->child; st == ISO_OK && row; row = row->next)
        st = read_param(fit, row, path, err);
    if (st == ISO_OK && fit->n_param < ISO_P_SHAPE)
        return damaged(path, "too few parameters", err);
    return st == ISO_OK ? check_copy(fit, v, path, err) : st;
}

static enum iso_status read_draws(struct iso_predictor *p, struct iso_arena *arena,
                                  const struct iso_json *draws, const char *path,
                                  struct iso_err *err)
{
    const size_t n_param = p->fit.n_param;
    const struct iso_json *values = iso_json_get(draws, "values");
    if (!values) /* a fit without refits */
        return ISO_OK;
    p->draws = iso_arena_alloc(arena, values->n * n_param + 1, sizeof *p->draws);
    for (const struct iso_json *row = values->child; row; row = row->next) {
        double *to = p->draws + p->n_draws++ * n_param;
        const struct iso_json *x = row->child;
        for (size_t i = 0; i < n_param; i++, x = x->next) {
            if (row->n != n_param || x->kind != ISO_JSON_NUMBER)
                return damaged(path, "a draw has not one number for each parameter", err);
            to[i] = x->number;
        }
    }
    return ISO_OK;
}

/* The upper end of a range of the fitted runs. */
static double most(const struct iso_json *fit, const char *of)
{
    const struct iso_json *range = iso_json_get(fit, "range");
    const struct iso_json *pair = range ? iso_json_get(range, of) : NULL;
    const struct iso_json *high = pair && pair->child ? pair->child->next : NULL;
    return high && high->kind == ISO_JSON_NUMBER ? high->number : NAN;
}

enum iso_status iso_predictor_read(struct iso_predictor *p, struct iso_arena *arena,
                                   const char *text, size_t len, const char *path,
                                   struct iso_err *err)
{
    const struct iso_json *v;
    *p = (struct iso_predictor){0};
    if (iso_json_parse(&v, arena, text, len, path, NULL) != ISO_OK)
        return damaged(path, "not JSON", err);
    enum iso_status st = read_fit(&p->fit, v, path, err);
    if (st != ISO_OK)
        return st;
    p->level = iso_json_number(v, "level", 0.95);
    if (!(p->level > 0 && p->level < 1))
        return damaged(path, "its level is not between 0 and 1", err);
    p->trust = iso_json_string(v, "trust", "");
    p->most_n = most(v, "n");
    p->most_tokens = most(v, "tokens");
    const struct iso_json *draws = iso_json_get(v, "draws");
    return draws ? read_draws(p, arena, draws, path, err) : ISO_OK;
}

static enum iso_status check_point(const struct iso_fit *fit, const struct iso_run *run,
                                   struct iso_err *err)
{
    if (fit->embeddings && isnan(run->n_embed))
        return iso_fail(err, ISO_BAD_INPUT,
                        "the fit counts embeddings; give the points as a table with n_embed");
    const struct iso_law_param *of = iso_fit_missing(fit, run->r);
    if (of)
        return iso_fail(err, ISO_BAD_INPUT, "r is %g, but the fit has no %s for it%s", run->r,
                        of->name,
                        of->per == ISO_PER_R ? "; fit a law that is one for all r, joint" : "");
    return ISO_OK;
}

enum iso_status iso_predict_check(const struct iso_predictor *p, const struct iso_runs *points,
                                  struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < points->n; i++)
        st = check_point(&p->fit, &points->at[i], err);
    return st;
}

double iso_predict_beyond(const struct iso_predictor *p, const struct iso_run *run)
{
    /* fmax ignores what is not known. */
    return fmax(1, fmax(iso_run_params(run) / p->most_n, run->tokens / p->most_tokens));
}

struct iso_prediction iso_predict(const struct iso_predictor *p, const struct iso_run *run)
{
    struct iso_prediction out = {.loss = iso_fit_loss(&p->fit, run),
                                 .n_eff = iso_fit_n_eff(&p->fit, run),
                                 .low = NAN,
                                 .high = NAN};
    if (p->n_draws == 0)
        return out;
    struct iso_fit refit = p->fit;
    double *loss = ISO_NEW_N(double, p->n_draws);
    for (size_t i = 0; i < p->n_draws; i++) {
        memcpy(refit.param, p->draws + i * refit.n_param, refit.n_param * sizeof *refit.param);
        loss[i] = iso_fit_loss(&refit, run);
    }
    iso_sort_doubles(loss, p->n_draws);
    out.low = iso_percentile(loss, p->n_draws, (1 - p->level) / 2);
    out.high = iso_percentile(loss, p->n_draws, (1 + p->level) / 2);
    free(loss);
    return out;
}

void iso_predict_table(struct iso_table *t, const struct iso_predictor *p,
                       const struct iso_runs *points)
{
    char buf[32];
    iso_table_init(t, "r|N|N_eff|tokens|loss|low|high");
    for (size_t i = 0; i < points->n; i++) {
        const struct iso_run *run = &points->at[i];
        const struct iso_prediction x = iso_predict(p, run);
        iso_table_putf(t, "%g", run->r);
        iso_table_put(t, iso_format_count(buf, iso_run_params(run)));
        iso_table_put(t, iso_format_count(buf, x.n_eff));
        iso_table_put(t, iso_format_count(buf, run->tokens));
        iso_table_putf(t, "%.4f", x.loss);
        iso_put_number(t, "%.4f", x.low);
        iso_put_number(t, "%.4f", x.high);
    }
}

void iso_predict_write_json(struct iso_json_out *w, const struct iso_predictor *p,
                            const struct iso_runs *points)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "law", p->fit.law->name);
    iso_json_put_number(w, "level", p->level);
    iso_json_put_count(w, "draws", p->n_draws);
    iso_json_put_string(w, "trust", p->trust);
    iso_json_begin(w, "points", '[');
    for (size_t i = 0; i < points->n; i++) {
        const struct iso_run *run = &points->at[i];
        const struct iso_prediction x = iso_predict(p, run);
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "r", run->r);
        iso_json_put_number(w, "n_once", run->n_once);
        iso_json_put_number(w, "n_rec", run->n_rec);
        iso_json_put_number(w, "n_inject", run->n_inject);
        iso_json_put_number(w, "tokens", run->tokens);
        iso_json_put_number(w, "n_eff", x.n_eff);
        iso_json_put_number(w, "loss", x.loss);
        iso_put_pair(w, "loss_interval", x.low, x.high);
        iso_json_put_number(w, "beyond", iso_predict_beyond(p, run));
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_end(w, '}');
}
