/* An analysis as JSON, every number in full precision: see analysis.h and docs/fitting.md. */
#include "fit/analysis.h"

#include "fit/predict.h"
#include "fit/put.h"

#include <math.h>

static void put_law(struct iso_json_out *w, const struct iso_fit *f)
{
    iso_json_put_string(w, "law", f->law->name);
    iso_json_put_count(w, "n_runs", f->n_runs);
    iso_json_put_number(w, "A", f->A);
    iso_json_put_number(w, "alpha", f->alpha);
    iso_json_put_number(w, "B", f->B);
    iso_json_put_number(w, "beta", f->beta);
    iso_json_put_number(w, "E", f->E);
    iso_json_put_number(w, "phi", f->phi);
    iso_json_put_number(w, "r2", f->r2);
    iso_json_put_number(w, "huber_sum", f->huber_sum);
}

void iso_fit_write_json(struct iso_json_out *w, const char *key, const struct iso_fit *f)
{
    iso_json_begin(w, key, '{');
    put_law(w, f);
    iso_json_put_number(w, "rmse", f->rmse);
    iso_json_put_number(w, "max_abs", f->max_abs);
    iso_json_end(w, '}');
}

static void put_diagnostics(struct iso_json_out *w, const struct iso_fit *f)
{
    iso_json_begin(w, "diagnostics", '{');
    iso_json_put_int(w, "starts", f->starts);
    iso_json_put_int(w, "starts_best", f->starts_best);
    iso_json_put_number(w, "iterations", f->iterations);
    iso_json_put_number(w, "gradient_norm", f->gradient_norm);
    iso_json_put_number(w, "condition", f->condition);
    iso_json_put_number(w, "rmse", f->rmse);
    iso_json_put_number(w, "max_abs", f->max_abs);
    iso_json_begin(w, "rivals", '[');
    for (size_t i = 0; i < f->n_rivals; i++) {
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "huber_sum", f->rival[i].huber_sum);
        iso_json_put_number(w, "phi", f->rival[i].phi);
        iso_json_put_int(w, "starts", f->rival[i].starts);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_begin(w, "parameters", '[');
    for (size_t p = 0; p < f->n_param; p++) {
        iso_json_begin(w, NULL, '{');
        iso_json_put_string(w, "name", f->name[p]);
        iso_json_put_number(w, "value", f->param[p]);
        iso_json_put_number(w, "std_error", f->std_error[p]);
        iso_json_put_number(w, "plus_minus", f->plus_minus[p]);
        iso_put_pair(w, "box", f->lower[p], f->upper[p]);
        iso_json_put_bool(w, "on_bound", f->on_bound[p]);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_end(w, '}');
}

static void put_bootstrap(struct iso_json_out *w, const struct iso_bootstrap *b,
                          const struct iso_fit *f)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "block", iso_block_name(b->block));
    iso_json_put_count(w, "blocks", b->n_blocks);
    iso_json_put_count(w, "resamples", b->n_resamples);
    iso_put_pair(w, "phi_interval", b->low, b->high);
    iso_put_pair(w, "phi_interval_mc", b->mc_low, b->mc_high);
    iso_put_pair(w, "tails", b->tail_low, b->tail_high);
    iso_json_put_bool(w, "heavy_tail", b->heavy_tail);
    iso_json_put_number(w, "mean", b->mean);
    iso_json_put_number(w, "sd", b->sd);
    iso_json_put_count(w, "at_bound", b->at_bound);
    iso_json_put_count(w, "redrawn", b->redrawn);
    iso_json_put_number(w, "share_at_or_below_0", b->below_0);
    iso_json_put_number(w, "share_at_or_above_1", b->above_1);
    iso_json_begin(w, "parameters", '{');
    for (size_t p = 0; p < f->n_param; p++)
        iso_put_pair(w, f->name[p], b->param_low[p], b->param_high[p]);
    iso_json_end(w, '}');
    iso_json_put_numbers(w, "phi", b->phi, b->n_resamples);
    iso_json_end(w, '}');
}

static void put_jackknife(struct iso_json_out *w, const struct iso_jackknife *j)
{
    iso_json_begin(w, "jackknife", '[');
    for (size_t i = 0; i < j->n; i++) {
        const struct iso_jackknife_row *row = &j->row[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "budget", row->budget);
        iso_put_r_json(w, row->r, row->unshared);
        if (row->cluster)
            iso_json_put_string(w, "cluster", row->cluster);
        iso_json_put_count(w, "n_runs", row->n_runs);
        iso_json_put_number(w, "phi", row->phi);
        iso_json_put_number(w, "shift", row->shift);
        if (row->problem)
            iso_json_put_string(w, "problem", row->problem);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
}

static void put_pure_error(struct iso_json_out *w, const struct iso_pure_error *p)
{
    iso_json_begin(w, "pure_error", '{');
    iso_json_put_count(w, "points", p->n_points);
    if (p->n_points) {
        iso_json_put_number(w, "sd", p->sd);
        iso_json_put_count(w, "df", p->df);
        iso_json_put_count(w, "df_lack_of_fit", p->df_lack);
        iso_json_put_number(w, "f", p->f);
        iso_json_put_number(w, "p_value", p->p_value);
    }
    iso_json_end(w, '}');
}

static void put_intervals(struct iso_json_out *w, const struct iso_analysis *s)
{
    const struct iso_intervals *v = &s->intervals;
    iso_json_begin(w, "intervals", '{');
    iso_json_begin(w, "bootstrap", '[');
    for (size_t i = 0; i < v->n_bootstraps; i++)
        put_bootstrap(w, &v->bootstrap[i], &s->fit);
    iso_json_end(w, ']');
    if (v->profile.n) {
        iso_json_begin(w, "profile", '{');
        iso_put_pair(w, "phi_interval", v->profile.low, v->profile.high);
        iso_json_put_number(w, "scale", v->profile.scale);
        iso_json_put_numbers(w, "phi", v->profile.phi, v->profile.n);
        iso_json_put_numbers(w, "huber_sum", v->profile.huber_sum, v->profile.n);
        iso_json_put_numbers(w, "statistic", v->profile.statistic, v->profile.n);
        iso_json_end(w, '}');
    }
    put_jackknife(w, &v->jackknife);
    put_pure_error(w, &v->pure);
    if (v->widest) {
        iso_json_put_string(w, "widest", v->widest);
        iso_put_pair(w, "widest_interval", v->widest_low, v->widest_high);
    }
    iso_json_end(w, '}');
}

static void put_robust(struct iso_json_out *w, const struct iso_robust *b)
{
    iso_json_begin(w, "robustness", '{');
    iso_json_begin(w, "variants", '[');
    for (size_t i = 0; i < b->n; i++) {
        const struct iso_robust_row *row = &b->row[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_string(w, "choice", row->group);
        iso_json_put_string(w, "variant", row->name);
        if (row->problem)
            iso_json_put_string(w, "problem", row->problem);
        else
            put_law(w, &row->fit);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_begin(w, "phi_per_r", '[');
    for (size_t i = 0; b->phi_of_r && i < b->n_r; i++) {
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "r", b->phi_of_r[i].r);
        iso_json_put_number(w, "phi", b->phi_of_r[i].phi);
        iso_json_put_number(w, "std_error", b->phi_of_r[i].std_error);
        iso_json_put_number(w, "plus_minus", b->phi_of_r[i].plus_minus);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_begin(w, "offset_per_r", '{');
    iso_json_put_number(w, "phi", b->offset_phi);
    iso_json_put_number(w, "phi_std_error", b->offset_phi_error);
    iso_json_put_number(w, "phi_plus_minus", b->offset_phi_plus_minus);
    iso_json_begin(w, "offsets", '[');
    for (size_t i = 0; b->offset_of_r && i < b->n_r; i++) {
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "r", b->offset_of_r[i].r);
        iso_json_put_number(w, "offset", b->offset_of_r[i].offset);
        iso_json_put_number(w, "std_error", b->offset_of_r[i].std_error);
        iso_json_put_number(w, "plus_minus", b->offset_of_r[i].plus_minus);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_end(w, '}');
    iso_json_begin(w, "holdout", '{');
    iso_json_put_number(w, "budget", b->holdout.budget);
    iso_json_put_count(w, "n_train", b->holdout.n_train);
    iso_json_put_count(w, "n_test", b->holdout.n_test);
    iso_json_put_number(w, "phi", b->holdout.phi);
    iso_json_put_number(w, "rmse", b->holdout.rmse);
    iso_json_put_number(w, "mean", b->holdout.mean);
    iso_json_put_number(w, "max_abs", b->holdout.max_abs);
    iso_json_put_number(w, "rmse_in_sample", b->holdout.rmse_in_sample);
    iso_json_end(w, '}');
    iso_json_end(w, '}');
}

static void put_frontier(struct iso_json_out *w, const struct iso_derived *d)
{
    iso_json_begin(w, "frontier", '[');
    for (size_t i = 0; i < d->n_frontier; i++) {
        const struct iso_frontier_point *p = &d->frontier[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "budget", p->budget);
        iso_json_put_number(w, "r", p->r);
        iso_json_put_number(w, "n", p->n_opt);
        iso_json_put_number(w, "d", p->d_opt);
        iso_json_put_number(w, "loss", p->loss_opt);
        iso_json_put_number(w, "d_model", p->d_model);
        iso_json_put_number(w, "gap", p->gap);
        iso_json_put_bool(w, "extrapolated", p->extrapolated);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_begin(w, "frontier_exponents", '[');
    for (size_t i = 0; i < d->n_exponents; i++) {
        const struct iso_frontier_exponent *e = &d->exponent[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "r", e->r);
        iso_json_put_number(w, "n_exponent", e->n_exponent);
        iso_json_put_number(w, "d_exponent", e->d_exponent);
        iso_put_pair(w, "gap_range", e->gap_min, e->gap_max);
        iso_put_pair(w, "optimum_gap_range", e->optimum_gap_min, e->optimum_gap_max);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
}

static void put_parabolas(struct iso_json_out *w, const struct iso_derived *d)
{
    iso_json_begin(w, "parabolas", '[');
    for (size_t i = 0; i < d->n_parabolas; i++) {
        const struct iso_parabola *p = &d->parabola[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "budget", p->budget);
        iso_put_r_json(w, p->r, p->unshared);
        iso_json_put_count(w, "n_runs", p->n_runs);
        iso_json_put_numbers(w, "coefficients", p->c, 3);
        iso_json_put_number(w, "n", p->n_opt);
        iso_json_put_number(w, "d", p->d_opt);
        iso_json_put_number(w, "loss", p->loss_opt);
        iso_json_put_number(w, "gap", p->gap);
        iso_json_put_bool(w, "inside", p->inside);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
}

static void put_derived(struct iso_json_out *w, const struct iso_analysis *s)
{
    const struct iso_derived *d = &s->derived;
    double interval[2];
    iso_json_begin(w, "derived", '{');
    iso_json_begin(w, "residuals", '[');
    for (size_t i = 0; i < d->n_stats; i++) {
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "r", d->stats[i].r); /* null: all runs */
        iso_json_put_count(w, "n", d->stats[i].n);
        iso_json_put_number(w, "mean", d->stats[i].mean);
        iso_json_put_number(w, "max_abs", d->stats[i].max_abs);
        iso_json_put_number(w, "rmse", d->stats[i].rmse);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    put_parabolas(w, d);
    put_frontier(w, d);
    iso_json_begin(w, "equivalents", '[');
    for (size_t i = 0; i < d->n_equivalents; i++) {
        const struct iso_equivalent *e = &d->equivalent[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_number(w, "r", e->r);
        iso_json_put_number(w, "blocks", e->blocks);
        iso_analysis_worth_interval(interval, s, e->r);
        if (!isnan(interval[0]))
            iso_put_pair(w, "blocks_interval", interval[0], interval[1]);
        iso_json_put_number(w, "recovered", e->recovered);
        iso_json_put_number(w, "unique", e->unique);
        iso_json_put_number(w, "effective", e->effective);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    if (!isnan(iso_fit_ceiling(&s->fit)))
        iso_json_put_number(w, "worth_ceiling", iso_fit_ceiling(&s->fit));
    iso_json_put_numbers(w, "predicted", d->predicted, d->n_runs);
    iso_json_put_numbers(w, "n_eff", d->n_eff, d->n_runs);
    iso_json_end(w, '}');
}

/* Some of the refits of the headline's bootstrap, evenly spaced, for predictions. */
static void put_draws(struct iso_json_out *w, const struct iso_fit *f,
                      const struct iso_bootstrap *b)
{
    const size_t n = b->n_resamples < ISO_DRAWS_KEPT ? b->n_resamples : ISO_DRAWS_KEPT;
    iso_json_begin(w, "draws", '{');
    iso_json_begin(w, "parameters", '[');
    for (size_t p = 0; p < f->n_param; p++)
        iso_json_put_string(w, NULL, f->name[p]);
    iso_json_end(w, ']');
    iso_json_begin(w, "values", '[');
    for (size_t i = 0; i < n; i++)
        iso_json_put_numbers(w, NULL, b->param + i * b->n_resamples / n * f->n_param, f->n_param);
    iso_json_end(w, ']');
    iso_json_end(w, '}');
}

/* Where the runs lie, so that a prediction knows how far away it is. */
static void put_range(struct iso_json_out *w, const struct iso_runs *runs)
{
    double n[2] = {INFINITY, 0}, tokens[2] = {INFINITY, 0};
    for (size_t i = 0; i < runs->n; i++) {
        const double size = iso_run_params(&runs->at[i]);
        n[0] = fmin(n[0], size);
        n[1] = fmax(n[1], size);
        tokens[0] = fmin(tokens[0], runs->at[i].tokens);
        tokens[1] = fmax(tokens[1], runs->at[i].tokens);
    }
    iso_json_begin(w, "range", '{');
    iso_put_pair(w, "n", n[0], n[1]);
    iso_put_pair(w, "tokens", tokens[0], tokens[1]);
    iso_json_end(w, '}');
}

/* A number where the text is one. */
static void put_value(struct iso_json_out *w, const char *key, const char *text)
{
    double x;
    if (iso_parse_double(text, &x))
        iso_json_put_number(w, key, x);
    else
        iso_json_put_string(w, key, text);
}

void iso_analysis_write_json(struct iso_json_out *w, const char *key, const struct iso_analysis *s)
{
    double interval[2];
    iso_analysis_phi_interval(interval, s);
    iso_json_begin(w, key, '{');
    if (!isnan(s->r))
        iso_json_put_number(w, "r", s->r);
    if (s->part)
        put_value(w, "value", s->part);
    put_law(w, &s->fit);
    if (isnan(interval[0])) {
        iso_json_put_null(w, "phi_interval");
        iso_json_put_null(w, "phi_interval_mc");
    } else {
        const struct iso_interval *v = &s->intervals.headline;
        iso_put_pair(w, "phi_interval", interval[0], interval[1]);
        iso_put_pair(w, "phi_interval_mc", v->mc_low, v->mc_high);
        iso_json_put_string(w, "interval", iso_interval_name(v->kind));
        iso_json_put_string(w, "interval_method", v->method);
        iso_json_put_number(w, "level", s->options.fit.level);
    }
    iso_checks_write_json(w, &s->checks);
    if (iso_analysis_undetermined(s))
        iso_json_put_string(w, "undetermined", iso_analysis_undetermined(s));
    iso_json_put_string(w, "injection", iso_injection_name(s->fit.injection));
    iso_json_put_bool(w, "embeddings", s->fit.embeddings);
    iso_json_put_number(w, "delta", s->fit.delta);
    put_diagnostics(w, &s->fit);
    if (s->has_restricted) {
        iso_json_begin(w, "restricted", '{');
        iso_fit_write_json(w, "phi_0", &s->phi_0);
        iso_fit_write_json(w, "phi_1", &s->phi_1);
        iso_json_end(w, '}');
    }
    if (s->has_intervals)
        put_intervals(w, s);
    if (s->has_robust)
        put_robust(w, &s->robust);
    if (s->laws.n)
        iso_law_scores_write_json(w, &s->laws);
    put_derived(w, s);
    if (s->has_intervals && s->intervals.n_bootstraps > 0)
        put_draws(w, &s->fit, &s->intervals.bootstrap[0]);
    put_range(w, s->runs);
    iso_runs_put_json(w, s->runs);
    iso_json_end(w, '}');
}
