/* How well phi is known: its bootstrap distribution, its profile, and every interval and check
 * side by side. */
#include "plot/figures.h"

#include <math.h>

/* --- bootstrap and profile -------------------------------------------------------------------- */

static void add_interval(struct iso_panel *p, double low, double high, double top)
{
    if (!isfinite(low) || !isfinite(high))
        return;
    struct iso_series *band = iso_panel_series(p, ISO_SERIES_BAND, iso_inks[ISO_INK_BAND]);
    iso_series_add(p, band, low, 0)->y2 = top;
    iso_series_add(p, band, high, 0)->y2 = top;
}

static void build_histogram(struct iso_panel *p, const struct iso_analysis *analysis)
{
    const struct iso_bootstrap *b = &analysis->intervals.bootstrap[0];
    double lo = b->phi[0], hi = b->phi[b->n_resamples - 1];
    size_t n = (size_t)fmin(30, fmax(8, round(1.6 * sqrt((double)b->n_resamples))));
    double step = fmax(hi - lo, 1e-6) / (double)n;
    size_t *count = ISO_ARENA_NEW_N(&p->figure->arena, size_t, n), most = 0;
    for (size_t i = 0; i < b->n_resamples; i++) {
        size_t bin = (size_t)fmin((double)n - 1, (b->phi[i] - lo) / step);
        count[bin]++;
        most = count[bin] > most ? count[bin] : most;
    }
    double top = 1.3 * (double)most; /* room for the note above the bars */
    p->title =
        iso_arena_printf(&p->figure->arena, "Bootstrap over cells, %zu resamples", b->n_resamples);
    iso_axis_set(&p->x, "{/:Italic φ}", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    iso_axis_set(&p->y, "Resamples", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    iso_axis_range(&p->y, 0, top);
    add_interval(p, b->low, b->high, top);
    struct iso_series *bars = iso_panel_series(p, ISO_SERIES_BARS, iso_inks[ISO_INK_SECOND]);
    bars->width = step;
    for (size_t i = 0; i < n; i++)
        if (count[i])
            iso_series_add_tip(p, bars, lo + ((double)i + 0.5) * step, (double)count[i],
                               "φ from %.3f to %.3f\n%zu of %zu resamples", lo + (double)i * step,
                               lo + (double)(i + 1) * step, count[i], b->n_resamples);
    struct iso_series *rule = iso_panel_series(p, ISO_SERIES_RULE_X, iso_inks[ISO_INK_ACCENT]);
    rule->width = 1.6;
    iso_series_add(p, rule, analysis->fit.phi, 0);
    p->note =
        iso_arena_printf(&p->figure->arena, "{/:Italic φ} = %.3f\n%g %%: [%.3f, %.3f]",
                         analysis->fit.phi, 100 * analysis->options.fit.level, b->low, b->high);
}

static void build_profile(struct iso_panel *p, const struct iso_analysis *analysis)
{
    const struct iso_profile *q = &analysis->intervals.profile;
    const double highest = 3 * q->critical, top = 1.2 * highest; /* room for the note */
    p->title = "Profile";
    iso_axis_set(&p->x, "{/:Italic φ} held fixed", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    iso_axis_set(&p->y, "Rise of the objective (χ^{2} scale)", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    iso_axis_range(&p->y, 0, top);
    add_interval(p, q->low, q->high, top);
    struct iso_series *line = iso_panel_line(p, iso_inks[ISO_INK_SECOND], ISO_DASH_SOLID, 1.8);
    struct iso_series *dots = iso_panel_marks(p, iso_inks[ISO_INK_SECOND], ISO_MARK_CIRCLE, 2.2);
    for (size_t i = 0; i < q->n; i++) {
        if (!(q->statistic[i] <= highest))
            continue;
        iso_series_add(p, line, q->phi[i], q->statistic[i]);
        iso_series_add_tip(p, dots, q->phi[i], q->statistic[i],
                           "φ = %.3f\nrise %.2f\nHuber sum %.4g", q->phi[i], q->statistic[i],
                           q->huber_sum[i]);
    }
    struct iso_series *rule = iso_panel_series(p, ISO_SERIES_RULE_X, iso_inks[ISO_INK_ACCENT]);
    rule->width = 1.6;
    iso_series_add(p, rule, analysis->fit.phi, 0);
    struct iso_series *level = iso_panel_series(p, ISO_SERIES_RULE_Y, iso_inks[ISO_INK_MUTED]);
    level->dash = ISO_DASH_SHORT;
    iso_series_add(p, level, 0, q->critical);
    if (isfinite(q->low) && isfinite(q->high))
        p->note = iso_arena_printf(&p->figure->arena, "%g %%: [%.3f, %.3f]",
                                   100 * analysis->options.fit.level, q->low, q->high);
}

static const char *build_phi(struct iso_figure *f, const void *data)
{
    const struct iso_analysis *analysis = data;
    if (!analysis->has_intervals || analysis->intervals.n_bootstraps == 0 ||
        analysis->intervals.bootstrap[0].n_resamples < 2)
        return "No bootstrap was asked for, so there is no distribution of φ.";
    iso_figure_init(f, (struct iso_panel_grid){.rows = 1, .cols = 2, .panel_height = 250});
    build_histogram(&f->panel[0], analysis);
    build_profile(&f->panel[1], analysis);
    return NULL;
}

const struct iso_figure_row iso_fig_phi = {
    .name = "phi",
    .title = "Bootstrap and profile of φ",
    .caption = ISO_LEFT_PANEL
    ": φ refitted on resamples of the (budget, <i>r</i>) cells, each with its own "
    "starts. " ISO_RIGHT_PANEL
    ": the objective with φ held fixed and everything else refitted; the "
    "dashed level bounds the interval. The vertical line is the estimate, "
    "the band the interval.",
    .build = build_phi,
};

/* --- every interval and check ------------------------------------------------------------------
 */

/* Rows from top to bottom: a name, an estimate, and an interval when there is one. */
struct forest {
    struct iso_panel *p;
    struct iso_series *range, *point;
    double *at;
    const char **name;
    size_t n;
};

static void forest_row(struct forest *t, const char *name, double phi, double low, double high)
{
    if (!isfinite(phi))
        return;
    double y = -(double)t->n;
    t->at[t->n] = y;
    t->name[t->n++] = iso_figure_plain(t->p->figure, name);
    if (isfinite(low) && isfinite(high)) {
        struct iso_point *q = iso_series_add(t->p, t->range, low, y);
        q->x2 = high;
        iso_series_add_tip(t->p, t->point, phi, y, "%s\nφ = %.4f [%.4f, %.4f]", name, phi, low,
                           high);
    } else {
        iso_series_add_tip(t->p, t->point, phi, y, "%s\nφ = %.4f", name, phi);
    }
}

/* A check's name, with its budget as figures write it: "C ≤ 2.15·10¹⁸". */
static const char *check_name(struct iso_figure *f, const struct iso_robust_row *row)
{
    char budget[40];
    const bool low = isfinite(row->most), high = isfinite(row->least);
    if (!low && !high)
        return iso_arena_printf(&f->arena, "%s: %s", row->group, row->name);
    iso_power_plain(budget, low ? row->most : row->least);
    return iso_arena_printf(&f->arena, "%s: %s %s", row->group,
                            low ? "low half, C ≤" : "high half, C ≥", budget);
}

static void forest_intervals(struct forest *t, const struct iso_analysis *analysis)
{
    const struct iso_intervals *v = &analysis->intervals;
    struct iso_arena *arena = &t->p->figure->arena;
    for (size_t i = 0; i < v->n_bootstraps; i++)
        forest_row(
            t, iso_arena_printf(arena, "bootstrap over %ss", iso_block_name(v->bootstrap[i].block)),
            analysis->fit.phi, v->bootstrap[i].low, v->bootstrap[i].high);
    forest_row(t, "profile", analysis->fit.phi, v->profile.low, v->profile.high);
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < v->jackknife.n; i++)
        if (!v->jackknife.row[i].problem) {
            low = fmin(low, v->jackknife.row[i].phi);
            high = fmax(high, v->jackknife.row[i].phi);
        }
    if (low <= high)
        forest_row(t, "range when one budget, r or cell is left out", analysis->fit.phi, low, high);
}

/* From the estimates and the first `n` intervals; those that follow widen it by at most half. */
static void forest_range(struct forest *t, size_t n)
{
    double lo = HUGE_VAL, hi = -HUGE_VAL, wide[2];
    for (size_t i = 0; i < t->point->n_point; i++) {
        lo = fmin(lo, t->point->point[i].x);
        hi = fmax(hi, t->point->point[i].x);
    }
    for (size_t i = 0; i < n; i++) {
        lo = fmin(lo, t->range->point[i].x);
        hi = fmax(hi, t->range->point[i].x2);
    }
    const double most = 0.5 * (hi - lo) + 1e-3, air = 0.05 * (hi - lo) + 1e-3;
    wide[0] = lo;
    wide[1] = hi;
    for (size_t i = n; i < t->range->n_point; i++) {
        wide[0] = fmin(wide[0], fmax(t->range->point[i].x, lo - most));
        wide[1] = fmax(wide[1], fmin(t->range->point[i].x2, hi + most));
    }
    iso_axis_range(&t->p->x, wide[0] - air, wide[1] + air);
}

static size_t forest_rows(const struct iso_analysis *analysis)
{
    return (analysis->has_intervals ? analysis->intervals.n_bootstraps + 2 : 0) +
           (analysis->has_robust ? analysis->robust.n + analysis->robust.n_r : 0) + 2;
}

static const char *build_forest(struct iso_figure *f, const void *data)
{
    const struct iso_analysis *analysis = data;
    if (!isfinite(analysis->fit.phi))
        return "This law has no φ.";
    if (!analysis->has_intervals && !analysis->has_robust)
        return "Neither intervals nor checks were asked for.";
    size_t room = forest_rows(analysis);
    iso_figure_init(f, (struct iso_panel_grid){.rows = 1, .cols = 1, .panel_height = 1});
    struct forest t = {.p = f->panel,
                       .at = ISO_ARENA_NEW_N(&f->arena, double, room),
                       .name = ISO_ARENA_NEW_N(&f->arena, const char *, room)};
    struct iso_series *rule = iso_panel_series(t.p, ISO_SERIES_RULE_X, iso_inks[ISO_INK_ACCENT]);
    iso_series_add(t.p, rule, analysis->fit.phi, 0);
    t.range = iso_panel_series(t.p, ISO_SERIES_RANGES, iso_inks[ISO_INK_SECOND]);
    t.range->width = 2;
    t.point = iso_panel_marks(t.p, iso_inks[ISO_INK_TEXT], ISO_MARK_CIRCLE, 3.6);
    if (analysis->has_intervals)
        forest_intervals(&t, analysis);
    const size_t n_main = t.range->n_point;
    for (size_t i = 0; analysis->has_robust && i < analysis->robust.n; i++) {
        const struct iso_robust_row *row = &analysis->robust.row[i];
        if (!row->problem)
            forest_row(&t, check_name(f, row), row->phi, NAN, NAN);
    }
    for (size_t i = 0;
         analysis->has_robust && analysis->robust.phi_of_r && i < analysis->robust.n_r; i++) {
        const struct iso_phi_of_r *q = &analysis->robust.phi_of_r[i];
        forest_row(&t, iso_arena_printf(&f->arena, "own exponent of r = %g", q->r), q->phi,
                   q->phi - q->plus_minus, q->phi + q->plus_minus);
    }
    iso_axis_set(&t.p->x, "{/:Italic φ}", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    forest_range(&t, n_main);
    iso_axis_set(&t.p->y, "", ISO_SCALE_LINEAR, ISO_TICK_GIVEN);
    t.p->y.given = t.at;
    t.p->y.given_text = t.name;
    t.p->y.n_given = t.n;
    iso_axis_range(&t.p->y, -(double)t.n + 0.4, 0.6);
    f->grid.panel_height = 19 * (double)t.n + 8;
    for (size_t i = 0; i < t.n; i++)
        f->grid.left = fmin(330, fmax(f->grid.left, iso_text_width(t.name[i]) + 16));
    return NULL;
}

const struct iso_figure_row iso_fig_forest = {
    .name = "forest",
    .title = "φ under every interval and check",
    .caption =
        "Intervals of φ by method, and φ refitted with one choice changed at a "
        "time. The vertical line is the estimate of the headline; an arrow marks an interval "
        "that reaches beyond the axis.",
    .build = build_forest,
};
