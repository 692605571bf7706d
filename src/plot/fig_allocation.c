/* Optimal allocation: the size and the tokens that a budget is best spent on. */
#include "plot/figures.h"

#include <math.h>

enum { STEPS = 40 };

static const char caption[] =
    "Compute-optimal unique parameters <span class=\"m\"><i>N</i>*(<i>C</i>)</span> and training "
    "tokens <span class=\"m\"><i>D</i>*(<i>C</i>)</span> with the real FLOPs per token at each "
    "width; "
    "the names of the curves give their exponents.";
static const char optima_caption[] =
    " Marks are the optima of the parabolas, where these lie between the runs.";

struct quantity {
    const char *title, *label;
    double (*optimum)(const struct iso_frontier_point *p);
    double (*mark)(const struct iso_parabola *q);
    double (*exponent)(const struct iso_frontier_exponent *e);
};

#define GETTER(name, type, field)                                                                  \
    static double name(const struct type *p)                                                       \
    {                                                                                              \
        return p->field;                                                                           \
    }
GETTER(point_n, iso_frontier_point, n_opt)
GETTER(point_d, iso_frontier_point, d_opt)
GETTER(parabola_n, iso_parabola, n_opt)
GETTER(parabola_d, iso_parabola, d_opt)
GETTER(exponent_n, iso_frontier_exponent, n_exponent)
GETTER(exponent_d, iso_frontier_exponent, d_exponent)

static const struct quantity quantities[] = {
    {"Unique parameters", "Optimal parameters {/:Italic N}*({/:Italic C})", point_n, parabola_n,
     exponent_n},
    {"Training tokens", "Optimal tokens {/:Italic D}*({/:Italic C})", point_d, parabola_d,
     exponent_d},
};

static void add_curve(struct iso_panel *p, const struct iso_of_r *of, const struct iso_fig_keys *k,
                      const struct quantity *q)
{
    const struct iso_derived *d = &of->analysis.derived;
    struct iso_series *line =
        iso_panel_line(p, iso_inks[ISO_INK_TEXT], iso_fig_dash(k, of->r), 1.4);
    for (int j = 0; j <= STEPS; j++) {
        const double c = iso_fig_budget_at(k, (double)j / STEPS);
        const struct iso_frontier_point at = iso_frontier_at(&of->analysis.fit, d->curve, c);
        iso_series_add(p, line, c, q->optimum(&at));
    }
    if (d->n_exponents > 0 && k->n_budget > 1)
        iso_panel_end_label(p, line->point[STEPS].y, iso_inks[ISO_INK_TEXT],
                            iso_arena_printf(&p->figure->arena, "%s: {/:Italic C}^{ %.3f}",
                                             iso_fig_arch_text(p->figure, of->r),
                                             q->exponent(d->exponent)));
}

static void add_optima(struct iso_panel *p, const struct iso_of_r *of, const struct iso_fig_keys *k,
                       const struct quantity *what)
{
    for (size_t i = 0; i < of->analysis.derived.n_parabolas; i++) {
        const struct iso_parabola *q = &of->analysis.derived.parabola[i];
        if (!q->has_minimum || !q->inside)
            continue;
        char budget[40], n[32], t[32];
        iso_power_plain(budget, q->budget);
        struct iso_series *mark =
            iso_panel_marks(p, iso_fig_budget_ink(k, q->budget), iso_fig_mark(k, q->r), 4.2);
        iso_series_add_tip(p, mark, q->budget, what->mark(q),
                           "C = %s FLOPs, r = %g\nN* = %s, D* = %s tokens\n%.1f tokens per "
                           "parameter",
                           budget, q->r, iso_format_count(n, q->n_opt),
                           iso_format_count(t, q->d_opt), q->d_opt / q->n_opt);
    }
}

static const char *build(struct iso_figure *f, const void *data)
{
    const struct iso_by_r *by_r = data;
    if (by_r->all->derived.n_curves == 0)
        return "The runs do not determine FLOPs per token as a function of size, so there is no "
               "frontier.";
    iso_figure_init(
        f, (struct iso_panel_grid){.rows = 1, .cols = 2, .panel_height = 270, .right = 98});
    struct iso_fig_keys k = iso_fig_keys_of(f, by_r->all->runs);
    for (size_t j = 0; j < 2; j++) {
        struct iso_panel *p = &f->panel[j];
        p->title = quantities[j].title;
        iso_axis_set(&p->x, "Compute budget {/:Italic C} (training FLOPs)", ISO_SCALE_LOG,
                     ISO_TICK_POWER);
        iso_axis_set(&p->y, quantities[j].label, ISO_SCALE_LOG, ISO_TICK_COUNT);
        for (size_t i = 0; i < by_r->n; i++)
            add_curve(p, &by_r->at[i], &k, &quantities[j]);
        for (size_t i = 0; i < by_r->n; i++)
            add_optima(p, &by_r->at[i], &k, &quantities[j]);
    }
    iso_fig_legend_lines(f, &k, by_r->n_own ? "Law of each {/:Italic r}" : "Law of all runs");
    iso_fig_legend_optima(f, &k, &by_r->all->derived);
    iso_fig_caption_by_r(
        f, by_r,
        iso_arena_printf(&f->arena, "%s%s", caption,
                         iso_fig_has_optima(&by_r->all->derived) ? optima_caption : ""));
    return NULL;
}

const struct iso_figure_row iso_fig_allocation = {
    .name = "allocation",
    .title = "Optimal allocation",
    .caption = caption,
    .build = build,
};
