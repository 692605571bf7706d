/* Iso-FLOPs curves: loss against unique parameters at fixed compute, one panel per recurrence,
 * with the parabola of every (budget, r) cell and a star at its optimum. */
#include "plot/figures.h"

#include <math.h>

/* The parabola between the smallest and the largest size of its cell. */
static void add_parabola(struct iso_panel *p, const struct iso_runs *runs,
                         const struct iso_parabola *q, struct iso_ink ink)
{
    double lo = HUGE_VAL, hi = 0;
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        if (run->budget != q->budget || run->r != q->r || run->unshared != q->unshared)
            continue;
        lo = fmin(lo, iso_run_params(run));
        hi = fmax(hi, iso_run_params(run));
    }
    if (!(hi > lo))
        return;
    struct iso_series *line = iso_panel_line(p, ink, ISO_DASH_SOLID, 1);
    enum { STEPS = 48 };
    for (int i = 0; i <= STEPS; i++) {
        double x = log(lo) + (log(hi) - log(lo)) * i / STEPS;
        iso_series_add(p, line, exp(x), q->c[0] + x * (q->c[1] + x * q->c[2]));
    }
}

static void add_star(struct iso_panel *p, const struct iso_parabola *q, struct iso_ink ink)
{
    char budget[40], n[32], d[32];
    iso_power_plain(budget, q->budget);
    struct iso_series *star = iso_panel_marks(p, ink, ISO_MARK_STAR, 7.5);
    iso_series_add_tip(p, star, q->n_opt, q->loss_opt,
                       "optimum at C = %s, r = %g\nN* = %s, D* = %s tokens\nL* = %.4f nats", budget,
                       q->r, iso_format_count(n, q->n_opt), iso_format_count(d, q->d_opt),
                       q->loss_opt);
}

static bool wanted(double r, double of)
{
    return isnan(r) || r == of;
}

void iso_fig_isoflops_panel(struct iso_panel *p, const struct iso_runs *runs,
                            const struct iso_derived *derived, const struct iso_fig_keys *keys,
                            double r)
{
    for (size_t i = 0; i < derived->n_parabolas; i++) {
        const struct iso_parabola *q = &derived->parabola[i];
        if (wanted(r, q->r) && q->has_minimum)
            add_parabola(p, runs, q, iso_fig_budget_ink(keys, q->budget));
    }
    /* A star whose parabola opens beyond its runs would be a guess: it is not drawn. */
    for (size_t i = 0; i < derived->n_parabolas; i++) {
        const struct iso_parabola *q = &derived->parabola[i];
        if (wanted(r, q->r) && q->has_minimum && q->inside)
            add_star(p, q, iso_fig_budget_ink(keys, q->budget));
    }
    struct iso_series *mark = NULL;
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        if (!wanted(r, run->r))
            continue;
        mark = iso_fig_marks_after(p, mark, iso_fig_budget_ink(keys, run->budget),
                                   iso_fig_mark(keys, run->r), 3.2);
        iso_fig_add_run(p, mark, iso_run_params(run), run->loss, run, derived->predicted[i]);
    }
}

const char *iso_fig_legend_stars(struct iso_figure *f, const struct iso_derived *derived)
{
    bool any = false;
    for (size_t i = 0; i < derived->n_parabolas; i++)
        any |= derived->parabola[i].has_minimum && derived->parabola[i].inside;
    if (!any)
        return "";
    const struct iso_series star = {
        .kind = ISO_SERIES_MARKS, .ink = iso_inks[ISO_INK_TEXT], .mark = ISO_MARK_STAR, .size = 7};
    iso_figure_legend(f, &star, "optimum");
    return " Thin curves are parabolas in log&nbsp;<i>N</i>, one per (budget, <i>r</i>) cell; "
           "stars mark their optima where these lie between the runs.";
}

static const char caption[] =
    "Loss against unique parameters at fixed compute budgets, one panel per number of recurrences.";

static const char control_caption[] =
    " With <i>r</i>&nbsp;=&nbsp;1 are the runs of the unshared control, a curve for each number of "
    "iterations.";

static bool has_control(const struct iso_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->at[i].unshared > 0)
            return true;
    return false;
}

static const char *build(struct iso_figure *f, const void *data)
{
    const struct iso_analysis *analysis = data;
    struct iso_arena scratch = {0};
    double *r;
    size_t n_r = iso_runs_recurrences(&r, &scratch, analysis->runs);
    size_t cols = n_r > 1 ? 2 : 1, rows = (n_r + cols - 1) / cols;
    iso_arena_release(&scratch);
    iso_figure_init(f, (struct iso_panel_grid){.rows = rows,
                                               .cols = cols,
                                               .share_x = ISO_SHARE_ALL,
                                               .share_y = ISO_SHARE_ALL,
                                               .panel_height = 210});
    struct iso_fig_keys keys = iso_fig_keys_of(f, analysis->runs);
    for (size_t i = 0; i < keys.n_r; i++) {
        struct iso_panel *p = &f->panel[i];
        p->title = iso_fig_arch_text(f, keys.r[i]);
        iso_axis_set(&p->x, "Unique parameters {/:Italic N} (no embeddings)", ISO_SCALE_LOG,
                     ISO_TICK_COUNT);
        iso_axis_set(&p->y, "Validation loss (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
        iso_fig_isoflops_panel(p, analysis->runs, &analysis->derived, &keys, keys.r[i]);
    }
    iso_fig_legend_budgets(f, &keys);
    f->caption =
        iso_arena_printf(&f->arena, "%s%s%s", caption, iso_fig_legend_stars(f, &analysis->derived),
                         has_control(analysis->runs) ? control_caption : "");
    return NULL;
}

const struct iso_figure_row iso_fig_isoflops = {
    .name = "isoflops",
    .title = "Loss at fixed compute",
    .caption = caption,
    .build = build,
};
