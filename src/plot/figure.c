/* Figures: building the description.  Ranges and places are in layout.c. */
#include "plot/figure.h"

#include "base/err.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void iso_figure_init(struct iso_figure *f, struct iso_panel_grid grid)
{
    *f = (struct iso_figure){.grid = grid, .width = ISO_FIGURE_WIDTH};
    ISO_ASSERT(grid.rows > 0 && grid.cols > 0);
    f->panel = ISO_ARENA_NEW_N(&f->arena, struct iso_panel, grid.rows * grid.cols);
    for (size_t i = 0; i < grid.rows * grid.cols; i++) {
        struct iso_panel *p = &f->panel[i];
        p->figure = f;
        p->last = &p->series;
        iso_axis_set(&p->x, "", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
        iso_axis_set(&p->y, "", ISO_SCALE_LINEAR, ISO_TICK_PLAIN);
    }
}

void iso_figure_release(struct iso_figure *f)
{
    for (size_t i = 0; i < f->grid.rows * f->grid.cols; i++)
        for (struct iso_series *s = f->panel[i].series; s; s = s->next)
            free(s->point);
    iso_arena_release(&f->arena);
    *f = (struct iso_figure){0};
}

void iso_axis_set(struct iso_axis *a, const char *label, enum iso_scale scale,
                  enum iso_tick_style style)
{
    *a = (struct iso_axis){.label = label, .scale = scale, .style = style};
}

void iso_axis_range(struct iso_axis *a, double lo, double hi)
{
    a->lo = lo;
    a->hi = hi;
    a->fixed = true;
}

struct iso_series *iso_panel_series(struct iso_panel *p, enum iso_series_kind kind,
                                    struct iso_ink ink)
{
    struct iso_series *s = ISO_ARENA_NEW(&p->figure->arena, struct iso_series);
    *s = (struct iso_series){.kind = kind, .ink = ink, .width = 1};
    *p->last = s;
    p->last = &s->next;
    return s;
}

struct iso_series *iso_panel_line(struct iso_panel *p, struct iso_ink ink, enum iso_dash dash,
                                  double width)
{
    struct iso_series *s = iso_panel_series(p, ISO_SERIES_LINE, ink);
    s->dash = dash;
    s->width = width;
    return s;
}

struct iso_series *iso_panel_marks(struct iso_panel *p, struct iso_ink ink, enum iso_mark mark,
                                   double size)
{
    struct iso_series *s = iso_panel_series(p, ISO_SERIES_MARKS, ink);
    s->mark = mark;
    s->size = size;
    return s;
}

void iso_panel_end_label(struct iso_panel *p, double y, struct iso_ink ink, const char *text)
{
    struct iso_label *l = ISO_ARENA_NEW(&p->figure->arena, struct iso_label);
    *l = (struct iso_label){.y = y, .text = text, .ink = ink, .next = p->end_label};
    p->end_label = l;
}

struct iso_point *iso_series_add(struct iso_panel *p, struct iso_series *s, double x, double y)
{
    (void)p;
    struct iso_point *at = ISO_PUSH(s->point, s->n_point, s->room);
    *at = (struct iso_point){.x = x, .y = y, .x2 = x, .y2 = y};
    return at;
}

void iso_series_add_tip(struct iso_panel *p, struct iso_series *s, double x, double y,
                        const char *fmt, ...)
{
    struct iso_str text = {0};
    va_list ap;
    va_start(ap, fmt);
    iso_str_vprintf(&text, fmt, ap);
    va_end(ap);
    iso_series_add(p, s, x, y)->tip =
        iso_arena_strndup(&p->figure->arena, iso_str_text(&text), text.len);
    iso_str_release(&text);
}

void iso_figure_legend(struct iso_figure *f, const struct iso_series *like, const char *text)
{
    struct iso_legend **at = &f->legend;
    while (*at)
        at = &(*at)->next;
    *at = ISO_ARENA_NEW(&f->arena, struct iso_legend);
    (*at)->text = text;
    (*at)->heading = !like;
    if (like)
        (*at)->sample = *like;
    (*at)->sample.point = NULL;
    (*at)->sample.n_point = 0;
}

const char *iso_figure_plain(struct iso_figure *f, const char *text)
{
    struct iso_str shown = {0};
    iso_str_put_visible(&shown, text, "\n\t");
    char *out = iso_arena_alloc(&f->arena, 2 * shown.len + 1, 1), *p = out;
    for (text = iso_str_text(&shown); *text; text++) {
        if (strchr("_^{}@&~\\", *text))
            *p++ = '\\';
        *p++ = (unsigned char)*text < ' ' ? ' ' : *text;
    }
    iso_str_release(&shown);
    return out;
}
