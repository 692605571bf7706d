/* What `isodepth eval` works on, for the files that run it (cmd_eval.c), print it (eval_view.c)
 * and know studies (eval_study.c). */
#ifndef ISO_CMD_EVAL_JOB_H
#define ISO_CMD_EVAL_JOB_H

#include "cmd/cmd.h"
#include "eval/eval.h"
#include "plan/record.h"

struct iso_eval_args {
    struct iso_strings checkpoints;
    const char *suite, *tasks, *tokenizer, *recur, *out;
    int64_t max, threads;
    bool json, latex;
};

/* One checkpoint at one depth, on every task. */
struct iso_eval_subject {
    const char *checkpoint, *label;
    const struct iso_record *run;  /* of a study, or NULL */
    int recur, trained;            /* iterations: run at, trained with */
    struct iso_item_score **items; /* [task] */
    struct iso_task_score *score;  /* [task] */
};

struct iso_eval_job {
    struct iso_arena arena;
    const struct iso_eval_args *args;
    const char *study; /* or NULL */
    const char *out;   /* directory of the records, or NULL */
    const char **checkpoint;
    const struct iso_record **run; /* of each checkpoint, NULL without a study */
    size_t n_checkpoint;
    struct iso_record *records; /* all runs of the study, owned */
    struct iso_suite suite;
    struct iso_task *task; /* [suite.n] */
    struct iso_tokenizer tokenizer;
    int threads;
    struct iso_eval_subject *subject;
    size_t n, room;
    struct iso_err *err;
};

/* Lists the finished runs of j->study as its checkpoints. */
enum iso_status iso_eval_study_list(struct iso_eval_job *j);
/* Writes STUDY/eval.csv: one row for each run, depth and task, this call's and those of earlier
 * ones that it does not replace. */
enum iso_status iso_eval_study_write(struct iso_eval_job *j);

/* The first task of its axis, for loops over axes. */
bool iso_eval_first_of_axis(const struct iso_eval_job *j, size_t task);
/* Means over the tasks of an axis, and whether every prompt was cut. */
struct iso_eval_axis {
    double loss, accuracy;
    bool cut;
};
struct iso_eval_axis iso_eval_axis(const struct iso_eval_job *j, const struct iso_eval_subject *s,
                                   const char *axis);
/* A warning for each axis whose every prompt was cut. */
void iso_eval_warn_cut(const struct iso_eval_job *j);
void iso_eval_print_tables(const struct iso_eval_job *j);
void iso_eval_print_json(const struct iso_eval_job *j);
/* For a study: one line per run, one column per axis. */
void iso_eval_print_study(const struct iso_eval_job *j);

#endif
