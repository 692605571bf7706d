/* Predicted against actual loss of each recipe under the joint law fitted to it. */
#include "plot/figures.h"

#include <math.h>

static void widen(double range[2], const struct iso_derived *d, const struct iso_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        range[0] = fmin(range[0], fmin(runs->at[i].loss, d->predicted[i]));
        range[1] = fmax(range[1], fmax(runs->at[i].loss, d->predicted[i]));
    }
}

static void add_recipe(struct iso_panel *p, const struct iso_recipe *recipe,
                       const struct iso_derived *d, const struct iso_fig_keys *k)
{
    struct iso_series *mark = NULL;
    p->title = iso_figure_plain(p->figure, recipe->name);
    for (size_t i = 0; i < recipe->runs->n; i++) {
        const struct iso_run *run = &recipe->runs->at[i];
        mark = iso_fig_marks_after(p, mark, iso_fig_budget_ink(k, run->budget),
                                   iso_fig_mark(k, run->r), 3.4);
        iso_fig_add_run(p, mark, run->loss, d->predicted[i], run, d->predicted[i]);
    }
    p->note = iso_fig_residual_note(p->figure, &d->stats[d->n_stats - 1]);
}

static const char *build(struct iso_figure *f, const void *data)
{
    const struct iso_fig_compare *of = data;
    const size_t n = of->compare->n, cols = n < 3 ? n : n == 4 ? 2 : 3;
    double range[2] = {HUGE_VAL, -HUGE_VAL};
    iso_figure_init(f, (struct iso_panel_grid){.rows = (n + cols - 1) / cols,
                                               .cols = cols,
                                               .share_x = ISO_SHARE_ALL,
                                               .share_y = ISO_SHARE_ALL,
                                               .panel_height = 240});
    const struct iso_fig_keys k = iso_fig_keys_compare(f, of);
    struct iso_derived *d = ISO_ARENA_NEW_N(&f->arena, struct iso_derived, n);
    for (size_t i = 0; i < n; i++) {
        const struct iso_recipe *own = &of->compare->variant[i].own;
        iso_derived_run(&d[i], &f->arena, own->runs, &own->fit);
        widen(range, &d[i], own->runs);
    }
    const double air = 0.05 * (range[1] - range[0]) + 1e-3;
    range[0] -= air;
    range[1] += air;
    for (size_t i = 0; i < n; i++) {
        iso_fig_identity(&f->panel[i], range);
        add_recipe(&f->panel[i], &of->compare->variant[i].own, &d[i], &k);
    }
    iso_fig_legend_budgets(f, &k);
    iso_fig_legend_archs(f, &k);
    return NULL;
}

const struct iso_figure_row iso_fig_compare_quality = {
    .name = "compare-quality",
    .title = "Predicted against actual loss, recipe by recipe",
    .caption = "Predicted against measured loss under the joint law fitted to each recipe. On the "
               "dashed line the two agree.",
    .build = build,
};
