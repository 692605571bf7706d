/* Colours, dashes and markers: the one style table of every figure.
 *
 * Colour says the budget, dash and marker say r.  An ink has one value for light paper (screen
 * and print) and one for a dark page; figures are drawn in the light value and the page swaps
 * them (svg.c).
 *
 * The budget ramp is computed in OKLCh (Ottosson, "A perceptual color space for image
 * processing", 2020): lightness rises evenly with the budget while the hue runs from violet over
 * blue and green to orange, so the order survives colour blindness and grey print.
 *
 * What must stay true:
 * 1. every ink but GRID and BAND has a contrast of at least 3 against its page (WCAG 1.4.11);
 * 2. lightness is monotone in the budget, in both themes;
 * 3. the light values of different inks differ, for the page finds an ink by its light value. */
#ifndef ISO_PLOT_INK_H
#define ISO_PLOT_INK_H

#include <stddef.h>

struct iso_rgb {
    unsigned char r, g, b;
};

struct iso_ink {
    struct iso_rgb light, dark;
};

enum iso_ink_name {
    ISO_INK_TEXT,   /* text, axes, curves that belong to no budget */
    ISO_INK_MUTED,  /* what should stay in the background: reference lines, second curves */
    ISO_INK_ACCENT, /* the one thing to look at */
    ISO_INK_SECOND, /* a second thing beside the accent */
    ISO_INK_GRID,   /* grid lines */
    ISO_INK_BAND,   /* the fill of intervals */
    ISO_INK_PAPER,  /* the page itself: halos */
    ISO_N_INK
};

extern const struct iso_ink iso_inks[ISO_N_INK];

/* The ink of budget i of n, from the smallest to the largest. */
struct iso_ink iso_ink_budget(size_t i, size_t n);

/* OKLCh (lightness 0..1, chroma, hue in degrees) to sRGB; chroma is reduced until it fits. */
struct iso_rgb iso_rgb_from_oklch(double lightness, double chroma, double hue);
/* WCAG 2 contrast ratio, 1..21. */
double iso_rgb_contrast(struct iso_rgb a, struct iso_rgb b);

enum iso_mark {
    ISO_MARK_CIRCLE,
    ISO_MARK_SQUARE,
    ISO_MARK_TRIANGLE,
    ISO_MARK_DIAMOND,
    ISO_MARK_DOWN,
    ISO_MARK_PENTAGON,
    ISO_MARK_STAR, /* compute optima; drawn as a polygon */
    ISO_MARK_CROSS,
    ISO_N_MARK
};

enum iso_dash {
    ISO_DASH_SOLID,
    ISO_DASH_LONG,
    ISO_DASH_SHORT,
    ISO_DASH_DOT,
    ISO_DASH_DASHDOT,
    ISO_DASH_DASHDOTDOT,
    ISO_N_DASH
};

/* Marker and dash of the i-th architecture (r in rising order); they repeat after six. */
enum iso_mark iso_mark_of_arch(size_t i);
enum iso_dash iso_dash_of_arch(size_t i);

#endif
