/* Conditions on the runs of a study: see record_where.h. */
#include "sweep/record_where.h"

#include <stdlib.h>

static size_t n_columns(void)
{
    size_t n = 0;
    while (iso_columns[n].name)
        n++;
    return n;
}

enum iso_status iso_record_where_parse(const struct iso_where **out, struct iso_arena *arena,
                                       const char *text, struct iso_err *err)
{
    const size_t n = n_columns();
    struct iso_where_column *at = ISO_ARENA_NEW_N(arena, struct iso_where_column, n);
    for (size_t i = 0; i < n; i++) {
        const enum iso_column_kind kind = iso_columns[i].kind;
        const bool is_text = kind == ISO_COLUMN_TEXT || kind == ISO_COLUMN_STATE;
        at[i] = (struct iso_where_column){iso_columns[i].name,
                                          is_text ? ISO_WHERE_TEXT : ISO_WHERE_NUMBER};
    }
    return iso_where_parse(out, arena, text, (struct iso_where_columns){at, n}, err);
}

bool iso_record_where_holds(const struct iso_where *w, const struct iso_record *rec)
{
    enum { ROOM = 32 };
    const size_t n = n_columns();
    const char **cell = ISO_NEW_N(const char *, n);
    char(*buf)[ROOM] = iso_alloc(n, ROOM);
    for (size_t i = 0; i < n; i++)
        cell[i] = iso_record_cell(buf[i], rec, &iso_columns[i]);
    const bool holds = iso_where_holds(w, cell);
    free(cell);
    free(buf);
    return holds;
}
