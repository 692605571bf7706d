/* The tables of a paper as LaTeX (booktabs): see paper.h.  One precision per column. */
#include "plot/paper.h"

#include "base/latex.h"
#include "fit/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- LaTeX ------------------------------------------------------------------------------------ */

/* A cell with a number in mathematics, or a dash. */
static void put_number(struct iso_str *out, const char *format, double x)
{
    iso_str_puts(out, " & ");
    if (!isfinite(x)) {
        iso_str_puts(out, "--");
        return;
    }
    char text[64];
    snprintf(text, sizeof text, format, x);
    if (text[0] == '-' && !strpbrk(text, "123456789")) /* rounded to nothing */
        snprintf(text, sizeof text, format, 0.0);
    iso_str_printf(out, "$%s$", text);
}

/* Two significant digits without an exponent: 58, 150, 1300. */
static void put_amplitude(struct iso_str *out, double x)
{
    const double unit = x > 0 ? pow(10, floor(log10(x)) - 1) : 1;
    put_number(out, unit < 1 ? "%.1f" : "%.0f", round(x / unit) * unit);
}

static void put_power(struct iso_str *out, double x)
{
    const int exponent = (int)floor(log10(x) + 1e-9);
    const double mantissa = round(x / pow(10, exponent) * 100) / 100;
    if (mantissa == 1)
        iso_str_printf(out, " & $10^{%d}$", exponent);
    else
        iso_str_printf(out, " & $%.2f \\times 10^{%d}$", mantissa, exponent);
}

static void begin(struct iso_str *out, const char *columns, const char *head)
{
    iso_str_printf(out, "\\begin{tabular}{@{}%s@{}}\n\\toprule\n%s \\\\\n\\midrule\n", columns,
                   head);
}

static void end_row(struct iso_str *out)
{
    iso_str_puts(out, " \\\\\n");
}

static void end(struct iso_str *out)
{
    iso_str_puts(out, "\\bottomrule\n\\end{tabular}\n");
}

/* --- laws ------------------------------------------------------------------------------------- */

static void build_fit_params(struct iso_str *out, const struct iso_paper *p)
{
    if (p->by_r->n_own == 0)
        return;
    begin(out, "lrrrrrrr",
          "Arch. & $A$ & $\\alpha$ & $B$ & $\\beta$ & $E$ & Huber\\,$(\\times 10^{-5})$ & $R^2$");
    for (size_t i = 0; i < p->by_r->n; i++) {
        const struct iso_fit *f = &p->by_r->at[i].analysis.fit;
        if (!p->by_r->at[i].own)
            continue;
        iso_str_printf(out, "$r = %g$", p->by_r->at[i].r);
        put_amplitude(out, f->A);
        put_number(out, "%.3f", f->alpha);
        put_amplitude(out, f->B);
        put_number(out, "%.3f", f->beta);
        put_number(out, "%.2f", f->E);
        put_number(out, "%.2f", 1e5 * f->huber_sum);
        put_number(out, "%.4f", f->r2);
        end_row(out);
    }
    end(out);
}

static void put_shared(struct iso_str *out, const struct iso_fit *f)
{
    put_number(out, "%.3f", f->alpha);
    put_number(out, "%.3f", f->beta);
    put_number(out, "%.2f", f->E);
}

static void put_restricted(struct iso_str *out, const char *name, const struct iso_fit *f)
{
    iso_str_puts(out, name);
    put_shared(out, f);
    put_number(out, "%.3f", f->phi);
    put_number(out, "%.4f", f->r2);
    end_row(out);
}

static void build_joint(struct iso_str *out, const struct iso_paper *p)
{
    const struct iso_analysis *s = p->analysis;
    double interval[2];
    if (!s->has_restricted)
        return;
    iso_analysis_phi_interval(interval, s);
    begin(out, "lccccc", "Form & $\\alpha$ & $\\beta$ & $E$ & $\\varphi$ & $R^2$");
    iso_str_puts(out, "Joint, $\\varphi$ free");
    put_shared(out, &s->fit);
    if (isfinite(interval[0]))
        iso_str_printf(out, " & $%.3f$ {\\scriptsize$[%.2f, %.2f]$}", s->fit.phi, interval[0],
                       interval[1]);
    else
        put_number(out, "%.3f", s->fit.phi);
    put_number(out, "%.4f", s->fit.r2);
    end_row(out);
    put_restricted(out, "Restricted ($\\varphi = 0$, pure cost of sharing)", &s->phi_0);
    put_restricted(out, "Restricted ($\\varphi = 1$, as good as unique blocks)", &s->phi_1);
    end(out);
}

static void build_residuals(struct iso_str *out, const struct iso_paper *p)
{
    const struct iso_derived *d = &p->analysis->derived;
    begin(out, "lrrrr", "Architecture & $n$ & mean & max $|\\text{residual}|$ & RMSE");
    for (size_t i = 0; i < d->n_stats; i++) {
        const struct iso_residual_stats *s = &d->stats[i];
        if (isnan(s->r))
            iso_str_puts(out, "All");
        else
            iso_str_printf(out, "$r = %g$", s->r);
        put_number(out, "%.0f", (double)s->n);
        put_number(out, "%+.3f", s->mean);
        put_number(out, "%.3f", s->max_abs);
        put_number(out, "%.3f", s->rmse);
        end_row(out);
    }
    end(out);
}

/* --- recipes ---------------------------------------------------------------------------------- */

static bool other_r(const struct iso_run *run, const void *r)
{
    return run->r != *(const double *)r;
}

static void put_recipe(struct iso_str *out, const char *name, double without,
                       const struct iso_fit *f)
{
    iso_latex_put(out, name);
    if (isfinite(without))
        iso_str_printf(out, " (without $r = %g$)", without);
    put_shared(out, f);
    put_number(out, "%.3f", f->phi);
    put_number(out, "%.4f", f->r2);
    end_row(out);
}

/* The same recipe without its smallest looped r, where two others remain. */
static void put_without_smallest(struct iso_str *out, const struct iso_paper *p,
                                 const struct iso_recipe *recipe)
{
    struct iso_arena arena = {0};
    struct iso_runs rest = {0};
    struct iso_fit_options o = p->analysis->options.fit;
    struct iso_fit fit;
    struct iso_err err;
    double *r;
    const size_t n = iso_runs_recurrences(&r, &arena, recipe->runs), first = n > 0 && r[0] == 1;
    o.law = &iso_law_joint;
    o.n_fixed = 0;
    if (n >= first + 3) {
        iso_runs_filter(&rest, recipe->runs, other_r, &r[first]);
        if (iso_fit_run(&fit, &rest, &o, &err) == ISO_OK)
            put_recipe(out, recipe->name, r[first], &fit);
    }
    iso_runs_release(&rest);
    iso_arena_release(&arena);
}

static void build_probe_fits(struct iso_str *out, const struct iso_paper *p)
{
    if (!p->compare)
        return;
    begin(out, "lccccc", "Variant & $\\alpha$ & $\\beta$ & $E$ & $\\varphi$ & $R^2$");
    put_recipe(out, p->compare->base.name, NAN, &p->compare->base.fit);
    for (size_t i = 0; i < p->compare->n; i++) {
        const struct iso_recipe *own = &p->compare->variant[i].own;
        put_recipe(out, own->name, NAN, &own->fit);
        put_without_smallest(out, p, own);
    }
    end(out);
}

static bool same_cell(const struct iso_run *a, const struct iso_run *b)
{
    return a->budget == b->budget && a->r == b->r && a->d_model == b->d_model;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The tokens of a variant over those of the base at the same budget, looped r and width. */
static double token_ratio(size_t *n, const struct iso_runs *base, const struct iso_runs *variant)
{
    double *ratio = ISO_NEW_N(double, base->n * variant->n + 1);
    *n = 0;
    for (size_t i = 0; i < base->n; i++)
        for (size_t k = 0; k < variant->n; k++)
            if (base->at[i].r > 1 && same_cell(&base->at[i], &variant->at[k]))
                ratio[(*n)++] = variant->at[k].tokens / base->at[i].tokens;
    qsort(ratio, *n, sizeof *ratio, by_value);
    const double median = *n == 0 ? NAN : (ratio[(*n - 1) / 2] + ratio[*n / 2]) / 2;
    free(ratio);
    return median;
}

static void build_token_ratio(struct iso_str *out, const struct iso_paper *p)
{
    if (!p->compare)
        return;
    begin(out, "lrr", "Variant & cells & median $D / D_\\text{base}$");
    for (size_t i = 0; i < p->compare->n; i++) {
        const struct iso_recipe *own = &p->compare->variant[i].own;
        size_t n;
        const double ratio = token_ratio(&n, p->compare->base.runs, own->runs);
        iso_latex_put(out, own->name);
        put_number(out, "%.0f", (double)n);
        put_number(out, "%.3f", ratio);
        end_row(out);
    }
    end(out);
}

/* --- frontier --------------------------------------------------------------------------------- */

static double gap_at(const struct iso_derived *d, double budget)
{
    for (size_t i = 0; i < d->n_parabolas; i++)
        if (d->parabola[i].budget == budget && d->parabola[i].has_minimum)
            return d->parabola[i].gap;
    return NAN;
}

static void build_gaps(struct iso_str *out, const struct iso_paper *p)
{
    struct iso_arena arena = {0};
    double *budget;
    const size_t n = iso_runs_budgets(&budget, &arena, p->analysis->runs);
    if (n >= 2 && p->by_r->n >= 2 && p->by_r->at[0].r == 1) {
        iso_str_puts(out, "\\begin{tabular}{@{}lrrr@{}}\n\\toprule\nArch.");
        put_power(out, budget[n - 2]);
        put_power(out, budget[n - 1]);
        iso_str_puts(out, " & change \\\\\n\\midrule\n");
        for (size_t i = 1; i < p->by_r->n; i++) {
            const struct iso_derived *d = &p->by_r->at[i].analysis.derived;
            const double a = gap_at(d, budget[n - 2]), b = gap_at(d, budget[n - 1]);
            iso_str_printf(out, "$r = %g$", p->by_r->at[i].r);
            put_number(out, "%.4f", a);
            put_number(out, "%.4f", b);
            put_number(out, "%+.4f", b - a);
            end_row(out);
        }
        end(out);
    }
    iso_arena_release(&arena);
}

static void build_equivalence(struct iso_str *out, const struct iso_paper *p)
{
    const struct iso_derived *d = &p->analysis->derived;
    if (iso_analysis_undetermined(p->analysis) || d->n_equivalents < 2 ||
        !isfinite(d->equivalent[0].unique) || !isfinite(d->equivalent[1].blocks))
        return;
    begin(out, "lrrrr", "Arch. & blocks & of full equivalence & unique & effective");
    for (size_t i = 0; i < d->n_equivalents; i++) {
        const struct iso_equivalent *e = &d->equivalent[i];
        iso_str_printf(out, "$r = %g$", e->r);
        put_number(out, "%.2f", e->blocks);
        put_number(out, "%.0f\\,\\%%", 100 * e->recovered);
        put_number(out, "%.0f\\,\\text{M}", 1000 * e->unique);
        put_number(out, "%.0f\\,\\text{M}", 1000 * e->effective);
        end_row(out);
    }
    end(out);
}

/* --- tasks ------------------------------------------------------------------------------------ */

/* Losses of the smallest r at the run of lowest validation loss of each budget. */
static void put_task_range(struct iso_str *out, const struct iso_evals *e, size_t task)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < e->keys.n_budget; i++) {
        const struct iso_evals_model *m = iso_evals_best(e, e->keys.budget[i], e->keys.r[0]);
        if (m && isfinite(m->loss[task])) {
            low = fmin(low, m->loss[task]);
            high = fmax(high, m->loss[task]);
        }
    }
    if (low <= high)
        iso_str_printf(out, " & $%.3f$--$%.3f$", low, high);
    else
        iso_str_puts(out, " & --");
}

static void put_task(struct iso_str *out, const struct iso_evals *e, size_t task, double budget)
{
    double best = INFINITY;
    for (size_t i = 0; i < e->keys.n_r; i++) {
        const struct iso_evals_model *m = iso_evals_best(e, budget, e->keys.r[i]);
        best = m ? fmin(best, m->loss[task]) : best;
    }
    iso_str_puts(out, " & ");
    iso_latex_put(out, e->task[task]);
    for (size_t i = 0; i < e->keys.n_r; i++) {
        const struct iso_evals_model *m = iso_evals_best(e, budget, e->keys.r[i]);
        const double loss = m ? m->loss[task] : NAN;
        put_number(out, loss == best ? "\\mathbf{%.3f}" : "%.3f", loss);
    }
    put_task_range(out, e, task);
    end_row(out);
}

static void build_tasks(struct iso_str *out, const struct iso_paper *p)
{
    const struct iso_evals *e = p->evals;
    if (!e || e->keys.n_budget == 0)
        return;
    iso_str_puts(out, "\\begin{tabular}{@{}ll");
    for (size_t i = 0; i < e->keys.n_r; i++)
        iso_str_putc(out, 'r');
    iso_str_puts(out, "c@{}}\n\\toprule\nAxis & Task");
    for (size_t i = 0; i < e->keys.n_r; i++)
        iso_str_printf(out, " & $r = %g$", e->keys.r[i]);
    iso_str_printf(out, " & $r = %g$ over $C$ \\\\\n\\midrule\n", e->keys.r[0]);
    for (size_t a = 0; a < e->n_axis; a++) {
        const char *name = e->axis[a]; /* once for all its tasks */
        iso_str_puts(out, a ? "\\midrule\n" : "");
        for (size_t i = 0; i < e->n_task; i++) {
            if (e->axis_of[i] != a)
                continue;
            iso_latex_put(out, name);
            put_task(out, e, i, e->keys.budget[e->keys.n_budget - 1]);
            name = "";
        }
    }
    end(out);
}

/* --- beyond the grid -------------------------------------------------------------------------- */

/* The run without loops that a looped one is compared with: of its width, where there is one. */
static const struct iso_run *plain_run(const struct iso_runs *runs, double d_model)
{
    const struct iso_run *plain = NULL;
    for (size_t i = 0; i < runs->n; i++)
        if (runs->at[i].r == 1 && (!plain || runs->at[i].d_model == d_model))
            plain = &runs->at[i];
    return plain;
}

/* Its scores at its trained depth, found by its loss; NULL without. */
static const struct iso_evals_model *scores_of(const struct iso_evals *e, const struct iso_run *run)
{
    for (size_t i = 0; i < e->n_model; i++) {
        const struct iso_evals_model *m = &e->model[i];
        if (m->r == run->r && m->recur == m->trained && fabs(m->val_loss - run->loss) < 1e-6)
            return m;
    }
    return NULL;
}

static void put_losses(struct iso_str *out, const char *what, double plain, double looped)
{
    iso_latex_put(out, what);
    iso_str_puts(out, " (nats)");
    put_number(out, "%.3f", plain);
    put_number(out, "%.3f", looped);
    put_number(out, "%+.3f", looped - plain);
    end_row(out);
}

static void put_axes(struct iso_str *out, const struct iso_evals *e, const struct iso_run *plain,
                     const struct iso_run *looped)
{
    const struct iso_evals_model *a = scores_of(e, plain), *b = scores_of(e, looped);
    if (!a || !b)
        return;
    iso_str_puts(out, "\\midrule\n");
    for (size_t i = 0; i < e->n_axis; i++)
        put_losses(out, e->axis[i], iso_evals_loss(e, a, i), iso_evals_loss(e, b, i));
    if (e->n_axis > 1)
        put_losses(out, "Mean of the axes", iso_evals_loss(e, a, e->n_axis),
                   iso_evals_loss(e, b, e->n_axis));
}

static void put_counts(struct iso_str *out, const char *what, double plain, double looped)
{
    char a[32], b[32];
    iso_str_printf(out, "%s & %s & %s &", what, iso_format_count(a, plain),
                   iso_format_count(b, looped));
    end_row(out);
}

/* A part of the table for each looped run. */
static void build_extrapolation(struct iso_str *out, const struct iso_paper *p)
{
    const struct iso_runs *runs = p->beyond;
    for (size_t i = 0; runs && i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i], *plain = plain_run(runs, run->d_model);
        if (run->r == 1 || !plain)
            continue;
        iso_str_puts(out, out->len ? "\\midrule\n" : "\\begin{tabular}{@{}lrrr@{}}\n\\toprule\n");
        iso_str_printf(out, " & $r = 1$ & $r = %g$ & Gap \\\\\n\\midrule\n", run->r);
        put_counts(out, "Unique parameters", iso_run_params(plain), iso_run_params(run));
        put_counts(out, "Training tokens", plain->tokens, run->tokens);
        put_losses(out, "Validation loss", plain->loss, run->loss);
        put_losses(out, "Predicted by the law", iso_fit_loss(&p->analysis->fit, plain),
                   iso_fit_loss(&p->analysis->fit, run));
        put_axes(out, p->beyond_evals, plain, run);
    }
    if (out->len)
        end(out);
}

/* --- the grid --------------------------------------------------------------------------------- */

/* A run of this width and r, and of this budget unless it is NaN. */
static const struct iso_run *find_run(const struct iso_runs *runs, double width, double r,
                                      double budget)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        if (run->d_model == width && run->r == r && (isnan(budget) || run->budget == budget))
            return run;
    }
    return NULL;
}

static size_t list_widths(double **out, struct iso_arena *arena, const struct iso_runs *runs)
{
    size_t n = 0;
    *out = ISO_ARENA_NEW_N(arena, double, runs->n + 1);
    for (size_t i = 0; i < runs->n; i++)
        if (isfinite(runs->at[i].d_model))
            iso_insert_double(*out, &n, runs->at[i].d_model);
    return n;
}

static void build_grid(struct iso_str *out, const struct iso_paper *p)
{
    const struct iso_runs *runs = p->analysis->runs;
    struct iso_arena arena = {0};
    double *width, *r, *budget;
    const size_t n = list_widths(&width, &arena, runs),
                 n_r = iso_runs_recurrences(&r, &arena, runs),
                 n_budget = iso_runs_budgets(&budget, &arena, runs);
    if (n == 0) {
        iso_arena_release(&arena);
        return;
    }
    iso_str_printf(
        out,
        "\\setlength{\\tabcolsep}{4pt}\\begin{tabular}{@{}r*{%zu}{r}*{%zu}{r}@{}}\n\\toprule\n"
        " & \\multicolumn{%zu}{c}{$N$ (M)} & \\multicolumn{%zu}{c}{$D$ (B) at $r = %g$} \\\\\n"
        "\\cmidrule(lr){2-%zu}\\cmidrule(l){%zu-%zu}\n$d$",
        n_r, n_budget, n_r, n_budget, r[0], n_r + 1, n_r + 2, n_r + n_budget + 1);
    for (size_t i = 0; i < n_r; i++)
        iso_str_printf(out, " & $r = %g$", r[i]);
    for (size_t i = 0; i < n_budget; i++)
        put_power(out, budget[i]);
    iso_str_puts(out, " \\\\\n\\midrule\n");
    for (size_t w = 0; w < n; w++) {
        iso_str_printf(out, "$%g$", width[w]);
        for (size_t i = 0; i < n_r; i++) {
            const struct iso_run *run = find_run(runs, width[w], r[i], NAN);
            put_number(out, "%.1f", run ? iso_run_params(run) / 1e6 : NAN);
        }
        for (size_t i = 0; i < n_budget; i++) {
            const struct iso_run *run = find_run(runs, width[w], r[0], budget[i]);
            put_number(out, "%.2f", run ? run->tokens / 1e9 : NAN);
        }
        end_row(out);
    }
    end(out);
    iso_arena_release(&arena);
}

const struct iso_paper_table iso_paper_tables[] = {
    {"tab-fit-params", "tab:fit-params",
     "Chinchilla law of each architecture. Huber is the objective at the optimum, $R^2$ is on raw "
     "nats; $A$ and $B$ are rounded to two digits.",
     build_fit_params},
    {"tab-joint-3d", "tab:joint-3d",
     "Joint law over all runs, with the 95\\,\\% interval of $\\varphi$, and with $\\varphi$ held "
     "at 0 and 1.",
     build_joint},
    {"tab-joint-residuals-per-r", "tab:joint-residuals-per-r",
     "Residuals (actual $-$ predicted, nats) of the joint law by architecture.", build_residuals},
    {"tab-probe-fits", "tab:probe_fits",
     "Joint law fitted to each recipe on the budgets that all share.", build_probe_fits},
    {"tab-token-ratio", "tab:token-ratio",
     "Training tokens of each variant relative to the base at the same budget, $r$ and width.",
     build_token_ratio},
    {"tab-gap-change", "tab:gap-change",
     "Gap of the optimum to that of $r = 1$ (nats) at the two largest budgets.", build_gaps},
    {"tab-equiv-sizes", "tab:equiv-sizes",
     "Unique blocks that one looped block is worth, and unique and effective parameters of an "
     "architecture of the width at which $r = 1$ has one billion.",
     build_equivalence},
    {"tab-per-task-acc", "tab:per_task_acc",
     "Loss on each task (nats) at the run of lowest validation loss of the largest budget, the "
     "lowest in bold; last, the range of losses of the smallest $r$ over all budgets.",
     build_tasks},
    {"tab-extrapolation", "tab:extrapolation",
     "Runs beyond the grid, which were not fitted, and what the law fitted to the grid predicts "
     "for "
     "them. A positive gap means that the looped model trails.",
     build_extrapolation},
    {"tab-grid", "tab:grid",
     "The grid: unique parameters at each width $d$ and $r$, and training tokens at each width and "
     "budget (FLOPs). A dash marks what was not trained.",
     build_grid},
    {0},
};
