/* Moving the widths of a planned budget to where the finished ones say that the optima lie.
 *
 * The optimum of a (budget, r) cell is the minimum of the parabola of its losses over ln d.  It
 * grows as C^0.25 (the paper's exponent of N* over C is about one half; the pilot of the desk study
 * has 40 at 4e12 and 56 at 1.6e13), so every finished budget predicts the optimum of the next one,
 * and the mean of ln d counts.  Widths that hold it with a margin of 1.2 on both sides stay;
 * others are moved by one factor, so that it becomes their centre.
 *
 * A decision is a pure function of the finished runs and the planned widths.  It is kept in
 * STUDY/adapt.json, and whoever resumes the study takes it from there. */
#ifndef ISO_FIT_ADAPT_H
#define ISO_FIT_ADAPT_H

#include "base/json.h"
#include "base/table.h"
#include "fit/runs.h"

enum { ISO_ADAPT_WIDTHS = 16 };

/* What was decided about one (budget, r). */
struct iso_adaption {
    double budget, r;
    double optimum; /* expected width; NaN when no finished budget says anything */
    size_t n_from;  /* finished budgets that say so */
    size_t n;       /* widths */
    double planned[ISO_ADAPT_WIDTHS], chosen[ISO_ADAPT_WIDTHS]; /* d_model, rising */
};

struct iso_adaptions {
    struct iso_adaption *at; /* owned */
    size_t n, room;
};

/* What the widths must keep to. */
struct iso_adapt_limits {
    double unit;   /* widths are multiples of it */
    double tokens; /* that a run may train on; INFINITY: any number */
};

/* Chooses widths for `a`, whose budget, r and planned widths are filled in, from the finished runs
 * of lower budgets. */
void iso_adapt(struct iso_adaption *a, const struct iso_runs *finished,
               const struct iso_adapt_limits *limits);
bool iso_adapt_moved(const struct iso_adaption *a);
/* "4e+12, r = 2: optimum about 56 (from 2 budgets); 32 48 64 moved to 40 56 80". */
void iso_adapt_describe(struct iso_str *out, const struct iso_adaption *a);

/* The text of an adapt.json; `path` names it in messages.  Release the list also after a failure.
 */
enum iso_status iso_adaptions_parse(struct iso_adaptions *list, const char *text, size_t len,
                                    const char *path, struct iso_err *err);
/* The file of a study; one without it has no decisions.  Likewise. */
enum iso_status iso_adaptions_read(struct iso_adaptions *list, const char *study,
                                   struct iso_err *err);
void iso_adaptions_write(struct iso_str *out, const struct iso_adaptions *list);
void iso_adaptions_release(struct iso_adaptions *list);
void iso_adaptions_table(struct iso_table *t, const struct iso_adaptions *list);

#endif
