/* A figure: panels in a grid, each with two axes and a list of series, a legend on top.
 *
 * A figure's build function fills this description and knows nothing of the plotting program:
 * script.c turns it into gnuplot commands, svg.c puts hover values over the finished drawing.
 * That works because ranges, ticks and the place of every panel are decided here, in pixels.
 *
 * Texts are gnuplot's enhanced markup: N_{once}, 10^{18}, {/:Italic N}.  What comes from the user
 * goes through iso_figure_plain first.  Points that are not finite are left out.
 *
 * Everything lives in the figure's arena and goes with iso_figure_release. */
#ifndef ISO_PLOT_FIGURE_H
#define ISO_PLOT_FIGURE_H

#include "base/mem.h"
#include "plot/ink.h"

#include <stdbool.h>

/* The text width of a printed page is 6.5 inches; a figure as wide has this many pixels, so the
 * font below prints at about 8 points. */
enum { ISO_FIGURE_WIDTH = 720, ISO_FIGURE_FONT = 12, ISO_FIGURE_LINE = 16 };
enum { ISO_LEGEND_ROW = 19 }; /* pixels */

enum iso_scale { ISO_SCALE_LINEAR, ISO_SCALE_LOG };
enum iso_tick_style {
    ISO_TICK_PLAIN, /* 2.8 */
    ISO_TICK_POWER, /* 10^{18} */
    ISO_TICK_COUNT, /* 20M, 1B */
    ISO_TICK_GIVEN, /* only the values in `given` */
};

struct iso_tick {
    double at;
    const char *text; /* empty: a minor tick */
};

struct iso_axis {
    const char *label;
    enum iso_scale scale;
    enum iso_tick_style style;
    bool fixed; /* lo and hi were given and are kept */
    double lo, hi;
    const double *given;           /* for ISO_TICK_GIVEN */
    const char *const *given_text; /* NULL: the values themselves */
    size_t n_given;
    bool bare; /* ticks without texts, no label: a neighbour shows them */
    struct iso_tick *tick;
    size_t n_tick;
};

enum iso_series_kind {
    ISO_SERIES_LINE,
    ISO_SERIES_MARKS,
    ISO_SERIES_BARS,   /* from 0 to y, `width` of the axis wide, centred on x */
    ISO_SERIES_BAND,   /* between y and y2, filled */
    ISO_SERIES_RANGES, /* horizontal intervals x..x2 at y; an arrow where one leaves the panel */
    ISO_SERIES_RULE_X, /* a vertical line across the panel at each x */
    ISO_SERIES_RULE_Y, /* a horizontal one at each y */
};

struct iso_point {
    double x, y, x2, y2;
    const char *tip; /* what hovering shows, plain text with newlines, or NULL */
};

struct iso_series {
    enum iso_series_kind kind;
    struct iso_ink ink;
    enum iso_dash dash;
    enum iso_mark mark;
    double width; /* of lines in pixels; of bars in units of x */
    double size;  /* of marks: radius in pixels */
    struct iso_point *point;
    size_t n_point, room;
    struct iso_series *next;
};

enum iso_align { ISO_LEFT, ISO_CENTRE, ISO_RIGHT };

/* The name of a curve, right of the panel. */
struct iso_label {
    double x, y; /* y in the panel's units; after the layout both in pixels */
    const char *text;
    struct iso_ink ink;
    struct iso_label *next;
};

struct iso_panel {
    const char *title;
    const char *note; /* set into the emptiest corner, or NULL; lines separated by \n */
    struct iso_axis x, y;
    struct iso_series *series, **last;
    struct iso_label *end_label;     /* pushed apart by the layout */
    double left, top, width, height; /* of the plotting area, in pixels */
    double note_left, note_top;      /* of the note, in pixels */
    bool note_right;                 /* it is aligned to the right */
    struct iso_figure *figure;
};

struct iso_legend {
    struct iso_series sample; /* its kind and style; no points */
    bool heading;             /* no sample: begins a new row */
    const char *text;
    double left, top, sample_width; /* of its box, in pixels */
    struct iso_legend *next;
};

enum iso_share { ISO_SHARE_NONE, ISO_SHARE_LINE, ISO_SHARE_ALL };

/* How the panels are arranged: LINE shares an axis along a column (x) or a row (y), ALL over all.
 */
struct iso_panel_grid {
    size_t rows, cols;
    enum iso_share share_x, share_y;
    double panel_height; /* of the plotting area */
    double right;        /* room right of each panel, for end labels */
    double left;         /* room left of the panels; 0 for the usual */
};

struct iso_figure {
    struct iso_arena arena;
    struct iso_panel_grid grid;
    struct iso_panel *panel; /* [rows * cols], row by row */
    struct iso_legend *legend;
    const char *caption;  /* HTML; NULL for the usual one of its row */
    double width, height; /* in pixels, known after iso_figure_finish */
};

void iso_figure_init(struct iso_figure *f, struct iso_panel_grid grid);
void iso_figure_release(struct iso_figure *f);
/* One column of panels, for a narrow window.  Called before iso_figure_finish. */
void iso_figure_narrow(struct iso_figure *f);
/* Decides ranges, ticks and places.  Called once, after the build function. */
void iso_figure_finish(struct iso_figure *f);

void iso_axis_set(struct iso_axis *a, const char *label, enum iso_scale scale,
                  enum iso_tick_style style);
void iso_axis_range(struct iso_axis *a, double lo, double hi);

/* A new series, drawn over those before it. */
struct iso_series *iso_panel_line(struct iso_panel *p, struct iso_ink ink, enum iso_dash dash,
                                  double width);
struct iso_series *iso_panel_marks(struct iso_panel *p, struct iso_ink ink, enum iso_mark mark,
                                   double size);
struct iso_series *iso_panel_series(struct iso_panel *p, enum iso_series_kind kind,
                                    struct iso_ink ink);
/* A name right of the panel at height y; names that would overlap are pushed apart. */
void iso_panel_end_label(struct iso_panel *p, double y, struct iso_ink ink, const char *text);

struct iso_point *iso_series_add(struct iso_panel *p, struct iso_series *s, double x, double y);
/* The same with a hover text. */
void iso_series_add_tip(struct iso_panel *p, struct iso_series *s, double x, double y,
                        const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* An entry of the legend that looks like the series; NULL makes a heading that begins a row. */
void iso_figure_legend(struct iso_figure *f, const struct iso_series *like, const char *text);
/* User text with the characters of the markup escaped. */
const char *iso_figure_plain(struct iso_figure *f, const char *text);

/* Pixels of a point of the panel, once the figure is finished. */
double iso_panel_px(const struct iso_panel *p, double x);
double iso_panel_py(const struct iso_panel *p, double y);
/* And back. */
double iso_panel_x_at(const struct iso_panel *p, double px);
double iso_panel_y_at(const struct iso_panel *p, double py);

/* Approximate width in pixels of a text with markup at the figure's font. */
double iso_text_width(const char *markup);
/* Fills the ticks of an axis whose range is known and which is `pixels` long; `wide` is for
 * horizontal axes, whose texts are side by side. */
void iso_axis_ticks(struct iso_axis *a, struct iso_arena *arena, double pixels, bool wide);

#endif
