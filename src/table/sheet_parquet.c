/* Sheets in Parquet: the columns that hold one number or text per row. */
#include "base/str.h"
#include "data/parquet.h"
#include "table/sheet.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const char *bytes, size_t len)
{
    return len >= 4 && memcmp(bytes, "PAR1", 4) == 0;
}

/* The shortest text that reads back as the same float, as other programs print it. */
static const char *float_text(char buf[32], double x)
{
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(buf, 32, "%.*g", digits, x);
        if ((double)strtof(buf, NULL) == x)
            break;
    }
    return buf;
}

static const char *number_text(char buf[32], double x, int type)
{
    if (isnan(x))
        return "";
    if (type == ISO_PQ_BOOLEAN)
        return x != 0 ? "true" : "false";
    return type == ISO_PQ_FLOAT && isfinite(x) ? float_text(buf, x) : iso_format_double(buf, x);
}

/* A decimal is an integer that counts its last digit. */
static const char *decimal_text(char buf[32], int64_t v, int64_t decimals)
{
    char text[48];
    snprintf(text, sizeof text, "%" PRId64 "e-%" PRId64, v, decimals);
    return iso_format_double(buf, strtod(text, NULL));
}

static const char *integer_text(char buf[32], int64_t v, const struct iso_pq_column *c)
{
    if (c->decimals > 0)
        return decimal_text(buf, v, c->decimals);
    if (c->is_unsigned)
        snprintf(buf, 32, "%" PRIu64, c->type == ISO_PQ_INT32 ? (uint32_t)v : (uint64_t)v);
    else
        snprintf(buf, 32, "%" PRId64, v);
    return buf;
}

static const char *value_text(struct iso_arena *arena, const struct iso_pq_values *v, size_t i,
                              const struct iso_pq_column *c)
{
    char buf[32];
    if (v->strings)
        return iso_arena_strndup(arena, v->strings[i].bytes, v->strings[i].len);
    return iso_arena_strdup(arena, v->integers ? integer_text(buf, v->integers[i], c)
                                               : number_text(buf, v->numbers[i], c->type));
}

/* The values of a page into column `at`, from row *row on. */
static void put_page(struct iso_sheet *sheet, size_t at, size_t *row,
                     const struct iso_pq_page *page, const struct iso_pq_column *c)
{
    size_t value = 0;
    for (size_t i = 0; i < page->n_levels && *row < sheet->n_row; i++, ++*row)
        if (c->max_def == 0 || page->def[i] == (uint32_t)c->max_def)
            sheet->row[*row].cell[at] = value_text(&sheet->arena, &page->values, value++, c);
}

static enum iso_status read_column(struct iso_sheet *sheet, size_t at, const void *bytes,
                                   size_t len, struct iso_err *err)
{
    struct iso_pq_walk w;
    size_t row = 0;
    enum iso_status st =
        iso_pq_walk_open(&w, bytes, len, sheet->path, sheet->name[at], ISO_PQ_CELLS, err);
    while (st == ISO_OK && w.chunk < w.meta.n_chunks) {
        st = iso_pq_walk_chunk(&w, err);
        while (st == ISO_OK && w.at < w.end) {
            st = iso_pq_walk_page(&w, err);
            if (st == ISO_OK)
                put_page(sheet, at, &row, &w.page, &w.meta.column);
        }
    }
    iso_pq_walk_close(&w);
    return st;
}

static enum iso_status add_columns(struct iso_sheet *sheet, const char *const *names, size_t n,
                                   struct iso_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (iso_sheet_find(sheet, names[i]) != SIZE_MAX)
            return iso_fail(err, ISO_BAD_INPUT, "%s: column %s is there twice", sheet->path,
                            names[i]);
        (void)iso_sheet_column(sheet, names[i]);
    }
    return n > 0 ? ISO_OK
                 : iso_fail(err, ISO_BAD_INPUT, "%s: no column holds one number or text per row",
                            sheet->path);
}

static enum iso_status parse(struct iso_sheet *sheet, const char *bytes, size_t len,
                             struct iso_err *err)
{
    const char **names;
    size_t n;
    int64_t rows;
    enum iso_status st =
        iso_pq_list_cells(&names, &n, &rows, &sheet->arena, (const unsigned char *)bytes, len, err);
    if (st != ISO_OK)
        return iso_fail_in(err, st, "%s", sheet->path);
    st = add_columns(sheet, names, n, err);
    if (st == ISO_OK)
        st = iso_sheet_check_size(sheet, (size_t)rows, err);
    for (int64_t i = 0; st == ISO_OK && i < rows; i++)
        (void)iso_sheet_add_row(sheet, (int)i + 1);
    for (size_t i = 0; st == ISO_OK && i < n; i++)
        st = read_column(sheet, i, bytes, len, err);
    return st;
}

const struct iso_sheet_format iso_sheet_parquet = {"parquet", matches, parse};
