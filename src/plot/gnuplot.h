/* gnuplot: the one file of the program that starts it is gnuplot.c.
 *
 * A figure is drawn twice from one description, as SVG and as PDF. */
#ifndef ISO_PLOT_GNUPLOT_H
#define ISO_PLOT_GNUPLOT_H

#include "base/err.h"
#include "base/str.h"
#include "plot/figure.h"

enum iso_drawing { ISO_DRAWING_SVG, ISO_DRAWING_PDF };

/* The commands that draw a finished figure to standard output. */
void iso_script_write(struct iso_str *out, const struct iso_figure *f, enum iso_drawing drawing);

/* Runs gnuplot on a script; `drawn` gets what it writes to standard output.  ISO_MISSING when there
 * is no gnuplot (the message says how to get it); ISO_IO with gnuplot's own words when it fails. */
enum iso_status iso_gnuplot_run(struct iso_str *drawn, const char *script, size_t len,
                                struct iso_err *err);

/* Draws a finished figure; `svg` gets the text of the cleaned SVG. */
enum iso_status iso_figure_svg(struct iso_str *svg, const struct iso_figure *f,
                               struct iso_err *err);
/* Draws a finished figure as DIR/NAME.svg and DIR/NAME.pdf, each atomically; `svg` gets the text
 * of the SVG. */
enum iso_status iso_figure_draw(struct iso_str *svg, const struct iso_figure *f, const char *dir,
                                const char *name, struct iso_err *err);

#endif
