/* Learning-rate sweeps: loss and regret against the base rate. */
#include "plot/rates.h"

#include "fit/stats.h"

#include <math.h>

/* Regrets above this are outside the picture, where the bottom of the curves is to be seen. */
static const double most_regret = 0.15;

/* Curves that a panel may show. */
struct group {
    const struct iso_rate_curve **curve;
    size_t n;
};

static struct iso_fig_keys keys_of(struct iso_arena *arena, const struct iso_fig_rates *of)
{
    const struct iso_regret *g = of->regret;
    struct iso_fig_keys k = {.budget = ISO_ARENA_NEW_N(arena, double, g->n),
                             .r = ISO_ARENA_NEW_N(arena, double, g->n)};
    for (size_t i = 0; i < g->n; i++) {
        k.budget[i] = g->curve[i].budget;
        k.r[i] = g->curve[i].r;
    }
    k.n_budget = iso_distinct_doubles(k.budget, g->n);
    k.n_r = iso_distinct_doubles(k.r, g->n);
    if (of->all)
        iso_fig_share_colours(&k, arena, of->all);
    return k;
}

static size_t curves_of_width(const struct iso_regret *g, double r, double d_model)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n; i++)
        n += g->curve[i].r == r && g->curve[i].d_model == d_model;
    return n;
}

/* The width that was run with the most budgets is the reference; its curves show the transfer over
 * tokens. */
static double reference_width(const struct iso_regret *g, double r)
{
    double width = NAN;
    size_t most = 0;
    for (size_t i = 0; i < g->n; i++) {
        size_t n = g->curve[i].r == r ? curves_of_width(g, r, g->curve[i].d_model) : 0;
        if (n > most) {
            most = n;
            width = g->curve[i].d_model;
        }
    }
    return width;
}

static struct group over_tokens(struct iso_arena *arena, const struct iso_regret *g, double r)
{
    struct group out = {ISO_ARENA_NEW_N(arena, const struct iso_rate_curve *, g->n), 0};
    double width = reference_width(g, r);
    for (size_t i = 0; i < g->n; i++)
        if (g->curve[i].r == r && g->curve[i].d_model == width)
            out.curve[out.n++] = &g->curve[i];
    return out;
}

/* One curve per width: that whose tokens per parameter are nearest to the typical ones. */
static struct group over_width(struct iso_arena *arena, const struct iso_regret *g, double r)
{
    struct group out = {ISO_ARENA_NEW_N(arena, const struct iso_rate_curve *, g->n), 0};
    double width = reference_width(g, r), typical = 0;
    size_t others = 0;
    for (size_t i = 0; i < g->n; i++)
        if (g->curve[i].r == r && g->curve[i].d_model != width) {
            typical += log(g->curve[i].per_param);
            others++;
        }
    typical = others ? exp(typical / (double)others) : NAN;
    for (size_t i = 0; i < g->n; i++) {
        const struct iso_rate_curve *c = &g->curve[i];
        if (c->r != r)
            continue;
        const struct iso_rate_curve **last = out.n ? &out.curve[out.n - 1] : NULL;
        if (!last || (*last)->d_model != c->d_model)
            out.curve[out.n++] = c;
        else if (fabs(log(c->per_param / typical)) < fabs(log((*last)->per_param / typical)))
            *last = c;
    }
    return out;
}

static void set_rate_axis(struct iso_panel *p, const struct iso_regret *g)
{
    double *rate = ISO_ARENA_NEW_N(&p->figure->arena, double, g->n_choice);
    for (size_t i = 0; i < g->n_choice; i++)
        rate[i] = g->choice[i].rate;
    iso_axis_set(&p->x, "Base rate of the matrices", ISO_SCALE_LOG, ISO_TICK_GIVEN);
    p->x.given = rate;
    p->x.n_given = g->n_choice;
}

static void add_chosen(struct iso_panel *p, const struct iso_regret *g)
{
    struct iso_series *rule = iso_panel_series(p, ISO_SERIES_RULE_X, iso_inks[ISO_INK_MUTED]);
    rule->width = 1;
    iso_series_add(p, rule, g->chosen, 0);
}

static void add_curve(struct iso_panel *p, const struct iso_rate_curve *c, struct iso_ink ink,
                      enum iso_mark mark, bool regret, const char *name)
{
    struct iso_series *line = iso_panel_line(p, ink, ISO_DASH_SOLID, 1.3);
    struct iso_series *marks = iso_panel_marks(p, ink, mark, 3.4);
    double last = NAN;
    for (size_t i = 0; i < c->n; i++) {
        const struct iso_rate_point *q = &c->point[i];
        double y = regret ? q->regret : q->loss;
        iso_series_add(p, line, q->rate, y);
        if (regret && y > most_regret)
            continue;
        iso_series_add_tip(p, marks, q->rate, y, "r = %g, d = %g\nbase rate %g\nloss %.4f (+%.4f)",
                           c->r, c->d_model, q->rate, q->loss, q->regret);
        last = y;
    }
    if (name)
        iso_panel_end_label(p, last, ink, name);
}

/* --- transfer --- */

static void build_panel(struct iso_panel *p, const struct iso_regret *g, const struct group *group,
                        const struct iso_fig_keys *keys, bool tokens)
{
    struct iso_figure *f = p->figure;
    double r = group->curve[0]->r, top = 0;
    p->title = iso_arena_printf(&f->arena, "%s, %s", iso_fig_arch_text(f, r),
                                tokens ? "over tokens" : "over width");
    set_rate_axis(p, g);
    iso_axis_set(&p->y, "Regret (nats)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    add_chosen(p, g);
    for (size_t i = 0; i < group->n; i++) {
        const struct iso_rate_curve *c = group->curve[i];
        for (size_t k = 0; k < c->n; k++)
            top = fmax(top, c->point[k].regret);
        const char *name = tokens ? iso_arena_printf(&f->arena, "%.3g/param", c->per_param)
                                  : iso_arena_printf(&f->arena, "{/:Italic d} = %g", c->d_model);
        add_curve(p, c, iso_fig_budget_ink(keys, c->budget), iso_fig_mark(keys, r), true, name);
    }
    iso_axis_range(&p->y, -0.05 * fmin(top, most_regret), 1.05 * fmin(top, most_regret));
}

/* Whether there is anything to show over widths, and over tokens. */
static void find_columns(bool columns[2], size_t *rows, const struct iso_regret *g)
{
    struct iso_arena arena = {0};
    struct iso_fig_keys keys = keys_of(&arena, &(struct iso_fig_rates){.regret = g});
    columns[0] = columns[1] = false;
    for (size_t i = 0; i < keys.n_r; i++) {
        columns[0] |= over_width(&arena, g, keys.r[i]).n > 1;
        columns[1] |= over_tokens(&arena, g, keys.r[i]).n > 1;
    }
    *rows = keys.n_r;
    iso_arena_release(&arena);
}

static const char *build_transfer(struct iso_figure *f, const void *data)
{
    const struct iso_fig_rates *of = data;
    const struct iso_regret *g = of->regret;
    bool columns[2];
    size_t rows;
    find_columns(columns, &rows, g);
    size_t cols = (size_t)columns[0] + (size_t)columns[1];
    if (cols == 0)
        return "The sweep has one width and one budget, so it shows no transfer.";
    iso_figure_init(f, (struct iso_panel_grid){.rows = rows,
                                               .cols = cols,
                                               .share_x = ISO_SHARE_ALL,
                                               .share_y = ISO_SHARE_ALL,
                                               .panel_height = 170,
                                               .right = 84});
    struct iso_fig_keys keys = keys_of(&f->arena, of);
    struct iso_panel *p = f->panel;
    for (size_t i = 0; i < rows; i++) {
        for (int tokens = 0; tokens < 2; tokens++) {
            if (!columns[tokens])
                continue;
            struct group group =
                tokens ? over_tokens(&f->arena, g, keys.r[i]) : over_width(&f->arena, g, keys.r[i]);
            build_panel(p++, g, &group, &keys, tokens);
        }
    }
    iso_fig_legend_budgets(f, &keys);
    return NULL;
}

const struct iso_figure_row iso_fig_rates_transfer = {
    .name = "rates-transfer",
    .title = "Transfer of the base rate",
    .caption = "Regret, the loss above the best rate of the same condition, against the base rate "
               "that goes into the transfer rule; one row per <i>r</i>. If the rule holds, the "
               "curves of all widths and of all training lengths have their bottom at one place. "
               "The vertical line is the chosen rate; regrets above 0.15 are not shown.",
    .build = build_transfer,
};

/* --- loss --- */

static const char *build_loss(struct iso_figure *f, const void *data)
{
    const struct iso_fig_rates *of = data;
    const struct iso_regret *g = of->regret;
    iso_figure_init(
        f, (struct iso_panel_grid){.rows = 1, .cols = 1, .panel_height = 230, .right = 66});
    struct iso_fig_keys keys = keys_of(&f->arena, of);
    struct iso_panel *p = f->panel;
    set_rate_axis(p, g);
    iso_axis_set(&p->y, "Validation loss (nats per token)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    add_chosen(p, g);
    for (size_t i = 0; i < g->n; i++) {
        const struct iso_rate_curve *c = &g->curve[i];
        add_curve(p, c, iso_fig_budget_ink(&keys, c->budget), iso_fig_mark(&keys, c->r), false,
                  iso_arena_printf(&f->arena, "{/:Italic d} = %g", c->d_model));
    }
    iso_fig_legend_archs(f, &keys);
    iso_fig_legend_budgets(f, &keys);
    return NULL;
}

const struct iso_figure_row iso_fig_rates_loss = {
    .name = "rates-loss",
    .title = "Loss against the base rate",
    .caption = "Validation loss of every run of the sweep; runs of one condition are joined. The "
               "vertical line is the chosen rate.",
    .build = build_loss,
};
