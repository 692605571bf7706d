/* A row of a table, and the run that it becomes; runs_read.c goes through them.
 *
 * 1. What cannot be a run (a negative token count, an unreadable number) is an error that names
 *    file, line and column.
 * 2. What is a run without a usable loss is left out with its reason, never dropped silently.
 * 3. What is computed because a column is missing is noted. */
#ifndef ISO_FIT_RUN_ROW_H
#define ISO_FIT_RUN_ROW_H

#include "fit/roles.h"
#include "fit/runs.h"
#include "fit/split.h"

/* The table, and its row at hand. */
struct iso_run_row {
    struct iso_runs *runs;
    const struct iso_sheet *sheet;
    const struct iso_sheet_row *row;
    struct iso_roles roles;
    struct iso_layer_split split; /* the table's; a row may have its own columns */
    const char *path;             /* in the runs' arena */
    enum iso_runs_kind kind;
    size_t part, cluster; /* columns; SIZE_MAX: none */
    struct {              /* rows that saw their data more than once */
        size_t n;
        double most;
    } repeats;
    size_t n_alone; /* rows without a cluster */
    size_t n_no_r;  /* rows with an empty r */
    size_t *extra;  /* [n_col] where a column is carried along, SIZE_MAX: nowhere; NULL before the
                       first row */
    struct iso_err *err;
};

bool iso_run_row_has(const struct iso_run_row *at, enum iso_column_role role);
/* The name by which the table knows a role. */
const char *iso_run_row_name(const struct iso_run_row *at, enum iso_column_role role);
/* Adds its run to at->runs, or to those that are left out. */
enum iso_status iso_run_row_add(struct iso_run_row *at);

#endif
