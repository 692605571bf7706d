/* The whole protocol on one table: what `isodepth fit` prints and `isodepth report` draws. */
#ifndef ISO_FIT_STUDY_H
#define ISO_FIT_STUDY_H

#include "fit/derived.h"
#include "fit/fit.h"
#include "fit/interval.h"
#include "fit/robust.h"

#include "base/json.h"
#include "base/table.h"

struct iso_study_options {
    struct iso_fit_options fit;
    size_t resamples; /* 200; with 0 only the point fit and what follows from it */
};
struct iso_study_options iso_study_defaults(void);

struct iso_study {
    struct iso_arena arena; /* owns what the results point to */
    const struct iso_runs *runs;
    struct iso_study_options options;
    struct iso_fit fit;
    const char
        *undetermined;   /* why these runs cannot tell phi, which then has no interval; or NULL */
    const char *warning; /* about the table, beside every interval; or NULL */
    bool has_restricted; /* phi = 0 and phi = 1, for laws with a free phi */
    struct iso_fit phi_0, phi_1;
    bool has_intervals, has_robust;
    struct iso_intervals intervals;
    struct iso_robust robust;
    struct iso_derived derived;
    double r;       /* with --by r: the architecture, else NaN */
    double seconds; /* that it took */
};

/* `runs` must outlive the study.  Release it also after a failure. */
enum iso_status iso_study_run(struct iso_study *study, const struct iso_runs *runs,
                              const struct iso_study_options *options, struct iso_err *err);
void iso_study_release(struct iso_study *study);

/* One study for each r (`--by r`): table[i] holds the runs of study[i], and the gaps of the
 * frontiers to that of r = 1 are filled in.  Release with iso_studies_free. */
struct iso_studies {
    size_t n;
    struct iso_study *study;
    struct iso_runs *table;
};
enum iso_status iso_studies_by_r(struct iso_studies *out, const struct iso_runs *runs,
                                 const struct iso_study_options *options, struct iso_err *err);
void iso_studies_free(struct iso_studies *studies);

/* The chosen interval of phi: bootstrap over cells (NaN, NaN when there is none). */
void iso_study_phi_interval(double out[2], const struct iso_study *study);

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

/* The readable page, in colour or plain. */
void iso_study_write_page(struct iso_str *out, const struct iso_study *study, bool colour);
/* An object with the keys of the documentation (docs/fitting.md). */
void iso_study_write_json(struct iso_json_out *w, const char *key, const struct iso_study *study);

/* A point fit alone: law, parameters, R2, Huber sum, residuals. */
void iso_fit_write_json(struct iso_json_out *w, const char *key, const struct iso_fit *fit);

/* The tables of the page, the LaTeX files and the report: row i of a list that ends with a NULL
 * name.  build() leaves the table empty (n_cell == n_col) when there is nothing to show; the
 * caller releases it. */
struct iso_study_table {
    const char *name, *title;
    void (*build)(struct iso_table *t, const struct iso_study *study);
    bool long_one; /* a row for each cell: not on the terminal's page */
};
extern const struct iso_study_table iso_study_tables[];

#endif
