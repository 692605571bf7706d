/* The scores of a study on downstream tasks: STUDY/eval.csv (`isodepth eval STUDY`), for the
 * report.  One model is one run at one depth. */
#ifndef ISO_PLOT_EVALS_H
#define ISO_PLOT_EVALS_H

#include "base/csv.h"
#include "plot/page.h"

struct iso_evals_model {
    const char *run;
    double budget, r;
    double trained, recur; /* iterations; r but for runs whose iterations share nothing */
    double val_loss;
    double *loss, *accuracy; /* [n_task]; NaN where the table has none */
    bool *cut;               /* [n_task]: every prompt lost its left end */
};

struct iso_evals {
    struct iso_arena arena;
    const char **task; /* [n_task] names, in the table's order */
    size_t *axis_of;   /* [n_task] */
    size_t n_task, task_room, axis_of_n, axis_of_room;
    const char **axis;
    size_t n_axis, axis_room;
    struct iso_evals_model *model;
    size_t n_model, model_room;
    struct iso_fig_keys keys; /* budgets and recurrences */
};

/* The last column: XXH64 of a row's other fields.  Tables without it are accepted. */
#define ISO_EVALS_SUM "xxh64"
void iso_evals_sum(char out[17], const char *const *field, size_t n);
/* Rejects a table with a row that is not what its checksum says. */
enum iso_status iso_evals_check(const struct iso_csv *csv, const char *path, struct iso_err *err);

/* Parses the text of an eval.csv.  Release it also after a failure. */
enum iso_status iso_evals_parse(struct iso_evals *e, const char *text, size_t len, const char *path,
                                struct iso_err *err);
/* Reads STUDY/eval.csv; a study without one has no models.  Release it also after a failure. */
enum iso_status iso_evals_read(struct iso_evals *e, const char *study, struct iso_err *err);
void iso_evals_release(struct iso_evals *e);

/* Keeps the models of `runs`, which are those of the fit, with the r that they have there, and
 * gives the budgets the colours of its figures. */
void iso_evals_join(struct iso_evals *e, const struct iso_runs *runs);

/* Plain means over the tasks of an axis; NaN when one is missing.  The axis n_axis stands for all:
 * the mean of their means. */
double iso_evals_loss(const struct iso_evals *e, const struct iso_evals_model *m, size_t axis);
double iso_evals_accuracy(const struct iso_evals *e, const struct iso_evals_model *m, size_t axis);
/* Whether every prompt of an axis lost its left end, in all models. */
bool iso_evals_cut(const struct iso_evals *e, size_t axis);
/* The compute-optimal checkpoint of a budget and r: lowest validation loss, at its trained depth;
 * NULL when there is none. */
const struct iso_evals_model *iso_evals_best(const struct iso_evals *e, double budget, double r);

/* Data of the figures: struct iso_evals. */
extern const struct iso_figure_row iso_fig_eval_budget, iso_fig_eval_loss, iso_fig_eval_accuracy,
    iso_fig_eval_all;
/* The section of a report, for evals with at least one model. */
struct iso_section iso_evals_section(const struct iso_evals *e);

#endif
