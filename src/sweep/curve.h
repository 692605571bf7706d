/* The training loss of a run so far, thinned out to a curve that can be drawn. */
#ifndef ISO_SWEEP_CURVE_H
#define ISO_SWEEP_CURVE_H

#include <stddef.h>

enum { ISO_CURVE_POINTS = 96 };

/* Points in rising order of steps; each is the mean over a stretch of metrics.jsonl. */
struct iso_curve {
    double step[ISO_CURVE_POINTS], loss[ISO_CURVE_POINTS];
    size_t n;
};

/* Reads DIR/metrics.jsonl, however long it is, in ISO_CURVE_POINTS places. */
void iso_curve_read(struct iso_curve *curve, const char *dir);
/* Adds the mean of the whole lines in a piece of that file; lines that are none are ignored. */
void iso_curve_add(struct iso_curve *curve, const char *piece, size_t len);

#endif
