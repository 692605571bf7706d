/* CSV as in RFC 4180: a header, quoted fields, LF or CRLF; tabs or semicolons may separate the
 * fields, as the header shows.  Each row must have the header's number of fields.  Blank lines and
 * lines that start with # are skipped. */
#ifndef ISO_BASE_CSV_H
#define ISO_BASE_CSV_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

struct iso_csv_row {
    const char **field; /* [n_col] */
    int line;           /* in the file, from 1 */
};

struct iso_csv {
    const char **name; /* [n_col] */
    size_t n_col;
    struct iso_csv_row *row; /* [n_row] */
    size_t n_row;
};

/* Parses `text`; everything lives in `arena`.  `path` names the file in messages. */
enum iso_status iso_csv_parse(struct iso_csv *csv, struct iso_arena *arena, const char *text,
                              size_t len, const char *path, struct iso_err *err);
/* Column number of a name, -1 when there is none. */
int iso_csv_column(const struct iso_csv *csv, const char *name);
/* Appends one field, quoted where needed, so that it reads back unchanged. */
void iso_csv_put(struct iso_str *out, const char *field);

#endif
