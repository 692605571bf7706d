/* Sheets in JSON: lines of objects, an array of objects, or an object of columns.
 *
 * Which one it is: '[' begins an array.  Behind '{', when a second line begins with '{' too, every
 * line is an object; else there is one object, whose members are columns when they are lists or
 * objects, and the cells of one row when they are not. */
#include "base/json.h"
#include "base/str.h"
#include "table/sheet.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rows before they become cells: which columns there are is known after the last. */
struct objects {
    struct {
        const struct iso_json *row;
        int line;
    } * at;
    size_t n, room;
};

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && strchr(" \t\r\n", *p) && *p)
        p++;
    return p;
}

static bool matches(const char *bytes, size_t len)
{
    const char *p = skip_space(bytes, bytes + len);
    return p < bytes + len && (*p == '{' || *p == '[');
}

/* A value as the text that a CSV cell would hold; NULL for what cannot be a cell. */
static const char *cell_text(struct iso_arena *arena, const struct iso_json *v)
{
    char buf[32];
    switch (v->kind) {
    case ISO_JSON_STRING:
        return strlen(v->string) == v->len ? v->string : NULL;
    case ISO_JSON_NUMBER:
        return iso_arena_strdup(arena, iso_format_double(buf, v->number));
    case ISO_JSON_BOOL:
        return v->boolean ? "true" : "false";
    case ISO_JSON_NULL:
        return "";
    default:
        return NULL;
    }
}

static enum iso_status fill_row(struct iso_sheet *sheet, const struct iso_json *object, int line,
                                struct iso_err *err)
{
    struct iso_sheet_row *row = iso_sheet_add_row(sheet, line);
    bool *seen = ISO_NEW_N(bool, sheet->n_col + 1);
    enum iso_status st = ISO_OK;
    for (const struct iso_json *v = object->child; st == ISO_OK && v; v = v->next) {
        const char *text = cell_text(&sheet->arena, v);
        if (!text)
            continue;
        size_t at = iso_sheet_find(sheet, v->key);
        if (seen[at])
            st = iso_fail(err, ISO_BAD_INPUT, "%s:%d: column %s is there twice", sheet->path, line,
                          v->key);
        seen[at] = true;
        row->cell[at] = text;
    }
    free(seen);
    return st;
}

static enum iso_status fill(struct iso_sheet *sheet, const struct objects *o, struct iso_err *err)
{
    struct iso_arena scratch = {0};
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < o->n; i++)
        for (const struct iso_json *v = o->at[i].row->child; st == ISO_OK && v; v = v->next)
            if (cell_text(&scratch, v)) {
                (void)iso_sheet_column(sheet, v->key);
                st = iso_sheet_check_size(sheet, o->n, err);
            }
    iso_arena_release(&scratch);
    for (size_t i = 0; st == ISO_OK && i < o->n; i++)
        st = fill_row(sheet, o->at[i].row, o->at[i].line, err);
    return st;
}

static enum iso_status add_object(struct objects *o, const struct iso_sheet *sheet,
                                  const struct iso_json *v, int line, struct iso_err *err)
{
    if (v->kind != ISO_JSON_OBJECT)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s:%d: a JSON object is expected for each run: {\"loss\": ..., ...}",
                        sheet->path, line);
    size_t at = o->n;
    (void)ISO_PUSH(o->at, o->n, o->room);
    o->at[at].row = v;
    o->at[at].line = line;
    return ISO_OK;
}

static enum iso_status add_children(struct objects *o, const struct iso_sheet *sheet,
                                    const struct iso_json *list, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    int row = 1;
    for (const struct iso_json *v = list->child; st == ISO_OK && v; v = v->next)
        st = add_object(o, sheet, v, row++, err);
    return st;
}

static enum iso_status add_lines(struct objects *o, struct iso_sheet *sheet, const char *text,
                                 const char *end, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (int line = 1; st == ISO_OK && text < end; line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        const struct iso_json *row;
        text = skip_space(text, stop);
        if (text < stop) {
            struct iso_str where = {0};
            iso_str_printf(&where, "%s:%d", sheet->path, line);
            st = iso_json_parse(&row, &sheet->arena, text, (size_t)(stop - text), where.text, err);
            if (st == ISO_OK)
                st = add_object(o, sheet, row, line, err);
            iso_str_release(&where);
        }
        text = newline ? newline + 1 : end;
    }
    return st;
}

/* --- one object of columns --- */

static const struct iso_json *nth_child(const struct iso_json *v, size_t i)
{
    const struct iso_json *c = v->child;
    while (c && i-- > 0)
        c = c->next;
    return c;
}

/* pandas writes a column as {index: value}, its indices usually in the order of the first one's. */
static const struct iso_json *value_at(const struct iso_json *column, const struct iso_json *guess,
                                       const char *index)
{
    return guess && iso_str_eq(guess->key, index) ? guess : iso_json_get(column, index);
}

/* False when a value has no place among the indices. */
static bool fill_column(struct iso_sheet *sheet, const struct iso_json *column,
                        const struct iso_json *index)
{
    const size_t at = iso_sheet_find(sheet, column->key);
    const struct iso_json *v = column->child;
    size_t n = 0;
    for (size_t i = 0; i < sheet->n_row; i++) {
        const struct iso_json *found = index ? value_at(column, v, index->key) : v;
        const char *text = found ? cell_text(&sheet->arena, found) : NULL;
        sheet->row[i].cell[at] = text ? text : "";
        n += found != NULL;
        v = v ? v->next : NULL;
        index = index ? index->next : NULL;
    }
    return n == column->n;
}

static enum iso_status read_columns(struct iso_sheet *sheet, const struct iso_json *table,
                                    struct iso_err *err)
{
    const struct iso_json *first = table->child;
    const bool indexed = first->kind == ISO_JSON_OBJECT;
    for (const struct iso_json *c = first; c; c = c->next) {
        if (c->kind != first->kind || (!indexed && c->n != first->n))
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: columns %s (%zu values) and %s (%zu values) do not form a table",
                            sheet->path, first->key, first->n, c->key, c->n);
        if (iso_sheet_find(sheet, c->key) != SIZE_MAX)
            return iso_fail(err, ISO_BAD_INPUT, "%s: column %s is there twice", sheet->path,
                            c->key);
        (void)iso_sheet_column(sheet, c->key);
        if (iso_sheet_check_size(sheet, first->n, err) != ISO_OK)
            return ISO_BAD_INPUT;
    }
    for (size_t i = 0; i < first->n; i++)
        (void)iso_sheet_add_row(sheet, (int)i + 1);
    for (const struct iso_json *c = first; c; c = c->next)
        if (!fill_column(sheet, c, indexed ? first->child : NULL))
            return iso_fail(err, ISO_BAD_INPUT, "%s: columns %s and %s do not have the same rows",
                            sheet->path, first->key, c->key);
    return ISO_OK;
}

static bool all_digits(const char *text)
{
    while (isdigit((unsigned char)*text))
        text++;
    return !*text;
}

/* {"0": {...}, "1": {...}}: the rows of pandas' orient="index". */
static bool is_rows(const struct iso_json *table)
{
    for (const struct iso_json *v = table->child; v; v = v->next)
        if (v->kind != ISO_JSON_OBJECT || !all_digits(v->key))
            return false;
    return true;
}

static bool is_cells(const struct iso_json *object)
{
    for (const struct iso_json *v = object->child; v; v = v->next)
        if (v->kind != ISO_JSON_ARRAY && v->kind != ISO_JSON_OBJECT)
            return true;
    return !object->child;
}

static enum iso_status read_object(struct iso_sheet *sheet, struct objects *o,
                                   const struct iso_json *table, struct iso_err *err)
{
    const struct iso_json *data = iso_json_get(table, "data"), *only = nth_child(table, 0);
    if (is_cells(table))
        return add_object(o, sheet, table, 1, err);
    if (is_rows(table))
        return add_children(o, sheet, table, err);
    if (iso_json_get(table, "columns") && data && data->kind == ISO_JSON_ARRAY)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: pandas' split or table form; write the table with orient=\"records\"",
                        sheet->path);
    if (table->n == 1 && only->kind == ISO_JSON_ARRAY && only->child &&
        only->child->kind == ISO_JSON_OBJECT)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: the rows are inside member \"%s\"; write that list alone", sheet->path,
                        only->key);
    return read_columns(sheet, table, err);
}

/* Whether the second line that is not blank begins an object of its own. */
static bool is_lines(const char *text, const char *end)
{
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    const char *next = newline ? skip_space(newline, end) : end;
    return next < end && *next == '{';
}

static enum iso_status parse(struct iso_sheet *sheet, const char *bytes, size_t len,
                             struct iso_err *err)
{
    const char *end = bytes + len, *text = skip_space(bytes, end);
    struct objects o = {0};
    const struct iso_json *all;
    enum iso_status st;
    if (*text == '{' && is_lines(text, end)) {
        st = add_lines(&o, sheet, bytes, end, err);
    } else {
        st = iso_json_parse(&all, &sheet->arena, text, (size_t)(end - text), sheet->path, err);
        if (st == ISO_OK && all->kind == ISO_JSON_ARRAY)
            st = add_children(&o, sheet, all, err);
        else if (st == ISO_OK)
            st = read_object(sheet, &o, all, err);
    }
    if (st == ISO_OK)
        st = fill(sheet, &o, err);
    free(o.at);
    return st;
}

const struct iso_sheet_format iso_sheet_json = {"json", matches, parse};
