/* The tables of an analysis, for page, LaTeX and report: see analysis.h. */
#include "fit/analysis.h"

#include "fit/put.h"

#include <math.h>

static void put_count(struct iso_table *t, double x)
{
    char buf[32];
    iso_table_put(t, isnan(x) ? "-" : iso_format_count(buf, x));
}

static void put_law(struct iso_table *t, const char *name, const struct iso_fit *f)
{
    iso_table_put(t, name);
    iso_put_number(t, "%.3g", f->A);
    iso_put_number(t, "%.3f", f->alpha);
    iso_put_number(t, "%.4g", f->B);
    iso_put_number(t, "%.3f", f->beta);
    iso_put_number(t, "%.3f", f->E);
    iso_put_number(t, "%.3f", f->phi);
    iso_put_number(t, "%.4f", f->r2);
    iso_put_number(t, "%.3g", f->huber_sum * 1e5);
}

static void build_law(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "Fit|A|alpha|B|beta|E|phi|R2|Huber x1e5");
    char name[64];
    if (isnan(s->r))
        snprintf(name, sizeof name, "%s%s", s->fit.law->name,
                 s->has_restricted ? ", phi free" : "");
    else
        snprintf(name, sizeof name, "r = %g", s->r);
    put_law(t, name, &s->fit);
    if (s->has_restricted) {
        put_law(t, "phi = 0", &s->phi_0);
        put_law(t, "phi = 1", &s->phi_1);
    }
}

static void build_parameters(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "Parameter|value|+-|low|high");
    for (size_t p = 0; p < s->fit.n_param; p++) {
        const struct iso_bootstrap *b =
            s->has_intervals && s->intervals.n_bootstraps ? &s->intervals.bootstrap[0] : NULL;
        if (s->fit.lower[p] == s->fit.upper[p])
            continue; /* held fixed */
        if (isnan(s->r))
            iso_table_put(t, s->fit.name[p]);
        else
            iso_table_putf(t, "%s of r = %g", s->fit.name[p], s->r);
        iso_put_number(t, "%.4f", s->fit.param[p]);
        iso_put_number(t, "%.4f", s->fit.plus_minus[p]);
        iso_put_number(t, "%.4f", b ? b->param_low[p] : NAN);
        iso_put_number(t, "%.4f", b ? b->param_high[p] : NAN);
    }
}

static void build_checks(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "Check|level|value|threshold|found");
    for (size_t i = 0; i < s->checks.n; i++) {
        const struct iso_finding *found = &s->checks.at[i];
        if (isnan(s->r))
            iso_table_put(t, found->check->name);
        else
            iso_table_putf(t, "%s of r = %g", found->check->name, s->r);
        iso_table_put(t, iso_level_name(found->level));
        iso_put_number(t, "%.3g", found->value);
        iso_put_number(t, "%.3g", found->threshold);
        iso_table_put(t, found->message);
    }
}

static void put_interval(struct iso_table *t, const char *name, double low, double high,
                         const char *note)
{
    iso_table_put(t, name);
    iso_put_number(t, "%.3f", low);
    iso_put_number(t, "%.3f", high);
    iso_put_number(t, "%.3f", high - low);
    iso_table_put(t, note);
}

static void build_intervals(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "Interval of phi|low|high|width|note");
    if (!s->has_intervals || isnan(s->fit.phi))
        return;
    for (size_t i = 0; i < s->intervals.n_bootstraps; i++) {
        const struct iso_bootstrap *b = &s->intervals.bootstrap[i];
        char name[64], note[160];
        snprintf(name, sizeof name, "bootstrap over %ss", iso_block_name(b->block));
        snprintf(note, sizeof note,
                 "%zu blocks, %zu refits (ends +- %.4f, %.4f), %.0f %% at or below 0, %.0f %% at "
                 "or above 1%s",
                 b->n_blocks, b->n_resamples, b->mc_low, b->mc_high, 100 * b->below_0,
                 100 * b->above_1, b->at_bound ? ", some on the bound" : "");
        put_interval(t, name, b->low, b->high, note);
    }
    const struct iso_profile *p = &s->intervals.profile;
    if (p->n)
        put_interval(t, "profile", p->low, p->high,
                     isnan(p->low) || isnan(p->high) ? "open to the end of the box"
                                                     : "assumes independent errors");
}

static void build_jackknife(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "Left out: budget or cluster|r|runs left|phi|shift");
    for (size_t i = 0; s->has_intervals && i < s->intervals.jackknife.n; i++) {
        const struct iso_jackknife_row *row = &s->intervals.jackknife.row[i];
        if (row->cluster)
            iso_table_put(t, row->cluster);
        else
            iso_put_number(t, "%.3g", row->budget);
        iso_put_r(t, row->r, row->unshared);
        iso_table_putf(t, "%zu", row->n_runs);
        iso_put_number(t, "%.3f", row->phi);
        iso_put_number(t, "%+.3f", row->shift);
    }
}

static void build_robustness(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "Choice|variant|runs|alpha|beta|E|phi|R2");
    for (size_t i = 0; s->has_robust && i < s->robust.n; i++) {
        const struct iso_robust_row *row = &s->robust.row[i];
        const bool ok = !row->problem;
        iso_table_put(t, row->group);
        iso_table_put(t, row->name);
        iso_put_number(t, "%.0f", ok ? (double)row->fit.n_runs : NAN);
        iso_put_number(t, "%.3f", ok ? row->fit.alpha : NAN);
        iso_put_number(t, "%.3f", ok ? row->fit.beta : NAN);
        iso_put_number(t, "%.3f", ok ? row->fit.E : NAN);
        iso_put_number(t, "%.3f", ok ? row->phi : NAN);
        iso_put_number(t, "%.4f", ok ? row->fit.r2 : NAN);
    }
}

static void build_shape(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "r|phi of this r|+-|offset of ln L|+-");
    for (size_t i = 0; s->has_robust && i < s->robust.n_r; i++) {
        const struct iso_phi_of_r *phi = s->robust.phi_of_r;
        const struct iso_offset_of_r *offset = s->robust.offset_of_r;
        iso_put_number(t, "%g", phi ? phi[i].r : offset ? offset[i].r : NAN);
        iso_put_number(t, "%.3f", phi ? phi[i].phi : NAN);
        iso_put_number(t, "%.3f", phi ? phi[i].plus_minus : NAN);
        iso_put_number(t, "%+.4f", offset ? offset[i].offset : NAN);
        iso_put_number(t, "%.4f", offset ? offset[i].plus_minus : NAN);
    }
}

static void build_laws(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "Law|parameters|AIC|error at the top budget|error at an r left out");
    for (size_t i = 0; i < s->laws.n; i++) {
        const struct iso_law_score *row = &s->laws.at[i];
        iso_table_put(t, row->law->name);
        iso_table_putf(t, "%zu", row->n_param);
        iso_put_number(t, "%.1f", row->aic);
        iso_put_number(t, "%.4f", row->error_top_budget);
        iso_put_number(t, "%.4f", row->error_left_out_r);
    }
}

static void build_residuals(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "r|runs|mean residual|max residual|RMSE");
    for (size_t i = 0; i < s->derived.n_stats; i++) {
        const struct iso_residual_stats *row = &s->derived.stats[i];
        if (isnan(row->r))
            iso_table_put(t, "all");
        else
            iso_put_number(t, "%g", row->r);
        iso_table_putf(t, "%zu", row->n);
        iso_put_number(t, "%+.4f", row->mean);
        iso_put_number(t, "%.4f", row->max_abs);
        iso_put_number(t, "%.4f", row->rmse);
    }
}

static void build_optima(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "Budget|r|runs|N*|D*|L*|gap to r = 1|inside grid");
    for (size_t i = 0; i < s->derived.n_parabolas; i++) {
        const struct iso_parabola *p = &s->derived.parabola[i];
        iso_put_number(t, "%.3g", p->budget);
        iso_put_r(t, p->r, p->unshared);
        iso_table_putf(t, "%zu", p->n_runs);
        put_count(t, p->n_opt);
        put_count(t, p->d_opt);
        iso_put_number(t, "%.4f", p->loss_opt);
        iso_put_number(t, "%+.4f", p->gap);
        iso_table_put(t, !p->has_minimum ? "no minimum" : p->inside ? "yes" : "no");
    }
}

static void build_frontier(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "Budget|r|N*|D*|width*|L*|gap to r = 1");
    for (size_t i = 0; i < s->derived.n_frontier; i++) {
        const struct iso_frontier_point *p = &s->derived.frontier[i];
        iso_put_number(t, "%.3g", p->budget);
        iso_put_number(t, "%g", p->r);
        put_count(t, p->n_opt);
        put_count(t, p->d_opt);
        iso_put_number(t, "%.0f", p->d_model);
        iso_put_number(t, "%.4f", p->loss_opt);
        iso_put_number(t, "%+.4f", p->gap);
    }
}

static void build_exponents(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "r|N* ~ C^|D* ~ C^|law: gap to r = 1 from|to|optima: gap from|to");
    for (size_t i = 0; i < s->derived.n_exponents; i++) {
        const struct iso_frontier_exponent *e = &s->derived.exponent[i];
        iso_put_number(t, "%g", e->r);
        iso_put_number(t, "%.3f", e->n_exponent);
        iso_put_number(t, "%.3f", e->d_exponent);
        iso_put_number(t, "%+.4f", e->gap_min);
        iso_put_number(t, "%+.4f", e->gap_max);
        iso_put_number(t, "%+.4f", e->optimum_gap_min);
        iso_put_number(t, "%+.4f", e->optimum_gap_max);
    }
}

static void build_equivalents(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "r|one block is worth|of full equivalence|unique size|effective size");
    for (size_t i = 0; !iso_analysis_undetermined(s) && i < s->derived.n_equivalents; i++) {
        const struct iso_equivalent *e = &s->derived.equivalent[i];
        if (isnan(e->blocks))
            continue;
        iso_put_number(t, "%g", e->r);
        iso_put_number(t, "%.2f blocks", e->blocks);
        iso_put_number(t, "%.0f %%", 100 * e->recovered);
        iso_put_number(t, "%.1f %%", 100 * e->unique);
        iso_put_number(t, "%.1f %%", 100 * e->effective);
    }
}

static void build_left_out(struct iso_table *t, const struct iso_analysis *s)
{
    iso_table_init(t, "Left out|run|why");
    iso_left_out_put(t, s->runs);
}

const struct iso_analysis_table iso_analysis_tables[] = {
    {"law", "The fit", build_law, false},
    {"parameters",
     "Parameters (a = ln A, b = ln B, e = ln E) with the bootstrap over cells or clusters",
     build_parameters, false},
    {"intervals", "Intervals of phi", build_intervals, false},
    {"checks", "Checks: what would make the result wrong without showing in its interval",
     build_checks, false},
    {"robustness", "The same fit with one choice changed", build_robustness, false},
    {"shape", "One phi for each r, and an offset for each r", build_shape, false},
    {"laws", "Which law? The lowest AIC first; errors in nats of runs that were left out",
     build_laws, false},
    {"jackknife", "phi without a budget, an r, a cell", build_jackknife, true},
    {"residuals", "Residuals in nats, actual - predicted", build_residuals, false},
    {"equivalents", "What the recurrences are worth; sizes relative to r = 1 of the same width",
     build_equivalents, false},
    {"exponents", "Compute-optimal frontier", build_exponents, false},
    {"frontier", "Compute-optimal points of the fitted law", build_frontier, true},
    {"optima", "Empirical optima: parabolas in ln N through each (budget, r) cell", build_optima,
     true},
    {"left_out", "Runs that were left out", build_left_out, false},
    {0},
};
