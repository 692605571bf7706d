/* Sheets: see sheet.h. */
#include "table/sheet.h"

#include "base/str.h"
#include "data/encoding.h"
#include "data/stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* CSV is last: any text may be meant as one. */
static const struct iso_sheet_format *const formats[] = {&iso_sheet_parquet, &iso_sheet_json,
                                                         &iso_sheet_csv};

/* What people give instead of a table, by its first bytes. */
static const struct {
    const char *magic;
    size_t len;
    const char *what;
} strangers[] = {
    {"PK\3\4", 4, "an Excel workbook or a zip archive; save the sheet as CSV"},
    {"\xD0\xCF\x11\xE0", 4, "an old Excel workbook; save the sheet as CSV"},
    {"\x80\x02", 2, "a Python pickle; write the table with to_csv or to_parquet"},
    {"\x80\x03", 2, "a Python pickle; write the table with to_csv or to_parquet"},
    {"\x80\x04", 2, "a Python pickle; write the table with to_csv or to_parquet"},
    {"\x80\x05", 2, "a Python pickle; write the table with to_csv or to_parquet"},
    {"\x93NUMPY", 6, "a NumPy array; write the table with names as CSV"},
    {"ARROW1", 6, "an Arrow or Feather file; write the table as Parquet or CSV"},
    {"FEA1", 4, "a Feather file; write the table as Parquet or CSV"},
    {"\x89HDF", 4, "an HDF5 file; write the table as Parquet or CSV"},
    {"ORC", 3, "an ORC file; write the table as Parquet or CSV"},
    {"SQLite format 3", 15, "an SQLite database; export the table as CSV"},
    {"%PDF", 4, "a PDF file"},
    {"<", 1, "HTML or XML: a web page instead of the file behind it?"},
    {"\x1F\x8B", 2, "gzip inside gzip"},
    {"\x28\xB5\x2F\xFD", 4, "zstd inside zstd"},
};

static enum iso_status reject_strangers(const struct iso_sheet *sheet, const char *bytes,
                                        size_t len, struct iso_err *err)
{
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (len >= strangers[i].len && memcmp(bytes, strangers[i].magic, strangers[i].len) == 0)
            return iso_fail(err, ISO_BAD_INPUT, "%s: not a table of runs, but %s", sheet->path,
                            strangers[i].what);
    return ISO_OK;
}

static enum iso_status parse(struct iso_sheet *sheet, const char *bytes, size_t len,
                             struct iso_err *err)
{
    enum iso_status st = reject_strangers(sheet, bytes, len, err);
    for (size_t i = 0; st == ISO_OK && i < sizeof formats / sizeof *formats; i++)
        if (formats[i]->matches(bytes, len)) {
            st = formats[i]->parse(sheet, bytes, len, err);
            if (st == ISO_OK && sheet->n_col == 0)
                st = iso_fail(
                    err, ISO_BAD_INPUT,
                    "%s: an empty table; a row of texts and numbers is expected for each run",
                    sheet->path);
            break;
        }
    return st;
}

/* Text with a byte order mark, as spreadsheets write it: without the mark, as UTF-8. */
static enum iso_status parse_marked(struct iso_sheet *sheet, const char *encoding,
                                    const unsigned char *bytes, size_t len, struct iso_err *err)
{
    struct iso_encoding *decoder;
    struct iso_str text = {0};
    enum iso_status st = iso_encoding_new(&decoder, encoding, err);
    if (st != ISO_OK)
        return st;
    if (decoder)
        (void)iso_encoding_run(decoder, &text, bytes, len, true);
    else
        iso_str_append(&text, (const char *)bytes, len);
    st = parse(sheet, iso_str_text(&text), text.len, err);
    iso_encoding_free(decoder);
    iso_str_release(&text);
    return st;
}

enum iso_status iso_sheet_parse(struct iso_sheet *sheet, const void *bytes, size_t len,
                                const char *path, struct iso_err *err)
{
    size_t mark = 0;
    *sheet = (struct iso_sheet){0};
    sheet->path = iso_arena_strdup(&sheet->arena, path);
    const char *encoding = iso_encoding_of_mark(bytes, len, &mark);
    return encoding
               ? parse_marked(sheet, encoding, (const unsigned char *)bytes + mark, len - mark, err)
               : parse(sheet, bytes, len, err);
}

static enum iso_status read_all(struct iso_str *out, const char *path, struct iso_err *err)
{
    struct iso_stream *stream;
    char buf[1 << 16];
    size_t got = 1;
    enum iso_status st = iso_stream_open(&stream, path, err);
    if (st != ISO_OK)
        return st;
    while (st == ISO_OK && got > 0) {
        st = iso_stream_read(stream, buf, sizeof buf, &got, err);
        iso_str_append(out, buf, st == ISO_OK ? got : 0);
    }
    iso_stream_close(stream);
    return st;
}

enum iso_status iso_sheet_read(struct iso_sheet *sheet, const char *path, struct iso_err *err)
{
    struct iso_str bytes = {0};
    *sheet = (struct iso_sheet){0};
    enum iso_status st = read_all(&bytes, path, err);
    if (st == ISO_OK)
        st = iso_sheet_parse(sheet, iso_str_text(&bytes), bytes.len,
                             iso_str_eq(path, "-") ? "standard input" : path, err);
    iso_str_release(&bytes);
    return st;
}

void iso_sheet_release(struct iso_sheet *sheet)
{
    free(sheet->name);
    free(sheet->row);
    iso_arena_release(&sheet->arena);
    *sheet = (struct iso_sheet){0};
}

size_t iso_sheet_find(const struct iso_sheet *sheet, const char *name)
{
    for (size_t i = 0; i < sheet->n_col; i++)
        if (iso_str_eq(sheet->name[i], name))
            return i;
    return SIZE_MAX;
}

struct iso_where_columns iso_sheet_columns(struct iso_sheet *sheet)
{
    struct iso_where_column *at =
        ISO_ARENA_NEW_N(&sheet->arena, struct iso_where_column, sheet->n_col);
    for (size_t i = 0; i < sheet->n_col; i++)
        at[i].name = sheet->name[i];
    return (struct iso_where_columns){at, sheet->n_col};
}

enum iso_status iso_sheet_check_size(const struct iso_sheet *sheet, size_t rows,
                                     struct iso_err *err)
{
    enum { MOST_COLUMNS = 1 << 14, MOST_CELLS = 1 << 24 };
    if (sheet->n_col <= MOST_COLUMNS && rows <= MOST_CELLS / (sheet->n_col + 1))
        return ISO_OK;
    return iso_fail(err, ISO_BAD_INPUT,
                    "%s: %zu rows and %zu columns are more than a table of runs has; is this a "
                    "corpus?",
                    sheet->path, rows, sheet->n_col);
}

size_t iso_sheet_column(struct iso_sheet *sheet, const char *name)
{
    size_t at = iso_sheet_find(sheet, name);
    if (at != SIZE_MAX)
        return at;
    *ISO_PUSH(sheet->name, sheet->n_col, sheet->col_room) = iso_arena_strdup(&sheet->arena, name);
    return sheet->n_col - 1;
}

struct iso_sheet_row *iso_sheet_add_row(struct iso_sheet *sheet, int line)
{
    struct iso_sheet_row *row = ISO_PUSH(sheet->row, sheet->n_row, sheet->row_room);
    row->line = line;
    row->cell = iso_arena_alloc(&sheet->arena, sheet->n_col + 1, sizeof *row->cell);
    for (size_t i = 0; i < sheet->n_col; i++)
        row->cell[i] = "";
    return row;
}
