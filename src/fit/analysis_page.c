/* The readable page of an analysis: see analysis.h. */
#include "fit/analysis.h"

#include <math.h>

static void heading(struct iso_str *out, const char *text, bool colour)
{
    iso_str_printf(out, colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

/* Where the interval of the headline comes from. */
static void write_source(struct iso_str *out, const struct iso_analysis *s)
{
    const struct iso_interval *v = &s->intervals.headline;
    if (v->kind == ISO_INTERVAL_PROFILE) {
        iso_str_puts(out, "   (profile)");
        return;
    }
    const struct iso_bootstrap *b = iso_intervals_bootstrap(&s->intervals, v->kind);
    iso_str_printf(
        out, "   (%s over %zu %s, %zu refits; another seed moves its ends by %.1g)",
        iso_str_eq(v->method, "bca") ? "heavy-tailed, so bias-corrected bootstrap" : "bootstrap",
        b->n_blocks, iso_interval_name(v->kind), b->n_resamples, fmax(v->mc_low, v->mc_high));
}

static void write_result(struct iso_str *out, const struct iso_analysis *s, bool colour)
{
    double interval[2];
    iso_analysis_phi_interval(interval, s);
    iso_analysis_write_headline(out, s, colour);
    if (!isnan(interval[0]))
        write_source(out, s);
    iso_str_putc(out, '\n');
    iso_analysis_write_verdict(out, s);
    iso_str_putc(out, '\n');
    iso_checks_write_text(out, &s->checks, colour);
}

static void write_summary(struct iso_str *out, const struct iso_analysis *s)
{
    const struct iso_fit *f = &s->fit;
    struct iso_arena arena = {0};
    double *budget, *r;
    const size_t n_budgets = iso_runs_budgets(&budget, &arena, s->runs);
    const size_t n_r = iso_runs_recurrences(&r, &arena, s->runs);
    iso_str_printf(out, "\n%zu runs", s->runs->n);
    if (n_budgets == 1)
        iso_str_printf(out, ", one budget of %.3g FLOPs", budget[0]);
    else if (n_budgets < s->runs->n)
        iso_str_printf(out, ", %zu budgets from %.3g to %.3g FLOPs", n_budgets, budget[0],
                       budget[n_budgets - 1]);
    iso_str_puts(out, ", r =");
    for (size_t i = 0; i < n_r; i++)
        iso_str_printf(out, " %g", r[i]);
    if (s->runs->n_left_out)
        iso_str_printf(out, "; %zu %s left out (listed below)", s->runs->n_left_out,
                       s->runs->n_left_out == 1 ? "row was" : "rows were");
    iso_str_puts(out, ".\n");
    iso_runs_describe(out, s->runs);
    iso_str_printf(out, "Law %s: %s\n", f->law->name, f->law->formula);
    iso_str_printf(out, "Injection parameters counted: %s; embeddings %s; Huber delta %g.\n",
                   iso_injection_name(f->injection), f->embeddings ? "counted" : "left out",
                   f->delta);
    iso_arena_release(&arena);
}

static void write_diagnostics(struct iso_str *out, const struct iso_analysis *s, bool colour)
{
    const struct iso_fit *f = &s->fit;
    heading(out, "Did the fit converge?", colour);
    iso_str_printf(out,
                   "%d of %d starts reached the best minimum; %zu other minima within 1 %%; "
                   "gradient %.1e; condition %.1e.\n",
                   f->starts_best, f->starts, f->n_rivals, f->gradient_norm, f->condition);
    for (size_t i = 0; i < f->n_rivals; i++)
        iso_str_printf(out, "  rival: Huber sum %.6e, phi %.3f, %d starts\n", f->rival[i].huber_sum,
                       f->rival[i].phi, f->rival[i].starts);
}

static void write_plus_minus(struct iso_str *out, const struct iso_analysis *s)
{
    const char *units = s->runs->clustered ? "clusters" : "cells";
    if (s->fit.df >= ISO_LEAST_FREEDOM)
        iso_str_printf(out,
                       "+- is half of a %g %% interval: Student's t with %g degrees of freedom "
                       "(%s less parameters) times an error that allows for noise that %s "
                       "share.\n",
                       100 * s->options.fit.level, s->fit.df, units, units);
}

/* phi without each budget, and without each r; single cells are in the long table. */
static void write_jackknife(struct iso_str *out, const struct iso_jackknife *j)
{
    for (int by_r = 0; by_r < 2; by_r++) {
        const char *problem = NULL;
        iso_str_printf(out, "phi without %s:", by_r ? "one r" : "one budget");
        for (size_t i = 0; i < j->n; i++) {
            const struct iso_jackknife_row *row = &j->row[i];
            if (row->cluster || !isnan(by_r ? row->budget : row->r))
                continue;
            if (row->problem)
                iso_str_puts(out, " -");
            else
                iso_str_printf(out, " %.3f", row->phi);
            iso_str_printf(out, " (%.3g)", by_r ? row->r : row->budget);
            problem = row->problem ? row->problem : problem;
        }
        iso_str_printf(out, problem ? " (-: %s).\n" : ".\n", problem);
    }
}

static void write_trust(struct iso_str *out, const struct iso_analysis *s)
{
    const struct iso_intervals *v = &s->intervals;
    if (s->has_intervals && v->widest)
        iso_str_printf(out, "Widest: %s, [%.3f, %.3f].\n", v->widest, v->widest_low,
                       v->widest_high);
    if (s->has_intervals && v->jackknife.n)
        write_jackknife(out, &v->jackknife);
    if (s->has_intervals && v->pure.n_points)
        iso_str_printf(out, "Repeated seeds at %zu points: noise %.2e in ln L.\n", v->pure.n_points,
                       v->pure.sd);
}

static void write_holdout(struct iso_str *out, const struct iso_analysis *s)
{
    const struct iso_robust *b = &s->robust;
    if (!s->has_robust)
        return;
    if (!isnan(b->offset_phi))
        iso_str_printf(out,
                       isnan(b->offset_phi_plus_minus)
                           ? "With a free offset for each r, phi would be %.3f.\n"
                           : "With a free offset for each r, phi would be %.3f +- %.3f.\n",
                       b->offset_phi, b->offset_phi_plus_minus);
    if (!isnan(b->holdout.budget))
        iso_str_printf(out,
                       "Predicting the largest budget (%.3g, %zu runs) from the others: RMSE %.4f "
                       "nats, mean error %+.4f, worst %.4f (in the full fit RMSE %.4f).\n",
                       b->holdout.budget, b->holdout.n_test, b->holdout.rmse, b->holdout.mean,
                       b->holdout.max_abs, b->holdout.rmse_in_sample);
}

void iso_analysis_write_page(struct iso_str *out, const struct iso_analysis *s, bool colour)
{
    write_result(out, s, colour);
    write_summary(out, s);
    for (const struct iso_analysis_table *row = iso_analysis_tables; row->name; row++) {
        struct iso_table t;
        row->build(&t, s);
        if (t.n_cell > t.n_col && !row->long_one) {
            heading(out, row->title, colour);
            iso_table_write(out, &t, ISO_TABLE_TEXT, colour);
        }
        iso_table_release(&t);
        if (iso_str_eq(row->name, "parameters")) {
            write_plus_minus(out, s);
            write_diagnostics(out, s, colour);
        }
        if (iso_str_eq(row->name, "intervals"))
            write_trust(out, s);
        if (iso_str_eq(row->name, "shape"))
            write_holdout(out, s);
    }
}
