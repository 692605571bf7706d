/* Optimal allocation: the size and the tokens that a budget is best spent on. */
#include "plot/figures.h"

#include <math.h>

enum { STEPS = 40 };

static void build_panel(struct iso_panel *p, const struct iso_analysis *analysis,
                        const struct iso_fig_keys *k, bool tokens)
{
    const struct iso_derived *d = &analysis->derived;
    iso_axis_set(&p->x, "Compute budget {/:Italic C} (training FLOPs)", ISO_SCALE_LOG,
                 ISO_TICK_POWER);
    p->title = tokens ? "Training tokens" : "Unique parameters";
    iso_axis_set(&p->y,
                 tokens ? "Optimal tokens {/:Italic D}*({/:Italic C})"
                        : "Optimal parameters {/:Italic N}*({/:Italic C})",
                 ISO_SCALE_LOG, ISO_TICK_COUNT);
    for (size_t i = 0; i < d->n_curves; i++) {
        double r = d->curve[i].r;
        struct iso_series *line =
            iso_panel_line(p, iso_inks[ISO_INK_TEXT], iso_fig_dash(k, r), 1.4);
        for (int j = 0; j <= STEPS; j++) {
            double c = iso_fig_budget_at(k, (double)j / STEPS);
            struct iso_frontier_point at = iso_frontier_at(&analysis->fit, &d->curve[i], c);
            iso_series_add(p, line, c, tokens ? at.d_opt : at.n_opt);
        }
        const struct iso_frontier_exponent *e = NULL;
        for (size_t j = 0; j < d->n_exponents; j++)
            if (d->exponent[j].r == r)
                e = &d->exponent[j];
        if (e && k->n_budget > 1)
            iso_panel_end_label(p, line->point[STEPS].y, iso_inks[ISO_INK_TEXT],
                                iso_arena_printf(&p->figure->arena, "%s: {/:Italic C}^{ %.2f}",
                                                 iso_fig_arch_text(p->figure, r),
                                                 tokens ? e->d_exponent : e->n_exponent));
    }
    for (size_t i = 0; i < d->n_parabolas; i++) {
        const struct iso_parabola *q = &d->parabola[i];
        if (!q->has_minimum || !q->inside)
            continue;
        char budget[40], n[32], t[32];
        iso_power_plain(budget, q->budget);
        struct iso_series *mark =
            iso_panel_marks(p, iso_fig_budget_ink(k, q->budget), iso_fig_mark(k, q->r), 4.2);
        iso_series_add_tip(p, mark, q->budget, tokens ? q->d_opt : q->n_opt,
                           "C = %s FLOPs, r = %g\nN* = %s, D* = %s tokens\n%.1f tokens per "
                           "parameter",
                           budget, q->r, iso_format_count(n, q->n_opt),
                           iso_format_count(t, q->d_opt), q->d_opt / q->n_opt);
    }
}

static const char *build(struct iso_figure *f, const void *data)
{
    const struct iso_analysis *analysis = data;
    if (analysis->derived.n_curves == 0)
        return "The runs do not determine FLOPs per token as a function of size, so there is no "
               "frontier.";
    iso_figure_init(
        f, (struct iso_panel_grid){.rows = 1, .cols = 2, .panel_height = 270, .right = 92});
    struct iso_fig_keys k = iso_fig_keys_of(f, analysis->runs);
    build_panel(&f->panel[0], analysis, &k, false);
    build_panel(&f->panel[1], analysis, &k, true);
    iso_fig_legend_curves(f, &k, &analysis->derived);
    return NULL;
}

const struct iso_figure_row iso_fig_allocation = {
    .name = "allocation",
    .title = "Optimal allocation",
    .caption = "Compute-optimal unique parameters <span class=\"m\"><i>N</i>*(<i>C</i>)</span> and "
               "training tokens "
               "<span class=\"m\"><i>D</i>*(<i>C</i>)</span> under the fitted law, with the real "
               "FLOPs per token at each "
               "width; the names give the fitted exponents. Marks are the optima of the parabolas.",
    .build = build,
};
