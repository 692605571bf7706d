/* One analysis for each value of a column (`isodepth fit --by COLUMN`). */
#ifndef ISO_FIT_ANALYSES_H
#define ISO_FIT_ANALYSES_H

#include "fit/analysis.h"
#include "fit/parts.h"

struct iso_part_problem {
    const char *value, *message; /* why there is no fit */
};

struct iso_analyses {
    struct iso_arena arena;
    const struct iso_runs *runs; /* all of them */
    struct iso_parts parts;
    size_t n;
    struct iso_analysis *analysis; /* [n] of those parts that can be fitted */
    size_t n_problems;
    struct iso_part_problem *problem; /* [n_problems] the other parts */
};

/* Splits `runs`, which must outlive the result, by the column that they were read with.  With the
 * column of r the gaps of the frontiers to that of r = 1 are filled in.  A part with too few runs
 * is a problem of its own; it is an error when no part can be fitted.  Release also after a
 * failure. */
enum iso_status iso_analyses_run(struct iso_analyses *out, const struct iso_runs *runs,
                                 const struct iso_analysis_options *options, struct iso_err *err);
void iso_analyses_release(struct iso_analyses *all);

/* A row for each value: phi, interval, trust and the law.  The caller releases it. */
void iso_analyses_summary(struct iso_table *t, const struct iso_analyses *all);
/* A table of every analysis, one below the other, with the value in the first column; those of an r
 * say it themselves. */
void iso_analyses_table(struct iso_table *t, const struct iso_analyses *all,
                        const struct iso_analysis_table *row);
/* The readable page, in colour or plain. */
void iso_analyses_write_page(struct iso_str *out, const struct iso_analyses *all, bool colour);
/* {"by": column, "fits": [...], "not_fitted": [{value, message}]}, then
 * what iso_runs_put_json adds. */
void iso_analyses_write_json(struct iso_json_out *w, const struct iso_analyses *all);

#endif
