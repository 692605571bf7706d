/* The layers of each architecture, from the sizes of its runs: a block of width d has 12 d^2
 * parameters. */
#include "plot/figures.h"

#include <math.h>

static void add_box(struct iso_panel *p, struct iso_ink ink, double x, double from, double to)
{
    static const double half = 0.36, air = 0.06;
    struct iso_series *box = iso_panel_series(p, ISO_SERIES_BAND, ink);
    iso_series_add(p, box, x - half, from + air)->y2 = to - air;
    iso_series_add(p, box, x + half, from + air)->y2 = to - air;
}

/* Layers used once, and of the recurrent block; false when the sizes are not those of whole
 * layers. */
static bool layers_of(double *once, double *rec, const struct iso_run *run)
{
    const double block = 12 * run->d_model * run->d_model;
    *once = round(run->n_once / block);
    *rec = round(run->n_rec / block);
    return fabs(*once * block - run->n_once) < 0.01 * block &&
           fabs(*rec * block - run->n_rec) < 0.01 * block && *once + *rec >= 1;
}

static const struct iso_run *first_of(const struct iso_runs *runs, double r)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->at[i].r == r)
            return &runs->at[i];
    return NULL;
}

static void add_stack(struct iso_panel *p, double x, double r, double once, double rec)
{
    const double prelude = rec > 0 ? floor(once / 2) : once, coda = once - prelude;
    double at = 0;
    for (int i = 0; i < (int)prelude; i++, at++)
        add_box(p, iso_inks[ISO_INK_MUTED], x, at, at + 1);
    for (int pass = 0; rec > 0 && pass < (int)r; pass++, at += rec)
        add_box(p, iso_inks[pass == 0 ? ISO_INK_ACCENT : ISO_INK_BAND], x, at, at + rec);
    for (int i = 0; i < (int)coda; i++, at++)
        add_box(p, iso_inks[ISO_INK_MUTED], x, at, at + 1);
}

static const char *build(struct iso_figure *f, const void *data)
{
    const struct iso_analysis *analysis = data;
    struct iso_arena scratch = {0};
    double *r, once, rec;
    const size_t n = iso_runs_recurrences(&r, &scratch, analysis->runs);
    bool whole = true;
    for (size_t i = 0; i < n; i++)
        whole &= layers_of(&once, &rec, first_of(analysis->runs, r[i]));
    iso_arena_release(&scratch);
    if (!whole)
        return "The sizes are not those of whole layers of 12 d² parameters.";
    iso_figure_init(f, (struct iso_panel_grid){.rows = 1, .cols = 1, .panel_height = 240});
    const struct iso_fig_keys k = iso_fig_keys_of(f, analysis->runs);
    struct iso_panel *p = f->panel;
    double *at = ISO_ARENA_NEW_N(&f->arena, double, k.n_r);
    const char **name = ISO_ARENA_NEW_N(&f->arena, const char *, k.n_r);
    for (size_t i = 0; i < k.n_r; i++) {
        layers_of(&once, &rec, first_of(analysis->runs, k.r[i]));
        at[i] = (double)i;
        name[i] = rec > 0 ? iso_arena_printf(&f->arena, "%s: %g × %g layers",
                                             iso_fig_arch_text(f, k.r[i]), k.r[i], rec)
                          : iso_fig_arch_text(f, k.r[i]);
        add_stack(p, at[i], k.r[i], once, rec);
    }
    iso_axis_set(&p->x, "", ISO_SCALE_LINEAR, ISO_TICK_GIVEN);
    p->x.given = at;
    p->x.given_text = name;
    p->x.n_given = k.n_r;
    iso_axis_range(&p->x, -0.5, (double)k.n_r - 0.5);
    iso_axis_set(&p->y, "Layers passed", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    struct iso_series like = {.kind = ISO_SERIES_BAND, .ink = iso_inks[ISO_INK_MUTED]};
    iso_figure_legend(f, &like, "layers used once");
    like.ink = iso_inks[ISO_INK_ACCENT];
    iso_figure_legend(f, &like, "recurrent block, first pass");
    like.ink = iso_inks[ISO_INK_BAND];
    iso_figure_legend(f, &like, "the same block again");
    return NULL;
}

const struct iso_figure_row iso_fig_stacks = {
    .name = "stacks",
    .title = "The stacks",
    .caption = "Layers of each architecture in the order in which a token passes them.",
    .build = build,
};
