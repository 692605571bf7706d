/* The table of runs that every fit starts from, one row per training run.
 *
 * table/sheet.h reads the file, roles.h says which column is what, and this makes runs of the rows.
 * Our own names are budget, r, n_once, n_rec, n_inject, tokens, loss; r, n_rec and n_inject are 1,
 * 0, 0 where they are missing.  A run with share 0 is one of the unshared control: its iterations
 * (column iterations) have own weights, and its r is 1.  run, seed, status, s, d_model, lr_base,
 * n_embed, flops_per_token, vocab and seq_len are used when there; every other column is carried
 * along as text (data_checksum, too, which a check reads).
 *
 * A row that cannot be used (diverged, failed, still running, loss missing or not finite) is no
 * error: it moves to `left_out` with its reason.  A row that makes no sense is an error that
 * names file, line and column. */
#ifndef ISO_FIT_RUNS_H
#define ISO_FIT_RUNS_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct iso_run {
    double budget;   /* training FLOPs */
    double r;        /* recurrences, at least 1 */
    double unshared; /* iterations with own weights: of the control; 0: a plain or looped run */
    double n_once;   /* parameters used once, without injection and embeddings */
    double n_rec;    /* parameters used r times, without injection */
    double n_inject;
    double n_embed; /* NaN when the table does not say */
    double tokens;
    double loss;                    /* nats per token; NaN in a table of planned runs */
    double s, d_model;              /* NaN when the table does not say */
    double flops_per_token;         /* likewise; see iso_run_flops_per_token */
    double lr_base;                 /* matrix rate before its transfer; NaN likewise */
    double vocab, seq_len;          /* tokens known, tokens of a row; NaN likewise */
    const char *id, *seed, *status; /* "" when the table does not say */
    const char *data;               /* checksum of what it was trained on; NULL or "" likewise */
    const char *part;               /* what the column of iso_runs_how.part holds; "" without one */
    const char *cluster; /* likewise: rows of one cluster are one measurement, not several */
    size_t label;        /* recipe: runs of one label share a phi; 0 unless power says otherwise */
    const char *file;
    int line;
    const char **extra; /* [n_extra], "" where missing */
    size_t n_extra;     /* that of the table */
};

struct iso_left_out {
    struct iso_run run;
    const char *reason;
};

/* What was understood of a column that has another name. */
struct iso_understood {
    const char *role, *column;
};

/* Which runs with r = 1 are used: see anchor.h. */
enum iso_anchor {
    ISO_ANCHOR_AUTO, /* plain ones where there are any, else those of the unshared control */
    ISO_ANCHOR_PLAIN,
    ISO_ANCHOR_UNSHARED,
    ISO_ANCHOR_BOTH,
};

struct iso_runs {
    struct iso_arena arena; /* owns every text and array below */
    struct iso_run *at;     /* [n], sorted by cell, size, then as read; points as read */
    size_t n, room;
    struct iso_left_out *left_out;
    size_t n_left_out, left_out_room;
    const char **extra_name; /* columns carried along */
    size_t n_extra, extra_room;
    struct iso_understood *understood;
    size_t n_understood, understood_room;
    const char **note; /* what was computed, or looks odd: sentences without a full stop */
    size_t n_note, note_room;
    enum iso_anchor anchor;  /* settled by iso_runs_finish */
    size_t n_other_anchor;   /* runs with r = 1 that it left out */
    const char *part_column; /* that of the table, as it was asked for; NULL without one */
    bool part_is_r;          /* it is the one that holds the recurrences */
    const char *first_part;  /* its value in the first run that was read */
    bool clustered;          /* rows have clusters */
    bool points;             /* ISO_RUNS_POINTS */
    const char *data;        /* what all rows should be of; NULL: what the first that says is of */
};

enum iso_runs_kind {
    ISO_RUNS_TRAINED, /* rows without a usable loss are left out */
    ISO_RUNS_PLANNED, /* a plan: losses are not read */
    ISO_RUNS_POINTS,  /* models to predict: nor here, and every row stays in its place */
};

/* How a table is to be read; all zero is a table of trained runs. */
struct iso_runs_how {
    enum iso_runs_kind kind;
    const char *columns; /* "role=column,...": by hand; NULL: by their names */
    const char *arch;    /* "depth=20,prelude=2,coda=2": splits a plain N; see split.h */
    const char *where;   /* a condition on rows (table/where.h); NULL: all of them */
    const char *part;    /* column whose values split the table (parts.h); NULL: none */
    const char *cluster; /* column that is equal in rows that are not independent; NULL: none */
    const char *anchor;  /* "plain", "unshared", "both"; NULL: ISO_ANCHOR_AUTO */
};

/* Reads the files ("-": standard input; a study's directory: its runs.csv) into an empty (zeroed)
 * table.  Release it also after a failure.  The same run twice with equal numbers counts once; with
 * other numbers it is an error.  `how` may be NULL. */
enum iso_status iso_runs_read(struct iso_runs *runs, const char *const *paths, size_t n_paths,
                              const struct iso_runs_how *how, struct iso_err *err);
/* Adds the rows of one text; `path` names it in messages.  Call iso_runs_finish at the end. */
enum iso_status iso_runs_add(struct iso_runs *runs, const void *bytes, size_t len, const char *path,
                             const struct iso_runs_how *how, struct iso_err *err);
enum iso_status iso_runs_finish(struct iso_runs *runs, struct iso_err *err);
void iso_runs_release(struct iso_runs *runs);
/* Notes something about the table, once. */
__attribute__((format(printf, 2, 3))) void iso_runs_note(struct iso_runs *runs, const char *fmt,
                                                         ...);
/* Puts the rows into their order; for tables that are put together by hand. */
void iso_runs_sort(struct iso_runs *runs);

/* A new table with the rows for which keep() holds; texts stay owned by `from`. */
void iso_runs_filter(struct iso_runs *out, const struct iso_runs *from,
                     bool (*keep)(const struct iso_run *run, const void *ctx), const void *ctx);
/* The rows as CSV, all columns, numbers in full precision. */
void iso_runs_write_csv(struct iso_str *out, const struct iso_runs *runs);
/* Whether every such table has this column. */
bool iso_runs_writes(const char *column);

/* "Columns: n ← params, loss ← val/loss." and the notes, a line each; nothing where all names are
 * ours. */
void iso_runs_describe(struct iso_str *out, const struct iso_runs *runs);

/* Unique parameters without embeddings: n_once + n_rec + n_inject. */
double iso_run_params(const struct iso_run *run);
/* Training FLOPs per token: the table's, else budget / tokens, which whole steps make coarse. */
double iso_run_flops_per_token(const struct iso_run *run);
/* Distinct budgets or recurrences in rising order; the array lives in `arena`. */
size_t iso_runs_budgets(double **out, struct iso_arena *arena, const struct iso_runs *runs);
size_t iso_runs_recurrences(double **out, struct iso_arena *arena, const struct iso_runs *runs);
/* Whether two runs are of one cell: equal in budget and r, and in the control in iterations. */
bool iso_same_cell(const struct iso_run *a, const struct iso_run *b);
/* Whether budgets lie within 1 %: whole steps, or FLOPs as counted, miss the nominal one by less.
 */
bool iso_same_budget(double a, double b);
/* Whether most cells hold one run because budgets nearly coincide: FLOPs as counted instead of
 * the nominal ones.  A bootstrap over such cells is one over runs. */
bool iso_runs_cells_scatter(const struct iso_runs *runs);
/* Why these runs do not determine phi, or NULL.  A fit ends somewhere whatever the runs are; this
 * is said before anyone believes the number.  Budgets within 1 % are one. */
const char *iso_runs_undetermined(const struct iso_runs *runs);
/* The same where r = 1 is missing: no budget of a looped run has one.  NULL when one has. */
const char *iso_runs_unanchored(const struct iso_runs *runs);

#endif
