/* One run of a study as the scheduler knows it: what was planned, how it went, what came out.
 *
 * A table of columns says what each field is called; the same table makes the store's schema, the
 * CSV that `fit` reads, the words of `runs --where`, and the run.json in each run's folder. */
#ifndef ISO_SWEEP_RECORD_H
#define ISO_SWEEP_RECORD_H

#include "base/json.h"
#include "base/table.h"
#include "plan/grid.h"

enum iso_state {
    ISO_STATE_PLANNED,
    ISO_STATE_RUNNING,
    ISO_STATE_DONE,
    ISO_STATE_FAILED,
    ISO_STATE_DIVERGED,
    ISO_N_STATE
};
extern const char *const iso_state_name[ISO_N_STATE];

struct iso_run_record {
    char id[64];
    enum iso_state state;
    bool wanted; /* the grid as it is now asks for this run */
    /* Planned. */
    double budget, s, r, bptt, d_model, n_head, n_prelude, n_recur, n_coda;
    double n_once, n_rec, n_inject, n_embed;
    double flops_per_token, tokens, steps, batch_tokens;
    double lr_base, lr_matrix, lr_embed, lr_head, lr_norm, seed;
    char loop[24];
    /* Measured; NaN or "" until there is a result. */
    double loss, bits_per_byte, flops, seconds;
    char cpu[64], version[32], data_checksum[24];
    /* Kept by the scheduler. */
    double attempts;
    char source[200];  /* where a reused run came from; "" for a run of this study */
    char message[200]; /* why it failed */
    double bytes;      /* memory that the run needs; no column */
};

enum iso_column_kind { ISO_COLUMN_NUMBER, ISO_COLUMN_TEXT, ISO_COLUMN_STATE, ISO_COLUMN_FLAG };
enum iso_column_part { ISO_COLUMN_PLAN, ISO_COLUMN_RESULT, ISO_COLUMN_BOOK };

struct iso_column {
    const char *name;
    enum iso_column_kind kind;
    enum iso_column_part part;
    size_t offset, size; /* size of a text's array */
};

/* Ends with a NULL name. */
extern const struct iso_column iso_columns[];
const struct iso_column *iso_column_find(const char *name);

/* Access by column.  A text that is too long is cut. */
double iso_run_record_number(const struct iso_run_record *rec, const struct iso_column *c);
const char *iso_run_record_text(const struct iso_run_record *rec, const struct iso_column *c);
void iso_run_record_set_number(struct iso_run_record *rec, const struct iso_column *c, double x);
void iso_run_record_set_text(struct iso_run_record *rec, const struct iso_column *c,
                             const char *text);
/* As a cell of a table: numbers in full, "" for what is not known. */
const char *iso_run_record_cell(char buf[32], const struct iso_run_record *rec,
                                const struct iso_column *c);

/* Nothing known: numbers NaN, texts empty. */
void iso_run_record_init(struct iso_run_record *rec);
/* Nothing measured. */
void iso_run_record_forget_result(struct iso_run_record *rec);
void iso_run_record_from_plan(struct iso_run_record *rec, const struct iso_plan_run *run);
/* Training FLOPs of the plan. */
double iso_run_record_flops(const struct iso_run_record *rec);

/* The first planned column in which two records differ, NULL when none does.  What one of them
 * does not know is no difference. */
const struct iso_column *iso_run_record_differs(const struct iso_run_record *a,
                                                const struct iso_run_record *b);

/* Takes over the planned numbers that `rec` does not know. */
void iso_run_record_learn(struct iso_run_record *rec, const struct iso_run_record *from);

/* run.json: the planned columns and the source. */
void iso_run_record_write_json(struct iso_str *out, const struct iso_run_record *rec);
/* Takes over the members of one part that are there. */
void iso_run_record_read_json(struct iso_run_record *rec, const struct iso_json *object,
                              enum iso_column_part part);

/* All columns as a table, in the order that `fit` and people expect. */
void iso_run_record_table(struct iso_table *t, const struct iso_run_record *recs, size_t n);

#endif
