/* The whole protocol on one table: what `isodepth fit` prints and `isodepth report` draws. */
#ifndef ISO_FIT_ANALYSIS_H
#define ISO_FIT_ANALYSIS_H

#include "fit/check.h"
#include "fit/derived.h"
#include "fit/fit.h"
#include "fit/interval.h"
#include "fit/laws.h"
#include "fit/robust.h"

#include "base/json.h"
#include "base/table.h"

struct iso_analysis_options {
    struct iso_fit_options fit;
    size_t resamples; /* of each bootstrap: ISO_RESAMPLES_AUTO, a number, or 0 for none */
    enum iso_interval_kind interval; /* of the headline */
    bool laws;                       /* compare all laws */
};
struct iso_analysis_options iso_analysis_defaults(void);

struct iso_analysis {
    struct iso_arena arena; /* owns what the results point to */
    const struct iso_runs *runs;
    struct iso_analysis_options options;
    struct iso_fit fit;
    struct iso_checks checks; /* whether phi can be believed */
    bool one_sided;           /* one budget or one r: nothing is resampled, see check anchor */
    bool has_restricted;      /* phi = 0 and phi = 1, for laws with a free phi */
    struct iso_fit phi_0, phi_1;
    bool has_intervals, has_robust;
    struct iso_intervals intervals;
    struct iso_robust robust;
    struct iso_derived derived;
    struct iso_law_scores laws; /* empty unless asked for */
    double r;                   /* where the runs are those of one r: see analyses.h; else NaN */
    const char *part;           /* likewise for the value of any column; else NULL */
    double seconds;             /* that it took */
};

/* `runs` must outlive the analysis.  Release it also after a failure. */
enum iso_status iso_analysis_run(struct iso_analysis *analysis, const struct iso_runs *runs,
                                 const struct iso_analysis_options *options, struct iso_err *err);
void iso_analysis_release(struct iso_analysis *analysis);

/* The headline's interval of phi (NaN, NaN when there is none). */
void iso_analysis_phi_interval(double out[2], const struct iso_analysis *analysis);
/* "95 % interval [0.42, 0.50]", the level being that of the analysis. */
void iso_analysis_write_interval(struct iso_str *out, const struct iso_analysis *analysis);

/* What a block looped r times is worth by bootstrap over cells, likewise. */
void iso_analysis_worth_interval(double out[2], const struct iso_analysis *analysis, double r);
/* What a block looped r times is worth, with its interval where that of phi does not say it. */
void iso_analysis_write_worth(struct iso_str *out, const struct iso_analysis *analysis, double r);

/* Where an interval of phi lies against 0 (a loop adds nothing) and 1 (it is as good as unique
 * blocks); a place is named by what the interval shows. */
enum iso_phi_place {
    ISO_PHI_ANYWHERE, /* contains both */
    ISO_PHI_BELOW_0,
    ISO_PHI_BELOW_1, /* contains 0 */
    ISO_PHI_BETWEEN,
    ISO_PHI_ABOVE_0, /* contains 1 */
    ISO_PHI_ABOVE_1,
};
enum iso_phi_place iso_phi_place(const double interval[2]);

/* The result in words, the same ones on the terminal, in a sweep's last lines and in the report.
 * The headline holds phi, its interval and how far to trust it, without an end of line; the
 * verdict says what that means, and nothing about phi = 0 or 1 when it is undetermined. */
void iso_analysis_write_headline(struct iso_str *out, const struct iso_analysis *analysis,
                                 bool colour);
void iso_analysis_write_verdict(struct iso_str *out, const struct iso_analysis *analysis);
/* Why these runs do not determine phi, or NULL. */
const char *iso_analysis_undetermined(const struct iso_analysis *analysis);

/* The readable page, in colour or plain. */
void iso_analysis_write_page(struct iso_str *out, const struct iso_analysis *analysis, bool colour);
/* An object with the keys of the documentation (docs/fitting.md). */
void iso_analysis_write_json(struct iso_json_out *w, const char *key,
                             const struct iso_analysis *analysis);

/* A point fit alone: law, parameters, R2, Huber sum, residuals. */
void iso_fit_write_json(struct iso_json_out *w, const char *key, const struct iso_fit *fit);

/* The tables of the page, the LaTeX files and the report: row i of a list that ends with a NULL
 * name.  build() leaves the table empty (n_cell == n_col) when there is nothing to show; the
 * caller releases it. */
struct iso_analysis_table {
    const char *name, *title;
    void (*build)(struct iso_table *t, const struct iso_analysis *analysis);
    bool long_one; /* a row for each cell: not on the terminal's page */
};
extern const struct iso_analysis_table iso_analysis_tables[];

#endif
