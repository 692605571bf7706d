/* Layout: ranges from the data, places from the grid, then everything that needs both.
 *
 * What must stay true:
 * 1. every point that has a finite place lies inside its panel, unless the range was given;
 * 2. panels, their axis texts and the legend do not overlap;
 * 3. names at the ends of curves are at least a line apart and in the order of the curves. */
#include "plot/figure.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels around the plotting areas. */
static const double left_room = 60, left_bare = 12, right_room = 14, below_room = 42,
                    below_bare = 14, title_room = 22, no_title_room = 8, legend_below = 6;

static double forward(const struct iso_axis *a, double x)
{
    return a->scale == ISO_SCALE_LOG ? log10(x) : x;
}

static double backward(const struct iso_axis *a, double u)
{
    return a->scale == ISO_SCALE_LOG ? pow(10, u) : u;
}

double iso_panel_px(const struct iso_panel *p, double x)
{
    double lo = forward(&p->x, p->x.lo), hi = forward(&p->x, p->x.hi);
    return p->left + p->width * (forward(&p->x, x) - lo) / (hi - lo);
}

double iso_panel_py(const struct iso_panel *p, double y)
{
    double lo = forward(&p->y, p->y.lo), hi = forward(&p->y, p->y.hi);
    return p->top + p->height * (1 - (forward(&p->y, y) - lo) / (hi - lo));
}

double iso_panel_x_at(const struct iso_panel *p, double px)
{
    double lo = forward(&p->x, p->x.lo), hi = forward(&p->x, p->x.hi);
    return backward(&p->x, lo + (hi - lo) * (px - p->left) / p->width);
}

double iso_panel_y_at(const struct iso_panel *p, double py)
{
    double lo = forward(&p->y, p->y.lo), hi = forward(&p->y, p->y.hi);
    return backward(&p->y, lo + (hi - lo) * (1 - (py - p->top) / p->height));
}

/* --- ranges ------------------------------------------------------------------------------- */

static void widen(struct iso_axis *a, double x)
{
    if (a->fixed || !isfinite(x) || (a->scale == ISO_SCALE_LOG && x <= 0))
        return;
    a->lo = fmin(a->lo, x);
    a->hi = fmax(a->hi, x);
}

static void data_range(struct iso_panel *p)
{
    if (!p->x.fixed)
        p->x.lo = HUGE_VAL, p->x.hi = -HUGE_VAL;
    if (!p->y.fixed)
        p->y.lo = HUGE_VAL, p->y.hi = -HUGE_VAL;
    for (const struct iso_series *s = p->series; s; s = s->next)
        for (size_t i = 0; i < s->n_point; i++) {
            const struct iso_point *q = &s->point[i];
            double half = s->kind == ISO_SERIES_BARS ? s->width / 2 : 0;
            if (s->kind != ISO_SERIES_RULE_Y) {
                widen(&p->x, q->x - half);
                widen(&p->x, q->x2 + half);
            }
            if (s->kind != ISO_SERIES_RULE_X) {
                widen(&p->y, q->y);
                widen(&p->y, s->kind == ISO_SERIES_BARS ? 0 : q->y2);
            }
        }
}

/* Some air around the data; an empty or single-valued axis gets a unit of it. */
static void pad(struct iso_axis *a, double fraction)
{
    if (a->fixed && a->lo < a->hi)
        return;
    if (a->lo > a->hi)
        a->lo = a->hi = 1;
    double lo = forward(a, a->lo), hi = forward(a, a->hi), air = fraction * (hi - lo);
    if (air <= 1e-12 * fmax(fabs(lo), fabs(hi)) || air == 0)
        air = a->scale == ISO_SCALE_LOG ? 0.3 : 0.05 * fmax(fabs(lo), 1);
    bool on_zero = a->lo == 0 && a->scale == ISO_SCALE_LINEAR; /* bars begin on the axis */
    a->lo = on_zero ? 0 : backward(a, lo - air);
    a->hi = backward(a, hi + air);
}

static void unite(struct iso_axis *a, struct iso_axis *b)
{
    a->lo = b->lo = fmin(a->lo, b->lo);
    a->hi = b->hi = fmax(a->hi, b->hi);
}

static bool shares(enum iso_share share, size_t line_a, size_t line_b)
{
    return share == ISO_SHARE_ALL || (share == ISO_SHARE_LINE && line_a == line_b);
}

static void share_ranges(struct iso_figure *f)
{
    size_t n = f->grid.rows * f->grid.cols, cols = f->grid.cols;
    for (int pass = 0; pass < 2; pass++) /* the second pass carries the last union back */
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < i; k++) {
                if (shares(f->grid.share_x, i % cols, k % cols))
                    unite(&f->panel[i].x, &f->panel[k].x);
                if (shares(f->grid.share_y, i / cols, k / cols))
                    unite(&f->panel[i].y, &f->panel[k].y);
            }
}

/* --- places ------------------------------------------------------------------------------- */

static double place_legend(struct iso_figure *f, double left)
{
    double x = left, y = 4;
    for (struct iso_legend *l = f->legend; l; l = l->next) {
        l->sample_width = l->heading ? 0 : l->sample.kind == ISO_SERIES_MARKS ? 16 : 28;
        double text = iso_text_width(l->text) * (l->heading ? 1.12 : 1); /* headings are bold */
        double width = l->sample_width + text;
        if (l != f->legend && (l->heading || x + width > f->width)) {
            x = left;
            y += ISO_LEGEND_ROW;
        }
        l->left = x;
        l->top = y;
        x += width + 12;
    }
    return f->legend ? y + ISO_LEGEND_ROW + legend_below : 0;
}

static bool row_has_title(const struct iso_figure *f, size_t row)
{
    for (size_t c = 0; c < f->grid.cols; c++)
        if (f->panel[row * f->grid.cols + c].title)
            return true;
    return false;
}

static void place_panels(struct iso_figure *f)
{
    const struct iso_panel_grid *g = &f->grid;
    double first = g->left > 0 ? g->left : left_room, right = g->right > 0 ? g->right : right_room;
    double between = g->share_y != ISO_SHARE_NONE ? left_bare : left_room;
    double width = (f->width - first - between * (double)(g->cols - 1) - right * (double)g->cols) /
                   (double)g->cols;
    ISO_ASSERT(width > 20);
    double y = place_legend(f, first);
    for (size_t row = 0; row < g->rows; row++) {
        bool bare_x = g->share_x != ISO_SHARE_NONE && row + 1 < g->rows;
        y += row_has_title(f, row) ? title_room : no_title_room;
        for (size_t col = 0; col < g->cols; col++) {
            struct iso_panel *p = &f->panel[row * g->cols + col];
            p->left = first + (double)col * (width + right + between);
            p->top = y;
            p->width = width;
            p->height = g->panel_height;
            p->x.bare = bare_x;
            p->y.bare = g->share_y != ISO_SHARE_NONE && col > 0;
        }
        y += g->panel_height + (bare_x ? below_bare : below_room);
    }
    f->height = ceil(y);
}

/* --- names at the ends of curves ------------------------------------------------------------ */

struct slot {
    double y;
    struct iso_label *label;
};

static int by_height(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    return (x->y > y->y) - (x->y < y->y);
}

/* Moves the labels apart from the highest down; when they run over the bottom, pushes them up. */
static void spread_end_labels(struct iso_panel *p)
{
    size_t n = 0, room = 0;
    struct slot *slot = NULL;
    for (struct iso_label *l = p->end_label; l; l = l->next)
        *ISO_PUSH(slot, n, room) = (struct slot){iso_panel_py(p, l->y), l};
    if (n)
        qsort(slot, n, sizeof *slot, by_height);
    const double step = ISO_FIGURE_LINE - 1;
    for (size_t i = 1; i < n; i++)
        slot[i].y = fmax(slot[i].y, slot[i - 1].y + step);
    double bottom = p->top + p->height;
    for (size_t i = n; i-- > 0; bottom = slot[i].y - step) {
        slot[i].y = fmin(slot[i].y, bottom);
        slot[i].label->y = slot[i].y;
        slot[i].label->x = p->left + p->width + 6;
    }
    free(slot);
}

/* --- notes -------------------------------------------------------------------------------- */

static size_t points_inside(const struct iso_panel *p, double x0, double y0, double x1, double y1)
{
    size_t n = 0;
    for (const struct iso_series *s = p->series; s; s = s->next)
        for (size_t i = 0; i < s->n_point; i++) {
            double x = iso_panel_px(p, s->point[i].x), y = iso_panel_py(p, s->point[i].y);
            double foot = s->kind == ISO_SERIES_BARS ? p->top + p->height : y;
            n += x > x0 && x < x1 && y < y1 && foot > y0;
        }
    return n;
}

static void place_note(struct iso_panel *p)
{
    if (!p->note)
        return;
    double width = 0, lines = 1;
    for (const char *line = p->note; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t len = strcspn(line, "\n");
        width = fmax(width, iso_text_width(iso_arena_strndup(&p->figure->arena, line, len)));
        lines += line[len] == '\n';
    }
    double height = lines * ISO_FIGURE_LINE, air = 8;
    size_t best = (size_t)-1;
    for (int corner = 0; corner < 4; corner++) { /* upper left, upper right, lower left, ... */
        bool right = corner & 1, low = corner & 2;
        double x = right ? p->left + p->width - width - air : p->left + air;
        double y = low ? p->top + p->height - height - air : p->top + air;
        size_t n = points_inside(p, x - air, y - air, x + width + air, y + height + air);
        if (n >= best)
            continue;
        best = n;
        p->note_right = right;
        p->note_left = right ? p->left + p->width - air : x;
        p->note_top = y;
    }
}

void iso_figure_narrow(struct iso_figure *f)
{
    static const double width = 400, least_panel = 180;
    struct iso_panel_grid *g = &f->grid;
    size_t n = g->rows * g->cols;
    while (n > 1 && !f->panel[n - 1].series) /* places of the grid that are not used */
        n--;
    /* A line of panels that shared an axis is no line any more. */
    if (g->cols > 1 && g->share_x == ISO_SHARE_LINE)
        g->share_x = ISO_SHARE_NONE;
    if (g->cols > 1 && g->share_y == ISO_SHARE_LINE)
        g->share_y = ISO_SHARE_NONE;
    g->rows = n;
    g->cols = 1;
    f->width = fmax(width, fmax(g->left, left_room) + fmax(g->right, right_room) + least_panel);
}

void iso_figure_finish(struct iso_figure *f)
{
    size_t n = f->grid.rows * f->grid.cols;
    for (size_t i = 0; i < n; i++)
        data_range(&f->panel[i]);
    share_ranges(f);
    for (size_t i = 0; i < n; i++) {
        pad(&f->panel[i].x, 0.04);
        pad(&f->panel[i].y, 0.06);
    }
    place_panels(f);
    for (size_t i = 0; i < n; i++) {
        struct iso_panel *p = &f->panel[i];
        iso_axis_ticks(&p->x, &f->arena, p->width, true);
        iso_axis_ticks(&p->y, &f->arena, p->height, false);
        spread_end_labels(p);
        place_note(p);
    }
}
