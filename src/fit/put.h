/* What the pages of fit and compare put into tables and JSON alike. */
#ifndef ISO_FIT_PUT_H
#define ISO_FIT_PUT_H

#include "base/json.h"
#include "base/table.h"
#include "fit/runs.h"

/* A cell; "-" for NaN. */
void iso_put_number(struct iso_table *t, const char *format, double x);
/* An r, and of the unshared control its iterations: "1 (4 unshared)". */
void iso_put_r(struct iso_table *t, double r, double unshared);
/* Members "r" and, of the unshared control, "unshared". */
void iso_put_r_json(struct iso_json_out *w, double r, double unshared);
/* 0 for what is printed as a zero with so many digits after the point: no zero has a minus. */
double iso_plain_zero(double x, int digits);
/* Rows of a table "Left out|run|why". */
void iso_left_out_put(struct iso_table *t, const struct iso_runs *runs);
/* Members "columns" (how the table was understood, where its names are not ours), "notes" and
 * "left_out". */
void iso_runs_put_json(struct iso_json_out *w, const struct iso_runs *runs);
/* An interval. */
void iso_put_pair(struct iso_json_out *w, const char *key, double low, double high);

#endif
