/* Robustness: see robust.h. */
#include "fit/robust.h"

#include <math.h>

struct context {
    struct iso_robust *out;
    struct iso_arena *arena;
    const struct iso_runs *runs;
    const struct iso_fit_options *options;
    size_t room;
};

static struct iso_robust_row *add(struct context *c, const char *group, const char *name,
                                  const struct iso_runs *runs,
                                  const struct iso_fit_options *options)
{
    struct iso_err err;
    struct iso_robust_row *row = &c->out->row[c->out->n++];
    *row = (struct iso_robust_row){
        .group = group, .name = name, .most = NAN, .least = NAN, .phi = NAN};
    row->problem = iso_runs_undetermined(runs);
    if (row->problem)
        return row;
    if (iso_fit_run(&row->fit, runs, options, &err) == ISO_OK)
        row->phi = row->fit.phi;
    else
        row->problem = iso_arena_strdup(c->arena, err.msg);
    return row;
}

struct range {
    double low, high;
};

static bool in_range(const struct iso_run *run, const void *ctx)
{
    const struct range *range = ctx;
    return run->budget >= range->low && run->budget <= range->high;
}

static struct iso_robust_row *add_part(struct context *c, const char *name,
                                       const struct range *range)
{
    struct iso_runs part;
    iso_runs_filter(&part, c->runs, in_range, range);
    struct iso_robust_row *row = add(c, "budgets", name, &part, c->options);
    iso_runs_release(&part);
    return row;
}

static void add_halves(struct context *c, const double *budget, size_t n)
{
    const size_t half = (n + 1) / 2; /* with an odd number the middle one goes to the low half */
    const struct range low = {budget[0], budget[half - 1]}, high = {budget[half], budget[n - 1]};
    add_part(c, iso_arena_printf(c->arena, "low half, C <= %g", low.high), &low)->most = low.high;
    add_part(c, iso_arena_printf(c->arena, "high half, C >= %g", high.low), &high)->least =
        high.low;
}

static void add_conventions(struct context *c)
{
    bool injected = false, embedded = true;
    for (size_t i = 0; i < c->runs->n; i++) {
        injected |= c->runs->at[i].n_inject > 0;
        embedded &= !isnan(c->runs->at[i].n_embed);
    }
    for (int i = 0; injected && i < 3; i++) {
        struct iso_fit_options options = *c->options;
        options.injection = (enum iso_injection)i;
        add(c, "injection", iso_injection_name(options.injection), c->runs, &options);
    }
    for (int with = 0; embedded && with < 2; with++) {
        struct iso_fit_options options = *c->options;
        options.embeddings = with;
        add(c, "embeddings", with ? "counted" : "left out", c->runs, &options);
    }
}

static void add_deltas(struct context *c)
{
    static const double deltas[] = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2};
    for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++) {
        struct iso_fit_options options = *c->options;
        options.delta = deltas[i];
        add(c, "delta", iso_arena_printf(c->arena, "%g", deltas[i]), c->runs, &options);
    }
}

static size_t param_of(const struct iso_fit *fit, const char *name, double r)
{
    return iso_param_find(fit->use, fit->n_param, iso_law_param(fit->law, name), r, 0);
}

/* The relaxed laws: a phi or an offset for each r. */
static void relax(struct context *c)
{
    struct iso_robust *out = c->out;
    struct iso_fit_options options = *c->options;
    struct iso_fit per_r, offset;
    out->offset_phi = out->offset_phi_error = out->offset_phi_plus_minus = NAN;
    options.law = &iso_law_phi_per_r;
    const bool has_phi = iso_fit_run(&per_r, c->runs, &options, NULL) == ISO_OK;
    options.law = &iso_law_offset_per_r;
    const bool has_offset = iso_fit_run(&offset, c->runs, &options, NULL) == ISO_OK;
    double *r;
    const size_t n = iso_runs_recurrences(&r, c->arena, c->runs);
    if (has_phi)
        out->phi_of_r = iso_arena_alloc(c->arena, n + 1, sizeof *out->phi_of_r);
    if (has_offset) {
        out->offset_of_r = iso_arena_alloc(c->arena, n + 1, sizeof *out->offset_of_r);
        out->offset_phi = offset.phi;
        out->offset_phi_error = offset.std_error[offset.phi_param];
        out->offset_phi_plus_minus = offset.plus_minus[offset.phi_param];
    }
    for (size_t i = 0; i < n; i++) {
        if (r[i] <= 1)
            continue;
        const size_t k = out->n_r++;
        if (has_phi) {
            const size_t p = param_of(&per_r, "phi", r[i]);
            out->phi_of_r[k] = (struct iso_phi_of_r){r[i], per_r.param[p], per_r.std_error[p],
                                                     per_r.plus_minus[p]};
        }
        if (has_offset) {
            const size_t p = param_of(&offset, "offset", r[i]);
            out->offset_of_r[k] = (struct iso_offset_of_r){
                r[i], offset.param[p], offset.std_error[p], offset.plus_minus[p]};
        }
    }
}

static void hold_out(struct context *c, const struct iso_fit *best, const double *budget, size_t n)
{
    struct iso_holdout *h = &c->out->holdout;
    const struct range rest = {budget[0], budget[n - 2]}, last = {budget[n - 1], budget[n - 1]};
    struct iso_runs train, test;
    struct iso_fit fit;
    iso_runs_filter(&train, c->runs, in_range, &rest);
    iso_runs_filter(&test, c->runs, in_range, &last);
    if (iso_fit_run(&fit, &train, c->options, NULL) == ISO_OK && iso_fit_covers(&fit, &test)) {
        *h = (struct iso_holdout){.budget = last.low, .n_train = train.n, .n_test = test.n};
        h->phi = fit.phi;
        for (size_t i = 0; i < test.n; i++) {
            const double error = test.at[i].loss - iso_fit_loss(&fit, &test.at[i]);
            const double inside = test.at[i].loss - iso_fit_loss(best, &test.at[i]);
            h->mean += error / (double)test.n;
            h->rmse += error * error / (double)test.n;
            h->rmse_in_sample += inside * inside / (double)test.n;
            h->max_abs = fmax(h->max_abs, fabs(error));
        }
        h->rmse = sqrt(h->rmse);
        h->rmse_in_sample = sqrt(h->rmse_in_sample);
    }
    iso_runs_release(&train);
    iso_runs_release(&test);
}

void iso_robust_run(struct iso_robust *out, struct iso_arena *arena, const struct iso_runs *runs,
                    const struct iso_fit *best, const struct iso_fit_options *options)
{
    *out = (struct iso_robust){
        .offset_phi = NAN, .offset_phi_error = NAN, .offset_phi_plus_minus = NAN};
    out->holdout.budget = NAN;
    struct context c = {out, arena, runs, options, 16};
    out->row = iso_arena_alloc(arena, c.room, sizeof *out->row);
    double *budget;
    const size_t n_budgets = iso_runs_budgets(&budget, arena, runs);
    if (n_budgets >= 2)
        add_halves(&c, budget, n_budgets);
    add_conventions(&c);
    add_deltas(&c);
    if (best->law == &iso_law_joint)
        relax(&c);
    if (n_budgets >= 3)
        hold_out(&c, best, budget, n_budgets);
    ISO_ASSERT(out->n <= c.room);
}
