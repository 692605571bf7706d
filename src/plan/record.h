/* One run as everybody sees it: what was planned, what came out, how it went.
 *
 * The table of columns says what each field is called, what kind it is and who fills it.  Whatever
 * lists a run walks that table: the CSV of `plan` and `runs`, run.json and result.json in a run's
 * folder, the store's schema, the words of `runs --where`.  A new column is one row and one field;
 * it goes last, since people read these files by position, too. */
#ifndef ISO_PLAN_RECORD_H
#define ISO_PLAN_RECORD_H

#include "base/json.h"
#include "base/table.h"
#include "plan/grid.h"

enum iso_run_state {
    ISO_STATE_PLANNED,
    ISO_STATE_RUNNING,
    ISO_STATE_DONE,
    ISO_STATE_FAILED,
    ISO_STATE_DIVERGED,
    ISO_N_STATE
};
extern const char *const iso_run_state_name[ISO_N_STATE];

struct iso_record {
    char id[64];
    enum iso_run_state state;
    bool wanted; /* the grid as it is now asks for this run */
    /* Planned. */
    double budget, s, r, bptt, d_model, n_head, n_prelude, n_recur, n_coda;
    double n_once, n_rec, n_inject, n_embed;
    double flops_per_token, tokens, steps, batch_tokens;
    double lr_base, lr_matrix, lr_embed, lr_head, lr_norm, lr_scalar, seed, vocab, seq_len;
    double lanes, micro_batch; /* sequences at a time; plan/lanes.h */
    double share, iterations;  /* of the loop; the law's r is 1 when share is 0 */
    double data_seed;
    char loop[24], loop_options[48]; /* "lanes=4"; "" without any */
    /* Measured; NaN or "" until there is a result. */
    double loss, bits_per_byte, flops, seconds, threads;
    char cpu[64], kernels[32], version[32], compiler[64], data_checksum[24], config_hash[24];
    /* Kept by the scheduler. */
    double attempts;
    char source[200];  /* where a reused run came from; "" for a run of this study */
    char message[200]; /* why it failed or diverged */
    double bytes;      /* memory that the run needs; no column */
};

enum iso_column_kind { ISO_COLUMN_NUMBER, ISO_COLUMN_TEXT, ISO_COLUMN_STATE, ISO_COLUMN_FLAG };
/* Who fills it: the planner, the trainer, the scheduler.  Bits, so that parts can be joined. */
enum iso_column_part {
    ISO_COLUMN_PLAN = 1,
    ISO_COLUMN_RESULT = 2,
    ISO_COLUMN_BOOK = 4,
    ISO_COLUMN_ALL = 7
};

struct iso_column {
    const char *name;
    enum iso_column_kind kind;
    enum iso_column_part part;
    size_t offset, size; /* in struct iso_record; size of a text's array */
    /* Where the planner has the number: in struct iso_plan_run, as an int64_t or a double. */
    enum { ISO_PLANNED_NOWHERE, ISO_PLANNED_INT, ISO_PLANNED_DOUBLE } planned_as;
    size_t planned;
};

/* Ends with a NULL name. */
extern const struct iso_column iso_columns[];
const struct iso_column *iso_column_find(const char *name);

/* Access by column.  A text that is too long is cut. */
double iso_record_number(const struct iso_record *rec, const struct iso_column *c);
const char *iso_record_text(const struct iso_record *rec, const struct iso_column *c);
void iso_record_set_number(struct iso_record *rec, const struct iso_column *c, double x);
void iso_record_set_text(struct iso_record *rec, const struct iso_column *c, const char *text);
/* As a cell of a table: numbers in full, "" for what is not known. */
const char *iso_record_cell(char buf[32], const struct iso_record *rec, const struct iso_column *c);

/* Nothing known: numbers NaN, texts empty. */
void iso_record_init(struct iso_record *rec);
void iso_record_from_plan(struct iso_record *rec, const struct iso_plan_run *run);
/* Copies one part of another record. */
void iso_record_copy(struct iso_record *rec, const struct iso_record *from,
                     enum iso_column_part part);
/* Copies the planned columns that `rec` does not know. */
void iso_record_learn(struct iso_record *rec, const struct iso_record *from);
/* Training FLOPs of the plan. */
double iso_record_flops(const struct iso_record *rec);
/* Iterations of its loop, shared or not: r, but for the unshared control. */
double iso_record_iterations(const struct iso_record *rec);
/* Whether the run has ended for good: done or diverged. */
bool iso_record_finished(const struct iso_record *rec);

/* The first planned column in which two records differ, NULL when none does.  What one of them
 * does not know makes no difference. */
const struct iso_column *iso_record_differs(const struct iso_record *a, const struct iso_record *b);

/* The columns of some parts as members of the object that `w` is in. */
void iso_record_put_json(struct iso_json_out *w, const struct iso_record *rec,
                         enum iso_column_part parts);
/* Takes over the members of some parts that are there. */
void iso_record_read_json(struct iso_record *rec, const struct iso_json *object,
                          enum iso_column_part parts);
/* result.json, sealed: what the run was, its status, what came of it. */
enum iso_status iso_record_write_result(const struct iso_record *rec, const char *path,
                                        struct iso_err *err);

/* The columns of some parts as a table, in the order that `fit` and people expect. */
void iso_record_table(struct iso_table *t, const struct iso_record *recs, size_t n,
                      enum iso_column_part parts);
/* The planned columns of a plan. */
void iso_plan_table(struct iso_table *t, const struct iso_plan_run *runs, size_t n);

/* A trainer whose machine lacks the kernels of a study leaves the run to others, and in the run's
 * folder a file of this name and the machine's; it holds the name of the kernels. */
#define ISO_LACKS_KERNELS "lacks-kernels."

#endif
