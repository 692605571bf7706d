/* The anchor: which runs with r = 1 a fit compares the looped ones with.
 *
 * There are two kinds.  A plain run is the stack of unshared layers.  A run of the unshared control
 * has the graph of a looped model, injection and norms included, with own weights for every
 * iteration; the law sees r = 1, too, but such runs differ from plain ones by what the graph
 * itself costs or gains.  So the two are mixed only on request, and what is not used is left out
 * with its reason. */
#ifndef ISO_FIT_ANCHOR_H
#define ISO_FIT_ANCHOR_H

#include "fit/runs.h"

/* "plain", "unshared", "both"; NULL for other numbers. */
const char *iso_anchor_name(enum iso_anchor anchor);
/* NULL is ISO_ANCHOR_AUTO. */
enum iso_status iso_anchor_parse(enum iso_anchor *out, const char *name, struct iso_err *err);
/* Settles runs->anchor by the runs that there are, moves what it does not use to those left out,
 * and notes what r = 1 means where the table has a control. */
void iso_anchor_settle(struct iso_runs *runs);

#endif
