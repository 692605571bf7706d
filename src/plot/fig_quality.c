/* How well the law fits: predicted against actual loss, and residuals against N and D. */
#include "plot/figures.h"

#include <math.h>

static void add_runs(struct iso_panel *p, const struct iso_of_r *of, const struct iso_fig_keys *k,
                     double (*x)(const struct iso_run *), const double *y)
{
    struct iso_series *mark = NULL;
    for (size_t i = 0; i < of->runs.n; i++) {
        const struct iso_run *run = &of->runs.at[i];
        mark = iso_fig_marks_after(p, mark, iso_fig_budget_ink(k, run->budget),
                                   iso_fig_mark(k, of->r), 3.4);
        iso_fig_add_run(p, mark, x(run), y[i], run, of->analysis.derived.predicted[i]);
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

static void loss_range(double out[2], const struct iso_by_r *by_r)
{
    out[0] = HUGE_VAL;
    out[1] = -HUGE_VAL;
    for (size_t k = 0; k < by_r->n; k++)
        for (size_t i = 0; i < by_r->at[k].runs.n; i++) {
            const double actual = by_r->at[k].runs.at[i].loss,
                         predicted = by_r->at[k].analysis.derived.predicted[i];
            out[0] = fmin(out[0], fmin(actual, predicted));
            out[1] = fmax(out[1], fmax(actual, predicted));
        }
    double air = 0.05 * (out[1] - out[0]) + 1e-3;
    out[0] -= air;
    out[1] += air;
}

static const char quality_caption[] =
    "Predicted against measured loss, one panel per architecture. On the dashed line the two "
    "agree.";

static const char *build_quality(struct iso_figure *f, const void *data)
{
    const struct iso_by_r *by_r = data;
    double range[2];
    size_t cols = by_r->n > 1 ? 2 : 1;
    iso_figure_init(f, (struct iso_panel_grid){.rows = (by_r->n + cols - 1) / cols,
                                               .cols = cols,
                                               .share_x = ISO_SHARE_ALL,
                                               .share_y = ISO_SHARE_ALL,
                                               .panel_height = 220});
    struct iso_fig_keys k = iso_fig_keys_of(f, by_r->all->runs);
    loss_range(range, by_r);
    for (size_t i = 0; i < by_r->n; i++) {
        const struct iso_of_r *of = &by_r->at[i];
        struct iso_panel *p = &f->panel[i];
        p->title = iso_fig_arch_text(f, of->r);
        iso_fig_identity(p, range);
        add_runs(p, of, &k, loss_of, of->analysis.derived.predicted);
        p->note = iso_fig_residual_note(f, &of->analysis.derived.stats[0]);
    }
    iso_fig_legend_budgets(f, &k);
    iso_fig_caption_by_r(f, by_r, quality_caption);
    return NULL;
}

const struct iso_figure_row iso_fig_quality = {
    .name = "quality",
    .title = "Predicted against actual loss",
    .caption = quality_caption,
    .build = build_quality,
};

static const char residual_caption[] =
    "Actual minus predicted loss against unique parameters and against training tokens, for each "
    "architecture. A trend means that the law misses something there.";

static const char *build_residuals(struct iso_figure *f, const void *data)
{
    const struct iso_by_r *by_r = data;
    iso_figure_init(f, (struct iso_panel_grid){.rows = by_r->n,
                                               .cols = 2,
                                               .share_x = ISO_SHARE_LINE,
                                               .share_y = ISO_SHARE_ALL,
                                               .panel_height = 104,
                                               .left = 66});
    struct iso_fig_keys k = iso_fig_keys_of(f, by_r->all->runs);
    for (size_t i = 0; i < 2 * by_r->n; i++) {
        const struct iso_of_r *of = &by_r->at[i / 2];
        struct iso_panel *p = &f->panel[i];
        if (i % 2 == 0)
            p->title = iso_fig_arch_text(f, of->r);
        iso_axis_set(&p->x,
                     i % 2 ? "Training tokens {/:Italic D}" : "Unique parameters {/:Italic N}",
                     ISO_SCALE_LOG, ISO_TICK_COUNT);
        iso_axis_set(&p->y, "Residual (nats)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
        struct iso_series *zero = iso_panel_series(p, ISO_SERIES_RULE_Y, iso_inks[ISO_INK_MUTED]);
        iso_series_add(p, zero, 0, 0);
        add_runs(p, of, &k, i % 2 ? tokens_of : iso_run_params, of->analysis.derived.residual);
    }
    iso_fig_legend_budgets(f, &k);
    iso_fig_caption_by_r(f, by_r, residual_caption);
    return NULL;
}

const struct iso_figure_row iso_fig_residuals = {
    .name = "residuals",
    .title = "Residuals",
    .caption = residual_caption,
    .build = build_residuals,
};
