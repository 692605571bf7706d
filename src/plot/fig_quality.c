/* How well the law fits: predicted against actual loss, and residuals against N and D. */
#include "plot/figures.h"

#include <math.h>

static const struct iso_residual_stats *stats_of(const struct iso_derived *d, double r)
{
    for (size_t i = 0; i < d->n_stats; i++)
        if (d->stats[i].r == r)
            return &d->stats[i];
    return NULL;
}

static void add_runs(struct iso_panel *p, const struct iso_analysis *analysis,
                     const struct iso_fig_keys *k, double r, double (*x)(const struct iso_run *),
                     const double *y)
{
    struct iso_series *mark = NULL;
    for (size_t i = 0; i < analysis->runs->n; i++) {
        const struct iso_run *run = &analysis->runs->at[i];
        if (run->r != r)
            continue;
        mark = iso_fig_marks_after(p, mark, iso_fig_budget_ink(k, run->budget), iso_fig_mark(k, r),
                                   3.4);
        iso_fig_add_run(p, mark, x(run), y[i], run, analysis->derived.predicted[i]);
    }
}

static double loss_of(const struct iso_run *run)
{
    return run->loss;
}

static double tokens_of(const struct iso_run *run)
{
    return run->tokens;
}

static void loss_range(double out[2], const struct iso_analysis *analysis)
{
    out[0] = HUGE_VAL;
    out[1] = -HUGE_VAL;
    for (size_t i = 0; i < analysis->runs->n; i++) {
        out[0] = fmin(out[0], fmin(analysis->runs->at[i].loss, analysis->derived.predicted[i]));
        out[1] = fmax(out[1], fmax(analysis->runs->at[i].loss, analysis->derived.predicted[i]));
    }
    double air = 0.05 * (out[1] - out[0]) + 1e-3;
    out[0] -= air;
    out[1] += air;
}

static const char *build_quality(struct iso_figure *f, const void *data)
{
    const struct iso_analysis *analysis = data;
    struct iso_arena scratch = {0};
    double *r, range[2];
    size_t n_r = iso_runs_recurrences(&r, &scratch, analysis->runs);
    iso_arena_release(&scratch);
    size_t cols = n_r > 1 ? 2 : 1;
    iso_figure_init(f, (struct iso_panel_grid){.rows = (n_r + cols - 1) / cols,
                                               .cols = cols,
                                               .share_x = ISO_SHARE_ALL,
                                               .share_y = ISO_SHARE_ALL,
                                               .panel_height = 220});
    struct iso_fig_keys k = iso_fig_keys_of(f, analysis->runs);
    loss_range(range, analysis);
    for (size_t i = 0; i < k.n_r; i++) {
        struct iso_panel *p = &f->panel[i];
        p->title = iso_fig_arch_text(f, k.r[i]);
        iso_axis_set(&p->x, "Actual loss (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
        iso_axis_set(&p->y, "Predicted loss (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
        iso_axis_range(&p->x, range[0], range[1]);
        iso_axis_range(&p->y, range[0], range[1]);
        struct iso_series *identity =
            iso_panel_line(p, iso_inks[ISO_INK_MUTED], ISO_DASH_SHORT, 1.2);
        iso_series_add(p, identity, range[0], range[0]);
        iso_series_add(p, identity, range[1], range[1]);
        add_runs(p, analysis, &k, k.r[i], loss_of, analysis->derived.predicted);
        const struct iso_residual_stats *s = stats_of(&analysis->derived, k.r[i]);
        if (s)
            p->note = iso_arena_printf(&f->arena, "RMSE %.4f nats\nmax |residual| %.3f", s->rmse,
                                       s->max_abs);
    }
    iso_fig_legend_budgets(f, &k);
    return NULL;
}

const struct iso_figure_row iso_fig_quality = {
    .name = "quality",
    .title = "Predicted against actual loss",
    .caption = "Loss predicted by the fitted law against the loss measured, one panel per "
               "architecture. On the dashed line the two agree.",
    .build = build_quality,
};

static const char *build_residuals(struct iso_figure *f, const void *data)
{
    const struct iso_analysis *analysis = data;
    struct iso_arena scratch = {0};
    double *r;
    size_t n_r = iso_runs_recurrences(&r, &scratch, analysis->runs);
    iso_arena_release(&scratch);
    iso_figure_init(f, (struct iso_panel_grid){.rows = n_r,
                                               .cols = 2,
                                               .share_x = ISO_SHARE_LINE,
                                               .share_y = ISO_SHARE_ALL,
                                               .panel_height = 104,
                                               .left = 66});
    struct iso_fig_keys k = iso_fig_keys_of(f, analysis->runs);
    for (size_t i = 0; i < 2 * k.n_r; i++) {
        struct iso_panel *p = &f->panel[i];
        double arch = k.r[i / 2];
        if (i % 2 == 0)
            p->title = iso_fig_arch_text(f, arch);
        iso_axis_set(&p->x,
                     i % 2 ? "Training tokens {/:Italic D}" : "Unique parameters {/:Italic N}",
                     ISO_SCALE_LOG, ISO_TICK_COUNT);
        iso_axis_set(&p->y, "Residual (nats)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
        struct iso_series *zero = iso_panel_series(p, ISO_SERIES_RULE_Y, iso_inks[ISO_INK_MUTED]);
        iso_series_add(p, zero, 0, 0);
        add_runs(p, analysis, &k, arch, i % 2 ? tokens_of : iso_run_params,
                 analysis->derived.residual);
    }
    iso_fig_legend_budgets(f, &k);
    return NULL;
}

const struct iso_figure_row iso_fig_residuals = {
    .name = "residuals",
    .title = "Residuals",
    .caption = "Actual minus predicted loss against unique parameters (left) and training tokens "
               "(right), one row per architecture. A trend in a row means that the law misses "
               "something there.",
    .build = build_residuals,
};
