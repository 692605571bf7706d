/* A sheet: a table as other programs write it, read into named columns of text cells.
 *
 * Formats, by the first bytes: CSV with commas, tabs or semicolons; JSON lines; a JSON array of
 * objects; a JSON object of columns (lists, or pandas' {index: value}); Parquet with flat columns.
 * Each may be compressed (gzip, zstd), and text may be UTF-16 with its mark.  A format is a row of
 * the table in sheet.c.
 *
 * What must hold:
 *  1. The same table gives the same cells in every format: a number's text is the shortest that
 *     reads back exactly, null and a missing member are "".
 *  2. Values that are not cells (lists and objects inside a row) are left out with their column. */
#ifndef ISO_TABLE_SHEET_H
#define ISO_TABLE_SHEET_H

#include "base/err.h"
#include "base/mem.h"
#include "table/where.h"

struct iso_sheet_row {
    const char **cell; /* [n_col], "" when empty */
    int line;          /* in the file, from 1; the number of the row where there are no lines */
};

struct iso_sheet {
    struct iso_arena arena; /* owns everything below */
    const char *path;       /* for messages */
    const char **name;      /* [n_col] */
    size_t n_col, col_room;
    struct iso_sheet_row *row;
    size_t n_row, row_room;
};

/* Reads a file, or standard input for "-".  Release it also after a failure. */
enum iso_status iso_sheet_read(struct iso_sheet *sheet, const char *path, struct iso_err *err);
/* The same out of memory; `path` names the bytes in messages. */
enum iso_status iso_sheet_parse(struct iso_sheet *sheet, const void *bytes, size_t len,
                                const char *path, struct iso_err *err);
void iso_sheet_release(struct iso_sheet *sheet);

/* Number of the column with exactly this name, SIZE_MAX when there is none. */
size_t iso_sheet_find(const struct iso_sheet *sheet, const char *name);

/* The columns for a condition on rows; they live in the sheet's arena. */
struct iso_where_columns iso_sheet_columns(struct iso_sheet *sheet);

/* --- for the formats --- */
struct iso_sheet_format {
    const char *name;
    bool (*matches)(const char *bytes, size_t len);
    enum iso_status (*parse)(struct iso_sheet *sheet, const char *bytes, size_t len,
                             struct iso_err *err);
};
extern const struct iso_sheet_format iso_sheet_csv, iso_sheet_json, iso_sheet_parquet;

/* Fails when the columns so far and this number of rows are more than a table of runs has: a few
 * bytes can claim any number of empty cells. */
enum iso_status iso_sheet_check_size(const struct iso_sheet *sheet, size_t rows,
                                     struct iso_err *err);
/* The column of this name, added when it is new: earlier rows are "" there. */
size_t iso_sheet_column(struct iso_sheet *sheet, const char *name);
/* A new row of empty cells. */
struct iso_sheet_row *iso_sheet_add_row(struct iso_sheet *sheet, int line);

#endif
