/* The compute-optimal frontier: loss at the best size against the budget, and the gap of every
 * recurrence to r = 1.  The fit's curves are drawn beside the optima of the parabolas, which know
 * nothing of the law, and beside the law with phi = 1, under which all architectures coincide. */
#include "plot/figures.h"

#include <math.h>

enum { STEPS = 40 };

static void add_curve(struct iso_panel *p, struct iso_series *line, const struct iso_fig_keys *k,
                      const struct iso_fit *fit, const struct iso_flops_curve *curve,
                      const struct iso_flops_curve *minus)
{
    for (int i = 0; i <= STEPS; i++) {
        double c = iso_fig_budget_at(k, (double)i / STEPS),
               loss = iso_frontier_at(fit, curve, c).loss_opt;
        if (minus)
            loss -= iso_frontier_at(fit, minus, c).loss_opt;
        iso_series_add(p, line, c, loss);
    }
}

static void add_optima(struct iso_panel *p, const struct iso_analysis *analysis,
                       const struct iso_fig_keys *k, double r, bool gap)
{
    for (size_t i = 0; i < k->n_budget; i++) {
        const struct iso_parabola *q = iso_fig_parabola(&analysis->derived, k->budget[i], r);
        if (!q || (gap && !isfinite(q->gap)))
            continue;
        char budget[40];
        iso_power_plain(budget, q->budget);
        struct iso_series *mark =
            iso_panel_marks(p, iso_fig_budget_ink(k, q->budget), iso_fig_mark(k, r), 4.2);
        double y = gap ? q->gap : q->loss_opt;
        iso_series_add_tip(p, mark, q->budget, y, "C = %s FLOPs, r = %g\n%s %.4f nats%s", budget, r,
                           gap ? "gap to r = 1:" : "optimum of the parabola:", y,
                           q->inside ? "" : "\n(beyond the sizes trained)");
    }
}

static void set_budget_axis(struct iso_panel *p)
{
    iso_axis_set(&p->x, "Compute budget {/:Italic C} (training FLOPs)", ISO_SCALE_LOG,
                 ISO_TICK_POWER);
}

void iso_fig_frontier_panel(struct iso_panel *p, const struct iso_analysis *analysis,
                            const struct iso_fig_keys *k)
{
    const struct iso_derived *d = &analysis->derived;
    p->title = "Compute-optimal loss";
    set_budget_axis(p);
    iso_axis_set(&p->y, "Loss {/:Italic L}* (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    for (size_t i = 0; i < d->n_curves && analysis->has_restricted; i++)
        add_curve(p, iso_panel_line(p, iso_inks[ISO_INK_ACCENT], ISO_DASH_SHORT, 1.3), k,
                  &analysis->phi_1, &d->curve[i], NULL);
    for (size_t i = 0; i < d->n_curves; i++)
        add_curve(p, iso_panel_line(p, iso_inks[ISO_INK_TEXT], iso_fig_dash(k, d->curve[i].r), 1.4),
                  k, &analysis->fit, &d->curve[i], NULL);
    for (size_t i = 0; i < k->n_r; i++)
        add_optima(p, analysis, k, k->r[i], false);
}

static void build_gaps(struct iso_panel *p, const struct iso_analysis *analysis,
                       const struct iso_fig_keys *k)
{
    const struct iso_derived *d = &analysis->derived;
    const struct iso_flops_curve *one = iso_fig_curve(d, 1);
    p->title = "Gap to {/:Italic r} = 1";
    set_budget_axis(p);
    iso_axis_set(&p->y, "{/:Italic L}*_{/:Italic r} − {/:Italic L}*_1 (nats per token)",
                 ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    for (size_t i = 0; i < d->n_curves && one; i++) {
        const struct iso_flops_curve *curve = &d->curve[i];
        if (analysis->has_restricted && curve->r != 1)
            add_curve(p, iso_panel_line(p, iso_inks[ISO_INK_ACCENT], ISO_DASH_SHORT, 1.3), k,
                      &analysis->phi_1, curve, one);
    }
    for (size_t i = 0; i < d->n_curves && one; i++) {
        const struct iso_flops_curve *curve = &d->curve[i];
        if (curve->r == 1)
            continue;
        struct iso_series *line =
            iso_panel_line(p, iso_inks[ISO_INK_TEXT], iso_fig_dash(k, curve->r), 1.4);
        add_curve(p, line, k, &analysis->fit, curve, one);
        iso_panel_end_label(p, line->point[line->n_point - 1].y, iso_inks[ISO_INK_TEXT],
                            iso_fig_arch_text(p->figure, curve->r));
        add_optima(p, analysis, k, curve->r, true);
    }
    iso_series_add(p, iso_panel_series(p, ISO_SERIES_RULE_Y, iso_inks[ISO_INK_MUTED]), 0, 0);
}

void iso_fig_legend_frontier(struct iso_figure *f, const struct iso_analysis *analysis,
                             const struct iso_fig_keys *k)
{
    const struct iso_series phi_1 = {.kind = ISO_SERIES_LINE,
                                     .ink = iso_inks[ISO_INK_ACCENT],
                                     .dash = ISO_DASH_SHORT,
                                     .width = 1.3};
    iso_fig_legend_lines(f, k, iso_arena_printf(&f->arena, "Law %s", analysis->fit.law->name));
    if (analysis->has_restricted)
        iso_figure_legend(f, &phi_1, "every {/:Italic r} with {/:Italic φ} = 1");
    iso_fig_legend_optima(f, k, &analysis->derived);
}

/* Only what is drawn. */
const char *iso_fig_frontier_words(struct iso_figure *f, const struct iso_analysis *analysis)
{
    return iso_arena_printf(
        &f->arena,
        "at the compute-optimal size against the budget; the black curves are the fitted law.%s%s",
        iso_fig_has_optima(&analysis->derived)
            ? " Marks are the optima of the parabolas, which know nothing of the law."
            : "",
        analysis->has_restricted
            ? " Dashed red curves are the best fit with φ&nbsp;=&nbsp;1, under which the "
              "architectures all but coincide."
            : "");
}

static const char *build(struct iso_figure *f, const void *data)
{
    const struct iso_analysis *analysis = data;
    if (analysis->derived.n_curves == 0)
        return "The runs do not determine FLOPs per token as a function of size, so there is no "
               "frontier.";
    const bool gaps = analysis->derived.n_curves > 1 && iso_fig_curve(&analysis->derived, 1);
    const size_t cols = gaps ? 2 : 1;
    iso_figure_init(
        f, (struct iso_panel_grid){.rows = 1, .cols = cols, .panel_height = 270, .right = 44});
    struct iso_fig_keys k = iso_fig_keys_of(f, analysis->runs);
    iso_fig_frontier_panel(&f->panel[0], analysis, &k);
    if (gaps)
        build_gaps(&f->panel[1], analysis, &k);
    iso_fig_legend_frontier(f, analysis, &k);
    f->caption = iso_arena_printf(
        &f->arena, "%s %s%s", gaps ? ISO_LEFT_PANEL ": loss" : "Loss",
        iso_fig_frontier_words(f, analysis),
        gaps ? " " ISO_RIGHT_PANEL ": the gap of each <i>r</i> to <i>r</i>&nbsp;=&nbsp;1." : "");
    return NULL;
}

const struct iso_figure_row iso_fig_frontier = {
    .name = "frontier",
    .title = "Compute-optimal frontier",
    .caption = "Loss at the compute-optimal size against the budget.",
    .build = build,
};
