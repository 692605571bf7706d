/* A figure as gnuplot commands.
 *
 * Each panel is one plot with its margins fixed in screen units; a last, invisible plot covers
 * the whole canvas in pixels and carries the legend and all texts.  Data go in as here-documents
 * with full precision. */
#include "plot/gnuplot.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Scale of the PDF: pixels to points, 720 px on 6.5 inches.  The factors make the pdfcairo
 * terminal's units points: it draws a line width of 1 half a point wide and takes a font size
 * for 96 units to the inch. */
static const double points_per_pixel = 6.5 * 72 / ISO_FIGURE_WIDTH;
static const double pdf_line_width = 2, pdf_font_scale = 0.75, pdf_dash_length = 2.36;

/* gnuplot's point types, and the radius in pixels that point size 1 has in each drawing. */
static const int point_type[ISO_N_MARK] = {
    [ISO_MARK_CIRCLE] = 7,   [ISO_MARK_SQUARE] = 5, [ISO_MARK_TRIANGLE] = 9,
    [ISO_MARK_DIAMOND] = 13, [ISO_MARK_DOWN] = 11,  [ISO_MARK_PENTAGON] = 15,
    [ISO_MARK_STAR] = 0,     [ISO_MARK_CROSS] = 2,
};
/* The terminals draw shapes of different sizes; these factors make them look alike. */
static const double optical_size[2][ISO_N_MARK] = {
    [ISO_DRAWING_SVG] =
        {
            [ISO_MARK_CIRCLE] = 1,
            [ISO_MARK_SQUARE] = 0.92,
            [ISO_MARK_TRIANGLE] = 1.02,
            [ISO_MARK_DIAMOND] = 0.88,
            [ISO_MARK_DOWN] = 1.02,
            [ISO_MARK_PENTAGON] = 0.87,
            [ISO_MARK_STAR] = 1,
            [ISO_MARK_CROSS] = 0.9,
        },
    [ISO_DRAWING_PDF] =
        {
            [ISO_MARK_CIRCLE] = 0.88,
            [ISO_MARK_SQUARE] = 0.8,
            [ISO_MARK_TRIANGLE] = 1.02,
            [ISO_MARK_DIAMOND] = 1.15,
            [ISO_MARK_DOWN] = 1.02,
            [ISO_MARK_PENTAGON] = 0.9,
            [ISO_MARK_STAR] = 1,
            [ISO_MARK_CROSS] = 0.9,
        },
};
static const double radius_of_size_1 = 4.5;

static const char *const dash_type[ISO_N_DASH] = {
    [ISO_DASH_SOLID] = "1",
    [ISO_DASH_LONG] = "(10,4)",
    [ISO_DASH_SHORT] = "(4,3)",
    [ISO_DASH_DOT] = "(1.5,2.5)",
    [ISO_DASH_DASHDOT] = "(8,3,1.5,3)",
    [ISO_DASH_DASHDOTDOT] = "(8,3,1.5,3,1.5,3)",
};

struct writer {
    struct iso_str *out;
    const struct iso_figure *f;
    enum iso_drawing drawing;
    size_t n_data;
};

static void put_rgb(struct writer *w, struct iso_ink ink)
{
    iso_str_printf(w->out, "rgb '#%02x%02x%02x'", ink.light.r, ink.light.g, ink.light.b);
}

/* In single quotes a quote is doubled.  A line end would end the text and begin a command, so
 * control characters become spaces; nothing else is special. */
static void put_text(struct writer *w, const char *text)
{
    iso_str_putc(w->out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            iso_str_putc(w->out, '\'');
        iso_str_putc(w->out, iscntrl((unsigned char)*text) ? ' ' : *text);
    }
    iso_str_putc(w->out, '\'');
}

static void put_numbers(struct writer *w, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char buf[32];
        iso_str_printf(w->out, "%s%s", i ? " " : "", iso_format_double(buf, x[i]));
    }
    iso_str_putc(w->out, '\n');
}

/* --- data ---------------------------------------------------------------------------------- */

/* A five-pointed star around a point, in the panel's units. */
static void put_star(struct writer *w, const struct iso_panel *p, double x, double y, double size)
{
    static const double pi = 3.14159265358979323846, waist = 0.45;
    double cx = iso_panel_px(p, x), cy = iso_panel_py(p, y);
    for (int i = 0; i <= 10; i++) {
        double radius = i % 2 ? waist * size : size, angle = pi * (i / 5.0 - 0.5);
        double corner[2] = {iso_panel_x_at(p, cx + radius * cos(angle)),
                            iso_panel_y_at(p, cy + radius * sin(angle))};
        put_numbers(w, corner, 2);
    }
    iso_str_putc(w->out, '\n');
}

static void put_rule(struct writer *w, const struct iso_panel *p, const struct iso_point *q,
                     bool vertical)
{
    double from[2] = {vertical ? q->x : p->x.lo, vertical ? p->y.lo : q->y};
    double to[2] = {vertical ? q->x : p->x.hi, vertical ? p->y.hi : q->y};
    put_numbers(w, from, 2);
    put_numbers(w, to, 2);
    iso_str_putc(w->out, '\n');
}

/* A horizontal interval; where it leaves the panel, an arrow says so. */
static void put_range(struct writer *w, const struct iso_panel *p, const struct iso_point *q)
{
    static const double back = 6, half = 3.5; /* pixels of the arrow's head */
    const double left = fmax(q->x, p->x.lo), right = fmin(q->x2, p->x.hi);
    put_numbers(w, (double[]){left, q->y}, 2);
    put_numbers(w, (double[]){right, q->y}, 2);
    iso_str_putc(w->out, '\n');
    for (int end = 0; end < 2; end++) {
        if (end ? q->x2 <= p->x.hi : q->x >= p->x.lo)
            continue;
        const double tip = iso_panel_px(p, end ? right : left), middle = iso_panel_py(p, q->y),
                     x = iso_panel_x_at(p, end ? tip - back : tip + back);
        put_numbers(w, (double[]){x, iso_panel_y_at(p, middle - half)}, 2);
        put_numbers(w, (double[]){end ? right : left, q->y}, 2);
        put_numbers(w, (double[]){x, iso_panel_y_at(p, middle + half)}, 2);
        iso_str_putc(w->out, '\n');
    }
}

static void put_point(struct writer *w, const struct iso_panel *p, const struct iso_series *s,
                      const struct iso_point *q)
{
    switch (s->kind) {
    case ISO_SERIES_LINE:
    case ISO_SERIES_MARKS:
        if (s->kind == ISO_SERIES_MARKS && s->mark == ISO_MARK_STAR)
            put_star(w, p, q->x, q->y, s->size);
        else
            put_numbers(w, (double[]){q->x, q->y}, 2);
        break;
    case ISO_SERIES_BARS:
        put_numbers(w, (double[]){q->x, q->y, s->width}, 3);
        break;
    case ISO_SERIES_BAND:
        put_numbers(w, (double[]){q->x, q->y, q->y2}, 3);
        break;
    case ISO_SERIES_RANGES:
        put_range(w, p, q);
        break;
    case ISO_SERIES_RULE_X:
    case ISO_SERIES_RULE_Y:
        put_rule(w, p, q, s->kind == ISO_SERIES_RULE_X);
        break;
    }
}

static void put_data(struct writer *w, const struct iso_panel *p, const struct iso_series *s)
{
    iso_str_printf(w->out, "$d%zu << EOD\n", w->n_data++);
    for (size_t i = 0; i < s->n_point; i++) {
        const struct iso_point *q = &s->point[i];
        if (isfinite(q->x) && isfinite(q->y) && isfinite(q->x2) && isfinite(q->y2))
            put_point(w, p, s, q);
    }
    iso_str_puts(w->out, "EOD\n");
}

/* --- how a series is drawn ------------------------------------------------------------------ */

static void put_line_style(struct writer *w, const struct iso_series *s)
{
    iso_str_puts(w->out, " with lines lc ");
    put_rgb(w, s->ink);
    iso_str_printf(w->out, " lw %.3g dt %s", s->width, dash_type[s->dash]);
}

static void put_mark_style(struct writer *w, const struct iso_series *s)
{
    if (s->mark == ISO_MARK_STAR) {
        /* An outline below the runs, so that a star cuts nothing that lies beside it. */
        iso_str_puts(w->out, " with lines lc ");
        put_rgb(w, s->ink);
        iso_str_printf(w->out, " lw %.3g", 1.3);
        return;
    }
    iso_str_puts(w->out, " with points lc ");
    put_rgb(w, s->ink);
    iso_str_printf(w->out, " pt %d ps %.3g lw %.3g", point_type[s->mark],
                   s->size * optical_size[w->drawing][s->mark] / radius_of_size_1, 1.2);
}

static void put_style(struct writer *w, const struct iso_series *s)
{
    switch (s->kind) {
    case ISO_SERIES_MARKS:
        put_mark_style(w, s);
        break;
    case ISO_SERIES_BARS:
        iso_str_puts(w->out, " using 1:2:3 with boxes fs solid 1 border lc ");
        put_rgb(w, iso_inks[ISO_INK_PAPER]);
        iso_str_puts(w->out, " fc ");
        put_rgb(w, s->ink);
        iso_str_printf(w->out, " lw %.3g", 0.8);
        break;
    case ISO_SERIES_BAND:
        iso_str_puts(w->out, " using 1:2:3 with filledcurves fs solid 1 noborder fc ");
        put_rgb(w, s->ink);
        break;
    case ISO_SERIES_LINE:
    case ISO_SERIES_RANGES:
    case ISO_SERIES_RULE_X:
    case ISO_SERIES_RULE_Y:
        put_line_style(w, s);
        break;
    }
}

/* --- panels --------------------------------------------------------------------------------- */

/* Range, scale and tick marks; the texts are set on the canvas, where both terminals put them
 * at the same place. */
static void put_axis(struct writer *w, char name, const struct iso_axis *a)
{
    char lo[32], hi[32];
    iso_str_printf(w->out, "%sset logscale %c\nset %crange [%s:%s] noextend\n",
                   a->scale == ISO_SCALE_LOG ? "" : "un", name, name, iso_format_double(lo, a->lo),
                   iso_format_double(hi, a->hi));
    iso_str_printf(w->out, "set %ctics nomirror out scale 0.45,0.25 (", name);
    for (size_t i = 0; i < a->n_tick; i++) {
        char at[32];
        iso_str_printf(w->out, "%s'' %s %d", i ? ", " : "", iso_format_double(at, a->tick[i].at),
                       !*a->tick[i].text);
    }
    iso_str_puts(w->out, ")\n");
}

static void put_margins(struct writer *w, double left, double top, double width, double height)
{
    const struct iso_figure *f = w->f;
    iso_str_printf(w->out,
                   "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
                   "set tmargin at screen %.6f\nset bmargin at screen %.6f\n",
                   left / f->width, (left + width) / f->width, 1 - top / f->height,
                   1 - (top + height) / f->height);
}

static void put_panel(struct writer *w, const struct iso_panel *p)
{
    size_t first = w->n_data;
    for (const struct iso_series *s = p->series; s; s = s->next)
        put_data(w, p, s);
    put_margins(w, p->left, p->top, p->width, p->height);
    put_axis(w, 'x', &p->x);
    put_axis(w, 'y', &p->y);
    iso_str_puts(w->out, "set border 3 lc ");
    put_rgb(w, iso_inks[ISO_INK_TEXT]);
    iso_str_printf(w->out, " lw %.3g\nset grid xtics ytics back lt 1 lc ", 0.8);
    put_rgb(w, iso_inks[ISO_INK_GRID]);
    iso_str_printf(w->out, " lw %.3g\nplot NaN", 0.8);
    for (const struct iso_series *s = p->series; s; s = s->next, first++) {
        if (s->n_point == 0)
            continue;
        iso_str_printf(w->out, ", \\\n  $d%zu", first);
        put_style(w, s);
    }
    iso_str_putc(w->out, '\n');
}

/* --- texts and legend, in pixels -------------------------------------------------------------- */

enum face { PLAIN, BOLD, UPRIGHT /* turned by 90 degrees */ };

static void put_label(struct writer *w, double x, double y, enum iso_align align,
                      struct iso_ink ink, enum face face, const char *text)
{
    static const char *const words[] = {
        [ISO_LEFT] = "left", [ISO_CENTRE] = "center", [ISO_RIGHT] = "right"};
    if (!*text)
        return;
    iso_str_puts(w->out, "set label ");
    const char *open = face == BOLD ? "{/:Bold " : "", *close = face == BOLD ? "}" : "";
    struct iso_str whole = {0};
    iso_str_printf(&whole, "%s%s%s", open, text, close);
    put_text(w, iso_str_text(&whole));
    iso_str_release(&whole);
    iso_str_printf(w->out, " at %.2f,%.2f %s%s front tc ", x, y, words[align],
                   face == UPRIGHT ? " rotate by 90" : "");
    put_rgb(w, ink);
    iso_str_putc(w->out, '\n');
}

/* Pixels between the axis line and the middle of its texts. */
static const double x_tick_drop = 14, x_label_drop = 32, y_tick_gap = 7, y_label_gap = 12;

static void put_axis_texts(struct writer *w, const struct iso_panel *p)
{
    struct iso_ink ink = iso_inks[ISO_INK_TEXT];
    double bottom = p->top + p->height, widest = 0;
    for (size_t i = 0; i < p->x.n_tick && !p->x.bare; i++)
        put_label(w, iso_panel_px(p, p->x.tick[i].at), bottom + x_tick_drop, ISO_CENTRE, ink, PLAIN,
                  p->x.tick[i].text);
    for (size_t i = 0; i < p->y.n_tick && !p->y.bare; i++) {
        put_label(w, p->left - y_tick_gap, iso_panel_py(p, p->y.tick[i].at), ISO_RIGHT, ink, PLAIN,
                  p->y.tick[i].text);
        widest = fmax(widest, iso_text_width(p->y.tick[i].text));
    }
    if (!p->x.bare)
        put_label(w, p->left + p->width / 2, bottom + x_label_drop, ISO_CENTRE, ink, PLAIN,
                  p->x.label);
    if (!p->y.bare)
        put_label(w, p->left - y_tick_gap - widest - y_label_gap, p->top + p->height / 2,
                  ISO_CENTRE, ink, UPRIGHT, p->y.label);
}

static void put_panel_texts(struct writer *w, const struct iso_panel *p)
{
    struct iso_ink text = iso_inks[ISO_INK_TEXT];
    if (p->title)
        put_label(w, p->left, p->top - 11, ISO_LEFT, text, BOLD, p->title);
    double y = p->note_top + ISO_FIGURE_LINE / 2.0;
    for (const char *line = p->note; line && *line; y += ISO_FIGURE_LINE) {
        struct iso_str one = {0};
        size_t len = strcspn(line, "\n");
        iso_str_append(&one, line, len);
        put_label(w, p->note_left, y, p->note_right ? ISO_RIGHT : ISO_LEFT, text, PLAIN,
                  iso_str_text(&one));
        iso_str_release(&one);
        line += len + (line[len] == '\n');
    }
    for (const struct iso_label *l = p->end_label; l; l = l->next)
        put_label(w, l->x, l->y, ISO_LEFT, l->ink, PLAIN, l->text);
}

/* The sample of a legend entry as a series on the canvas, whose units are pixels. */
static void put_legend_data(struct writer *w, const struct iso_panel *canvas,
                            const struct iso_legend *l)
{
    double middle = l->top + ISO_LEGEND_ROW / 2.0, right = l->left + l->sample_width - 6;
    double centre = (l->left + right) / 2;
    struct iso_point points[2] = {{l->left, middle, right, middle, NULL},
                                  {right, middle, right, middle, NULL}};
    struct iso_series s = l->sample;
    s.point = points;
    s.n_point = 1;
    switch (s.kind) {
    case ISO_SERIES_MARKS:
        points[0] = (struct iso_point){centre, middle, centre, middle, NULL};
        break;
    case ISO_SERIES_BARS:
    case ISO_SERIES_BAND: /* a small filled box */
        s.kind = ISO_SERIES_BAND;
        points[0] = (struct iso_point){l->left, middle - 5, l->left, middle + 5, NULL};
        points[1] = (struct iso_point){right, middle - 5, right, middle + 5, NULL};
        s.n_point = 2;
        break;
    case ISO_SERIES_LINE:
    case ISO_SERIES_RANGES:
    case ISO_SERIES_RULE_X:
    case ISO_SERIES_RULE_Y:
        s.kind = ISO_SERIES_RANGES;
        break;
    }
    put_data(w, canvas, &s);
}

static void put_legend_styles(struct writer *w, size_t first)
{
    for (const struct iso_legend *l = w->f->legend; l; l = l->next) {
        if (l->heading)
            continue;
        struct iso_series s = l->sample;
        if (s.kind == ISO_SERIES_BARS)
            s.kind = ISO_SERIES_BAND;
        iso_str_printf(w->out, ", \\\n  $d%zu", first++);
        put_style(w, &s);
    }
}

static void put_canvas(struct writer *w)
{
    const struct iso_figure *f = w->f;
    struct iso_panel canvas = {.x = {.lo = 0, .hi = f->width},
                               .y = {.lo = 0, .hi = f->height},
                               .width = f->width,
                               .height = -f->height,
                               .top = f->height};
    size_t first = w->n_data;
    for (const struct iso_legend *l = f->legend; l; l = l->next)
        if (!l->heading)
            put_legend_data(w, &canvas, l);
    put_margins(w, 0, 0, f->width, f->height);
    iso_str_printf(w->out,
                   "unset logscale\nset xrange [0:%g] noextend\nset yrange [%g:0] noextend\n"
                   "unset border\nunset tics\nunset grid\n",
                   f->width, f->height);
    for (const struct iso_legend *l = f->legend; l; l = l->next)
        put_label(w, l->left + l->sample_width, l->top + ISO_LEGEND_ROW / 2.0, ISO_LEFT,
                  iso_inks[ISO_INK_TEXT], l->heading ? BOLD : PLAIN, l->text);
    for (size_t i = 0; i < f->grid.rows * f->grid.cols; i++) {
        if (!f->panel[i].series) /* the grid has more places than there are panels */
            continue;
        put_axis_texts(w, &f->panel[i]);
        put_panel_texts(w, &f->panel[i]);
    }
    iso_str_puts(w->out, "plot NaN");
    put_legend_styles(w, first);
    iso_str_putc(w->out, '\n');
}

void iso_script_write(struct iso_str *out, const struct iso_figure *f, enum iso_drawing drawing)
{
    struct writer w = {.out = out, .f = f, .drawing = drawing};
    iso_str_puts(out, "set encoding utf8\n");
    if (drawing == ISO_DRAWING_SVG)
        iso_str_printf(out, "set terminal svg enhanced size %g,%g dynamic font 'sans-serif,%d'\n",
                       f->width, f->height, ISO_FIGURE_FONT);
    else
        iso_str_printf(out,
                       "set terminal pdfcairo enhanced size %.4fin,%.4fin font 'Sans,%.3f' "
                       "fontscale %.3f linewidth %.3f dashlength %.3f\n",
                       f->width * points_per_pixel / 72, f->height * points_per_pixel / 72,
                       ISO_FIGURE_FONT * points_per_pixel, pdf_font_scale,
                       pdf_line_width * points_per_pixel, pdf_dash_length);
    iso_str_puts(out, "unset key\nset multiplot\n");
    for (size_t i = 0; i < f->grid.rows * f->grid.cols; i++)
        if (f->panel[i].series)
            put_panel(&w, &f->panel[i]);
    put_canvas(&w);
    iso_str_puts(out, "unset multiplot\n");
}
