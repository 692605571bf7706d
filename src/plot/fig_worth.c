/* What looping saves and what it costs.
 *
 * Left: per-token FLOPs, unique and effective parameters against r at one width, relative to
 * r = 1.  Right: the unique blocks that one block looped r times is worth by the law, between
 * two extremes: looping adds nothing, and a loop is as good as r blocks. */
#include "plot/figures.h"

#include "base/str.h"

#include <math.h>
#include <stdlib.h>

struct sizes {
    double flops, unique, effective;
};

/* An architecture at model width d; sizes grow with d^2 at fixed depth. */
static struct sizes sizes_at(const struct iso_analysis *analysis, const struct iso_flops_curve *c,
                             double d)
{
    double n = (d / c->width) * (d / c->width);
    struct iso_run run = {.r = c->r,
                          .n_once = c->once * n,
                          .n_rec = c->rec * n,
                          .n_inject = c->inject * n,
                          .n_embed = c->embed * sqrt(n)};
    return (struct sizes){iso_flops_curve_at(c, n), n, iso_fit_n_eff(&analysis->fit, &run)};
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_width(struct iso_figure *f, const struct iso_runs *runs)
{
    double *d = ISO_ARENA_NEW_N(&f->arena, double, runs->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        if (isfinite(runs->at[i].d_model))
            d[n++] = runs->at[i].d_model;
    qsort(d, n, sizeof *d, by_value);
    return n ? d[n / 2] : NAN;
}

static void axis_of_r(struct iso_panel *p, const struct iso_fig_keys *k)
{
    iso_axis_set(&p->x, "Recurrences {/:Italic r}", ISO_SCALE_LOG, ISO_TICK_GIVEN);
    p->x.given = k->r;
    p->x.n_given = k->n_r;
}

void iso_fig_sizes_panel(struct iso_panel *p, const struct iso_analysis *analysis,
                         const struct iso_fig_keys *k)
{
    double d = median_width(p->figure, analysis->runs);
    const struct iso_flops_curve *one = iso_fig_curve(&analysis->derived, 1);
    p->title = iso_arena_printf(&p->figure->arena,
                                "At equal depth and width ({/:Italic d}_{model} = %g)", d);
    axis_of_r(p, k);
    iso_axis_set(&p->y, "Relative to {/:Italic r} = 1 (%)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    struct iso_series *line[3], *mark[3];
    static const char *const names[] = {"FLOPs", "effective", "unique"};
    static const char *const words[] = {"training FLOPs per token", "effective parameters",
                                        "unique parameters"};
    static const enum iso_ink_name inks[] = {ISO_INK_MUTED, ISO_INK_ACCENT, ISO_INK_SECOND};
    for (int i = 0; i < 3; i++) {
        line[i] = iso_panel_line(p, iso_inks[inks[i]], iso_dash_of_arch((size_t)i), 1.6);
        mark[i] = iso_panel_marks(p, iso_inks[inks[i]], iso_mark_of_arch((size_t)i), 4.2);
    }
    struct sizes base = sizes_at(analysis, one, d);
    double last[3] = {0};
    for (size_t i = 0; i < analysis->derived.n_curves; i++) {
        const struct iso_flops_curve *c = &analysis->derived.curve[i];
        struct sizes s = sizes_at(analysis, c, d);
        const double at[3] = {s.flops, s.effective, s.unique};
        const double of[3] = {base.flops, base.effective, base.unique};
        for (int j = 0; j < 3; j++) {
            char count[32];
            last[j] = 100 * at[j] / of[j];
            iso_series_add(p, line[j], c->r, last[j]);
            iso_series_add_tip(p, mark[j], c->r, last[j], "r = %g\n%s %s\n%.1f %% of r = 1", c->r,
                               words[j], iso_format_count(count, at[j]), last[j]);
        }
    }
    for (int j = 0; j < 3; j++)
        iso_panel_end_label(p, last[j], iso_inks[inks[j]], names[j]);
}

static void build_blocks(struct iso_panel *p, const struct iso_analysis *analysis,
                         const struct iso_fig_keys *k)
{
    const struct iso_fit *fit = &analysis->fit;
    double top = k->r[k->n_r - 1];
    p->title = "Unique blocks that a looped block is worth";
    axis_of_r(p, k);
    iso_axis_set(&p->y, "Equivalent blocks", ISO_SCALE_LOG, ISO_TICK_GIVEN);
    p->y.given = k->r;
    p->y.n_given = k->n_r;
    struct iso_series *band = iso_panel_series(p, ISO_SERIES_BAND, iso_inks[ISO_INK_BAND]);
    const double extremes[] = {1, top};
    for (size_t i = 0; i < 2; i++) {
        struct iso_series *line =
            iso_panel_line(p, iso_inks[ISO_INK_MUTED], i ? ISO_DASH_SHORT : ISO_DASH_DOT, 1.3);
        iso_series_add(p, line, 1, 1);
        iso_series_add(p, line, top, extremes[i]);
        iso_panel_end_label(p, extremes[i], iso_inks[ISO_INK_MUTED],
                            i ? "{/:Italic r} blocks" : "1 block");
    }
    struct iso_series *line = iso_panel_line(p, iso_inks[ISO_INK_ACCENT], ISO_DASH_SOLID, 1.8);
    for (int i = 0; i <= 32; i++) {
        double r = pow(top, i / 32.0), interval[2];
        if (iso_fit_phi_per_r(fit)) /* nothing is known between the r's of the table */
            break;
        iso_series_add(p, line, r, iso_fit_worth(fit, r, 0));
        iso_analysis_worth_interval(interval, analysis, r);
        if (isfinite(interval[0]))
            iso_series_add(p, band, r, interval[0])->y2 = interval[1];
    }
    struct iso_series *mark = iso_panel_marks(p, iso_inks[ISO_INK_ACCENT], ISO_MARK_CIRCLE, 4.2);
    for (size_t i = 0; i < k->n_r; i++) {
        const double r = k->r[i], blocks = iso_fit_worth(fit, r, 0);
        iso_series_add_tip(p, mark, r, blocks,
                           "a block looped %g times\nis worth %.2f unique blocks\n(%.0f %% of %g)",
                           r, blocks, 100 * blocks / r, r);
    }
    const double blocks = iso_fit_worth(fit, top, 0);
    iso_panel_end_label(p, blocks, iso_inks[ISO_INK_ACCENT],
                        iso_arena_printf(&p->figure->arena, "%.2f", blocks));
    struct iso_str note = {0};
    for (size_t i = 0; i < k->n_r; i++)
        if (k->r[i] > 1)
            iso_str_printf(&note, "%s{/:Italic r} = %g: %.2f blocks", note.len ? "\n" : "", k->r[i],
                           iso_fit_worth(fit, k->r[i], 0));
    p->note = iso_arena_strdup(&p->figure->arena, iso_str_text(&note));
    iso_str_release(&note);
}

bool iso_fig_has_sizes(const struct iso_derived *d)
{
    for (size_t i = 0; i < d->n_curves; i++)
        if (!isfinite(d->curve[i].width))
            return false;
    return d->n_curves > 1 && iso_fig_curve(d, 1);
}

/* Only what is drawn. */
static void write_caption(struct iso_figure *f, const struct iso_analysis *analysis, bool sizes)
{
    double interval[2];
    iso_analysis_worth_interval(interval, analysis, 2);
    f->caption = iso_arena_printf(
        &f->arena,
        "%s blocks that one block looped <i>r</i> times is worth, %sbetween one block (looping "
        "adds nothing) and <i>r</i> blocks (a loop is as good as unique blocks).",
        sizes ? ISO_LEFT_PANEL ": " ISO_SIZES_WORDS ISO_RIGHT_PANEL ": unique" : "Unique",
        isfinite(interval[0]) ? "with its interval, " : "");
}

static const char *build(struct iso_figure *f, const void *data)
{
    const struct iso_analysis *analysis = data;
    const bool sizes = iso_fig_has_sizes(&analysis->derived);
    if (iso_law_shapes(analysis->fit.law) == 0)
        return "This law assumes what a recurrence is worth.";
    iso_figure_init(f, (struct iso_panel_grid){
                           .rows = 1, .cols = sizes ? 2 : 1, .panel_height = 250, .right = 62});
    struct iso_fig_keys k = iso_fig_keys_of(f, analysis->runs);
    if (sizes)
        iso_fig_sizes_panel(&f->panel[0], analysis, &k);
    build_blocks(&f->panel[sizes ? 1 : 0], analysis, &k);
    write_caption(f, analysis, sizes);
    return NULL;
}

const struct iso_figure_row iso_fig_worth = {
    .name = "worth",
    .title = "What one recurrence is worth",
    .caption = "Unique blocks that one block looped <i>r</i> times is worth.",
    .build = build,
};
