/* Tables for people and for files: cells are texts; one table prints aligned (and coloured on
 * a terminal), as CSV, as LaTeX (booktabs) or as HTML. */
#ifndef ISO_BASE_TABLE_H
#define ISO_BASE_TABLE_H

#include "base/mem.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdio.h>

enum iso_table_format { ISO_TABLE_TEXT, ISO_TABLE_CSV, ISO_TABLE_LATEX, ISO_TABLE_HTML };

struct iso_table {
    struct iso_arena arena;
    const char **cell; /* row-major, the header first */
    size_t n_cell, room;
    size_t n_col;
    const char *caption; /* may be NULL */
    size_t *bold;        /* numbers of the cells to be set in bold */
    size_t n_bold, bold_room;
};

/* Column names separated by '|'; numbers are right-aligned by what they look like. */
void iso_table_init(struct iso_table *t, const char *columns);
void iso_table_release(struct iso_table *t);
/* Cells go in row by row. */
void iso_table_put(struct iso_table *t, const char *text);
void iso_table_putf(struct iso_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The cell put last is to be set in bold (not in CSV). */
void iso_table_bold(struct iso_table *t);
void iso_table_write(struct iso_str *out, const struct iso_table *t, enum iso_table_format format,
                     bool colour);
/* Prints to `f`, in colour when it is a terminal. */
void iso_table_print(FILE *f, const struct iso_table *t, enum iso_table_format format);

/* Whether to colour what goes to `f`: a terminal, TERM not dumb, NO_COLOR unset. */
bool iso_colour_wanted(FILE *f);
/* Columns of the screen that `f` goes to: COLUMNS where it is set, the terminal's, else 80. */
size_t iso_screen_columns(FILE *f);
/* Its rows, 24 where nobody knows. */
size_t iso_screen_rows(FILE *f);

#endif
