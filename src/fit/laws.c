/* Every law on the same runs: see laws.h.
 *
 * 2 (Huber sum) / scale is about chi-square, as in the profile, so with 2 for each parameter it is
 * Akaike's criterion for this loss (Ronchetti, 1985).  The scale is that of the law that fits
 * best: another law's misses are no noise. */
#include "fit/laws.h"

#include "fit/interval.h"

#include <math.h>
#include <stdlib.h>

enum { HELD_OUT_STARTS = 60 };

struct part {
    double budget, r; /* what is left out; NaN: not part of it */
};

static bool is_left_out(const struct iso_run *run, const void *ctx)
{
    const struct part *part = ctx;
    return run->budget == part->budget || run->r == part->r;
}

static bool is_kept(const struct iso_run *run, const void *ctx)
{
    return !is_left_out(run, ctx);
}

/* Adds the squared errors of the runs left out; false when the rest does not determine the law or
 * tells nothing about one of them. */
static bool predict(double *squares, size_t *n, const struct iso_runs *runs, struct part part,
                    const struct iso_fit_options *options)
{
    struct iso_runs rest, out;
    struct iso_fit fit;
    iso_runs_filter(&rest, runs, is_kept, &part);
    iso_runs_filter(&out, runs, is_left_out, &part);
    const bool fits = !(iso_law_param(options->law, "phi") && iso_runs_undetermined(&rest)) &&
                      iso_fit_run(&fit, &rest, options, NULL) == ISO_OK &&
                      iso_fit_covers(&fit, &out);
    for (size_t i = 0; fits && i < out.n; i++) {
        const double error = out.at[i].loss - iso_fit_loss(&fit, &out.at[i]);
        *squares += error * error;
        (*n)++;
    }
    iso_runs_release(&rest);
    iso_runs_release(&out);
    return fits;
}

static double error_top_budget(const struct iso_runs *runs, const struct iso_fit_options *options)
{
    struct part top = {.budget = 0, .r = NAN};
    double squares = 0;
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        top.budget = fmax(top.budget, runs->at[i].budget);
    return predict(&squares, &n, runs, top, options) ? sqrt(squares / (double)n) : NAN;
}

static double error_left_out_r(const struct iso_runs *runs, struct iso_arena *arena,
                               const struct iso_fit_options *options)
{
    double *r, squares = 0;
    size_t n = 0;
    const size_t n_r = iso_runs_recurrences(&r, arena, runs);
    for (size_t i = 0; i < n_r; i++)
        if (r[i] > 1 && !predict(&squares, &n, runs, (struct part){NAN, r[i]}, options))
            return NAN;
    return n ? sqrt(squares / (double)n) : NAN;
}

static void score(struct iso_law_score *out, struct iso_arena *arena, const struct iso_runs *runs,
                  const struct iso_fit_options *options)
{
    struct iso_err err;
    struct iso_fit_options held_out = *options;
    *out = (struct iso_law_score){
        .law = options->law, .aic = NAN, .error_top_budget = NAN, .error_left_out_r = NAN};
    if (iso_fit_run(&out->fit, runs, options, &err) != ISO_OK) {
        out->problem = iso_arena_strdup(arena, err.msg);
        return;
    }
    for (size_t p = 0; p < out->fit.n_param; p++)
        out->n_param += out->fit.lower[p] < out->fit.upper[p];
    if (held_out.starts > HELD_OUT_STARTS)
        held_out.starts = HELD_OUT_STARTS;
    out->error_top_budget = error_top_budget(runs, &held_out);
    out->error_left_out_r = error_left_out_r(runs, arena, &held_out);
}

static int by_aic(const void *va, const void *vb)
{
    const double a = ((const struct iso_law_score *)va)->aic;
    const double b = ((const struct iso_law_score *)vb)->aic;
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

void iso_law_scores_run(struct iso_law_scores *out, struct iso_arena *arena,
                        const struct iso_runs *runs, const struct iso_fit_options *options)
{
    const struct iso_law_score *best = NULL;
    *out = (struct iso_law_scores){0};
    for (size_t n = 0; iso_laws[n]; n++)
        out->n = n + 1;
    out->at = iso_arena_alloc(arena, out->n, sizeof *out->at);
    for (size_t i = 0; i < out->n; i++) {
        struct iso_fit_options own = *options;
        own.law = iso_laws[i];
        own.n_fixed = 0;
        for (size_t k = 0; k < options->n_fixed; k++) /* what the law has */
            if (!iso_law_param(options->law, options->fixed[k].name) ||
                iso_law_param(own.law, options->fixed[k].name))
                own.fixed[own.n_fixed++] = options->fixed[k];
        score(&out->at[i], arena, runs, &own);
        if (!out->at[i].problem && (!best || out->at[i].fit.huber_sum < best->fit.huber_sum))
            best = &out->at[i];
    }
    const double scale = best ? iso_fit_scale(&best->fit, runs) : NAN;
    for (size_t i = 0; i < out->n; i++)
        if (!out->at[i].problem)
            out->at[i].aic = 2 * out->at[i].fit.huber_sum / scale + 2 * (double)out->at[i].n_param;
    qsort(out->at, out->n, sizeof *out->at, by_aic);
}

void iso_law_scores_write_json(struct iso_json_out *w, const struct iso_law_scores *scores)
{
    iso_json_begin(w, "laws", '[');
    for (size_t i = 0; i < scores->n; i++) {
        const struct iso_law_score *s = &scores->at[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_string(w, "name", s->law->name);
        iso_json_put_count(w, "parameters", s->n_param);
        iso_json_put_number(w, "aic", s->aic);
        iso_json_put_number(w, "error_top_budget", s->error_top_budget);
        iso_json_put_number(w, "error_left_out_r", s->error_left_out_r);
        if (s->problem)
            iso_json_put_string(w, "problem", s->problem);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
}
