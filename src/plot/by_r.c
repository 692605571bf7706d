/* A law for each r: see by_r.h. */
#include "plot/by_r.h"

#include <stdlib.h>

/* The parameters that Chinchilla's law shares with all others. */
static bool is_shared(const char *name)
{
    static const char *const names[] = {"a", "A", "alpha", "b", "B", "beta", "e", "E"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (iso_str_eq(names[i], name))
            return true;
    return false;
}

/* What was held at a value stays there. */
static struct iso_analysis_options options_of(const struct iso_analysis *all)
{
    struct iso_analysis_options o = all->options;
    o.fit.law = &iso_law_chinchilla;
    o.fit.n_fixed = 0;
    o.resamples = 0;
    for (size_t i = 0; i < all->options.fit.n_fixed; i++) {
        const struct iso_fixed *fixed = &all->options.fit.fixed[i];
        if (is_shared(fixed->name))
            iso_fit_fix(&o.fit, fixed->name, fixed->value);
    }
    return o;
}

static bool has_r(const struct iso_run *run, const void *r)
{
    return run->r == *(const double *)r;
}

static void fit_one(struct iso_of_r *out, const struct iso_analysis *all, double r)
{
    const struct iso_analysis_options options = options_of(all);
    struct iso_err err;
    out->r = r;
    iso_runs_filter(&out->runs, all->runs, has_r, &r);
    out->own = iso_analysis_run(&out->analysis, &out->runs, &options, &err) == ISO_OK;
    if (!out->own) {
        iso_analysis_release(&out->analysis);
        out->analysis = (struct iso_analysis){.runs = &out->runs, .options = all->options};
        out->analysis.fit = all->fit;
        iso_derived_run(&out->analysis.derived, &out->analysis.arena, &out->runs, &all->fit);
    }
    out->analysis.r = r;
    out->analysis.part = iso_arena_printf(&out->analysis.arena, "%g", r);
}

void iso_by_r_fit(struct iso_by_r *out, const struct iso_analysis *all)
{
    struct iso_arena arena = {0};
    double *r;
    *out = (struct iso_by_r){.all = all, .n = iso_runs_recurrences(&r, &arena, all->runs)};
    out->at = ISO_NEW_N(struct iso_of_r, out->n + 1);
    for (size_t i = 0; i < out->n; i++) {
        fit_one(&out->at[i], all, r[i]);
        out->n_own += out->at[i].own;
    }
    for (size_t i = 0; i < out->n; i++)
        iso_derived_gaps(&out->at[i].analysis.derived, &out->at[0].analysis.derived);
    iso_arena_release(&arena);
}

void iso_by_r_release(struct iso_by_r *by_r)
{
    for (size_t i = 0; i < by_r->n; i++) {
        iso_analysis_release(&by_r->at[i].analysis);
        iso_runs_release(&by_r->at[i].runs);
    }
    free(by_r->at);
    *by_r = (struct iso_by_r){0};
}

static void append_rows(struct iso_table *t, const struct iso_table *more)
{
    for (size_t i = more->n_col; i < more->n_cell; i++)
        iso_table_put(t, more->cell[i]);
}

void iso_by_r_table(struct iso_table *t, const struct iso_by_r *by_r,
                    const struct iso_analysis_table *row)
{
    for (size_t i = 0; i < by_r->n; i++) {
        struct iso_table one = {0};
        if (!by_r->at[i].own)
            continue;
        row->build(&one, &by_r->at[i].analysis);
        if (t->n_col == 0) {
            *t = one;
            continue;
        }
        append_rows(t, &one);
        iso_table_release(&one);
    }
}

void iso_by_r_write_json(struct iso_str *out, const struct iso_by_r *by_r)
{
    struct iso_json_out w = {out, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_begin(&w, "fits", '[');
    for (size_t i = 0; i < by_r->n; i++)
        iso_analysis_write_json(&w, NULL, &by_r->at[i].analysis);
    iso_json_end(&w, ']');
    iso_json_end(&w, '}');
    iso_str_putc(out, '\n');
}
