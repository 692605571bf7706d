/* Recipes side by side: their iso-FLOPs curves, and the change of phi with its interval. */
#include "plot/figures.h"

#include "base/str.h"

#include <math.h>
#include <string.h>

/* --- iso-FLOPs panels ------------------------------------------------------------------------ */

static void add_recipe(struct iso_panel *p, const char *name, double phi,
                       const struct iso_runs *runs, const struct iso_fit *fit,
                       const struct iso_fig_keys *keys)
{
    struct iso_derived derived = {0};
    iso_derived_run(&derived, &p->figure->arena, runs, fit);
    p->title = iso_figure_plain(p->figure, name);
    if (isfinite(phi))
        p->title = iso_arena_printf(&p->figure->arena, "%s: {/:Italic φ} = %.2f", p->title, phi);
    iso_axis_set(&p->x, "Unique parameters {/:Italic N}", ISO_SCALE_LOG, ISO_TICK_COUNT);
    iso_axis_set(&p->y, "Validation loss (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    iso_fig_isoflops_panel(p, runs, &derived, keys, NAN);
}

/* phi of the base under the estimator of the headline, which may not be that of its own fit; with
 * several variants that differ in it, NaN. */
static double base_phi(const struct iso_compare *c)
{
    double phi = c->n ? c->variant[0].headline->phi_base : c->base.fit.phi;
    for (size_t i = 1; i < c->n; i++)
        if (fabs(c->variant[i].headline->phi_base - phi) >= 0.0005)
            phi = NAN;
    return phi;
}

struct iso_fig_keys iso_fig_keys_compare(struct iso_figure *f, const struct iso_fig_compare *of)
{
    struct iso_fig_keys keys = iso_fig_keys_of(f, of->compare->base.runs);
    iso_fig_share_colours(&keys, &f->arena, of->all);
    return keys;
}

static const char isoflops_caption[] = "Loss against unique parameters on the budgets that the "
                                       "recipes share. All panels show the same "
                                       "<i>r</i>&nbsp;=&nbsp;1 runs.";

static const char *build_isoflops(struct iso_figure *f, const void *data)
{
    const struct iso_fig_compare *of = data;
    const struct iso_compare *c = of->compare;
    size_t n = c->n + 1, cols = n < 3 ? n : n == 4 ? 2 : 3;
    iso_figure_init(f, (struct iso_panel_grid){.rows = (n + cols - 1) / cols,
                                               .cols = cols,
                                               .share_x = ISO_SHARE_ALL,
                                               .share_y = ISO_SHARE_ALL,
                                               .panel_height = 300});
    struct iso_fig_keys keys = iso_fig_keys_compare(f, of);
    struct iso_derived derived;
    iso_derived_run(&derived, &f->arena, c->base.runs, &c->base.fit);
    add_recipe(&f->panel[0], c->base.name, base_phi(c), c->base.runs, &c->base.fit, &keys);
    for (size_t i = 0; i < c->n; i++) {
        const struct iso_variant *v = &c->variant[i];
        add_recipe(&f->panel[i + 1], v->own.name, v->headline->phi, v->own.runs, &v->own.fit,
                   &keys);
    }
    iso_fig_legend_budgets(f, &keys);
    iso_fig_legend_archs(f, &keys);
    f->caption =
        iso_arena_printf(&f->arena, "%s%s", isoflops_caption, iso_fig_legend_stars(f, &derived));
    return NULL;
}

const struct iso_figure_row iso_fig_compare_isoflops = {
    .name = "compare-isoflops",
    .title = "Loss at fixed compute, recipe by recipe",
    .caption = isoflops_caption,
    .build = build_isoflops,
};

/* --- change of phi --------------------------------------------------------------------------- */

/* User text as markup, cut when it would take more than the room left of a panel. */
static const char *short_name(struct iso_figure *f, const char *name)
{
    enum { MOST = 34 }; /* bytes */
    if (strlen(name) <= MOST)
        return iso_figure_plain(f, name);
    size_t len = iso_utf8_valid(name, MOST); /* does not end inside a character */
    return iso_figure_plain(f, iso_arena_printf(&f->arena, "%.*s…", (int)len, name));
}

static void add_delta(struct iso_panel *p, struct iso_ink ink, enum iso_mark mark, const char *what,
                      const char *name, double y, const struct iso_delta *d)
{
    if (!isfinite(d->delta_phi))
        return;
    struct iso_series *range = iso_panel_series(p, ISO_SERIES_RANGES, ink);
    struct iso_series *point = iso_panel_marks(p, ink, mark, 4.2);
    range->width = 2;
    if (isfinite(d->low) && isfinite(d->high)) {
        iso_series_add(p, range, d->low, y)->x2 = d->high;
        iso_series_add_tip(p, point, d->delta_phi, y, "%s, %s\nΔφ = %+.4f [%+.4f, %+.4f]", name,
                           what, d->delta_phi, d->low, d->high);
    } else {
        iso_series_add_tip(p, point, d->delta_phi, y, "%s, %s\nΔφ = %+.4f", name, what,
                           d->delta_phi);
    }
}

/* The headline in colour, the other estimator muted. */
static struct iso_ink ink_of(const struct iso_variant *v, const struct iso_delta *d)
{
    return iso_inks[v->headline == d ? ISO_INK_ACCENT : ISO_INK_MUTED];
}

/* The headlines and every estimate fit; the interval of the other estimator may leave the axis. */
static void delta_range(struct iso_axis *x, const struct iso_compare *c)
{
    double lo = 0, hi = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct iso_variant *v = &c->variant[i];
        const double at[] = {v->joint.delta_phi, v->separate.delta_phi, v->headline->low,
                             v->headline->high};
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) /* fmin and fmax pass over NaN */
            lo = fmin(lo, at[k]), hi = fmax(hi, at[k]);
    }
    const double air = 0.25 * (hi - lo) + 1e-3;
    iso_axis_range(x, lo - air, hi + air);
}

static const char *build_delta(struct iso_figure *f, const void *data)
{
    const struct iso_compare *c = ((const struct iso_fig_compare *)data)->compare;
    bool any = false;
    for (size_t i = 0; i < c->n; i++)
        any |= isfinite(c->variant[i].headline->delta_phi);
    if (!any)
        return "These runs do not determine φ, so there is no change of it.";
    iso_figure_init(
        f, (struct iso_panel_grid){.rows = 1, .cols = 1, .panel_height = 46 * (double)c->n + 14});
    struct iso_panel *p = f->panel;
    double *at = ISO_ARENA_NEW_N(&f->arena, double, c->n);
    const char **name = ISO_ARENA_NEW_N(&f->arena, const char *, c->n);
    struct iso_series *zero = iso_panel_series(p, ISO_SERIES_RULE_X, iso_inks[ISO_INK_MUTED]);
    zero->dash = ISO_DASH_SHORT;
    iso_series_add(p, zero, 0, 0);
    for (size_t i = 0; i < c->n; i++) {
        const struct iso_variant *v = &c->variant[i];
        at[i] = -(double)i;
        name[i] = short_name(f, v->own.name);
        f->grid.left = fmax(f->grid.left, iso_text_width(name[i]) + 20);
        add_delta(p, ink_of(v, &v->joint), ISO_MARK_CIRCLE, "joint", v->own.name, at[i] + 0.14,
                  &v->joint);
        add_delta(p, ink_of(v, &v->separate), ISO_MARK_SQUARE, "separate", v->own.name,
                  at[i] - 0.18, &v->separate);
    }
    iso_axis_set(
        &p->x,
        iso_arena_printf(&f->arena, "Δ{/:Italic φ} against %s", iso_figure_plain(f, c->base.name)),
        ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    delta_range(&p->x, c);
    iso_axis_set(&p->y, "", ISO_SCALE_LINEAR, ISO_TICK_GIVEN);
    p->y.given = at;
    p->y.given_text = name;
    p->y.n_given = c->n;
    iso_axis_range(&p->y, -(double)c->n + 0.45, 0.55);
    struct iso_series like = {.kind = ISO_SERIES_MARKS, .mark = ISO_MARK_CIRCLE, .size = 4.2};
    like.ink = iso_inks[ISO_INK_MUTED];
    iso_figure_legend(f, &like, "joint: one law for both recipes");
    like.mark = ISO_MARK_SQUARE;
    iso_figure_legend(f, &like, "separate fits");
    return NULL;
}

const struct iso_figure_row iso_fig_compare_delta = {
    .name = "compare-delta",
    .title = "Change of φ",
    .caption = "Δφ of each recipe against the base with its interval, by two "
               "estimators; the one in colour is the headline. Right of the dashed line a "
               "recurrence is worth more than under the base.",
    .build = build_delta,
};
