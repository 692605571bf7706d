/* CSV: see csv.h. */
#include "base/csv.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at, *end, *path;
    int line;
    char separator;
    struct iso_arena *arena;
    struct iso_err *err;
    const char **field; /* of the current row, reused */
    size_t n, room;
};

static enum iso_status read_quoted(struct reader *r, const char **field)
{
    int first_line = r->line;
    const char *start = ++r->at;
    size_t quotes = 0;
    for (;; r->at++) {
        if (r->at >= r->end)
            return iso_fail(r->err, ISO_BAD_INPUT, "%s:%d: the quoted field does not end", r->path,
                            first_line);
        if (*r->at == '\n')
            r->line++;
        if (*r->at != '"')
            continue;
        if (r->at + 1 >= r->end || r->at[1] != '"')
            break;
        quotes++;
        r->at++;
    }
    size_t len = (size_t)(r->at - start);
    char *text = iso_arena_alloc(r->arena, len - quotes + 1, 1), *out = text;
    for (const char *p = start; p < r->at; p++) {
        *out++ = *p;
        p += *p == '"';
    }
    r->at++;
    *field = text;
    return ISO_OK;
}

static const char *read_plain(struct reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && *r->at != r->separator && *r->at != '\n')
        r->at++;
    const char *stop = r->at;
    while (stop > start && (stop[-1] == '\r' || stop[-1] == ' '))
        stop--;
    while (start < stop && *start == ' ')
        start++;
    return iso_arena_strndup(r->arena, start, (size_t)(stop - start));
}

/* Reads the fields up to the end of the line into r->field. */
static enum iso_status read_row(struct reader *r)
{
    r->n = 0;
    for (;;) {
        const char *field = NULL;
        if (r->at < r->end && *r->at == '"') {
            enum iso_status st = read_quoted(r, &field);
            if (st != ISO_OK)
                return st;
            if (r->at < r->end && *r->at == '\r')
                r->at++;
        } else {
            field = read_plain(r);
        }
        *ISO_PUSH(r->field, r->n, r->room) = field;
        if (r->at >= r->end)
            return ISO_OK;
        if (*r->at == '\n') {
            r->at++;
            r->line++;
            return ISO_OK;
        }
        if (*r->at != r->separator)
            return iso_fail(r->err, ISO_BAD_INPUT, "%s:%d: text after a closing quote", r->path,
                            r->line);
        r->at++;
    }
}

/* The separator that the header has most of, outside quotes; a comma where it has none. */
static char find_separator(const struct reader *r)
{
    static const char known[] = ",\t;";
    size_t count[sizeof known] = {0}, best = 0;
    bool quoted = false;
    for (const char *p = r->at; p < r->end && (quoted || *p != '\n'); p++) {
        const char *which = *p ? strchr(known, *p) : NULL;
        quoted ^= *p == '"';
        if (which && !quoted)
            count[which - known]++;
    }
    for (size_t i = 1; i + 1 < sizeof known; i++)
        if (count[i] > count[best])
            best = i;
    return known[best];
}

static bool skip_line(struct reader *r)
{
    const char *p = r->at;
    while (p < r->end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    if (p < r->end && *p != '\n' && *p != '#')
        return false;
    while (p < r->end && *p != '\n')
        p++;
    r->line += p < r->end;
    r->at = p < r->end ? p + 1 : r->end;
    return true;
}

static const char **keep_fields(struct reader *r)
{
    const char **copy = iso_arena_alloc(r->arena, r->n, sizeof *copy);
    for (size_t i = 0; i < r->n; i++)
        copy[i] = r->field[i];
    return copy;
}

/* A column without a name, such as the index that pandas writes, is called by its number.  Each
 * name is compared with all others, so a line of a million commas would take hours. */
static enum iso_status check_header(const struct iso_csv *csv, const struct reader *r, int line)
{
    enum { MOST_COLUMNS = 1 << 14 };
    if (csv->n_col > MOST_COLUMNS)
        return iso_fail(r->err, ISO_BAD_INPUT, "%s:%d: %zu columns are more than a table has",
                        r->path, line, csv->n_col);
    for (size_t i = 0; i < csv->n_col; i++) {
        if (!*csv->name[i])
            csv->name[i] = iso_arena_printf(r->arena, "column %zu", i + 1);
        if (iso_csv_column(csv, csv->name[i]) != (int)i)
            return iso_fail(r->err, ISO_BAD_INPUT, "%s:%d: column %s is there twice", r->path, line,
                            csv->name[i]);
    }
    return ISO_OK;
}

static enum iso_status parse_rows(struct iso_csv *csv, struct reader *r)
{
    struct iso_csv_row *rows = NULL;
    size_t n = 0, room = 0;
    enum iso_status st = ISO_OK;
    while (st == ISO_OK && r->at < r->end) {
        if (skip_line(r))
            continue;
        int line = r->line;
        if (!csv->name)
            r->separator = find_separator(r);
        if ((st = read_row(r)) != ISO_OK)
            break;
        if (!csv->name) {
            csv->name = keep_fields(r);
            csv->n_col = r->n;
            st = check_header(csv, r, line);
        } else if (r->n != csv->n_col) {
            st = iso_fail(r->err, ISO_BAD_INPUT, "%s:%d: %zu fields, but the header has %zu%s",
                          r->path, line, r->n, csv->n_col,
                          csv->n_col == 1 ? "; is this a table?" : "");
        } else {
            *ISO_PUSH(rows, n, room) = (struct iso_csv_row){keep_fields(r), line};
        }
    }
    csv->row = iso_arena_alloc(r->arena, n, sizeof *rows);
    if (n)
        memcpy(csv->row, rows, n * sizeof *rows);
    csv->n_row = n;
    free(rows);
    return st;
}

enum iso_status iso_csv_parse(struct iso_csv *csv, struct iso_arena *arena, const char *text,
                              size_t len, const char *path, struct iso_err *err)
{
    *csv = (struct iso_csv){0};
    if (memchr(text, '\0', len))
        return iso_fail(err, ISO_BAD_INPUT, "%s: holds NUL bytes; not a CSV file", path);
    const char *cr = memchr(text, '\r', len);
    if (cr && !memchr(text, '\n', len) && cr + 1 < text + len)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: its lines end with a carriage return alone; convert them, for example "
                        "with tr '\\r' '\\n'",
                        path);
    struct reader r = {
        .at = text, .end = text + len, .path = path, .line = 1, .arena = arena, .err = err};
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        r.at += 3; /* the byte order mark that spreadsheets write */
    enum iso_status st = parse_rows(csv, &r);
    free(r.field);
    if (st == ISO_OK && !csv->name)
        st = iso_fail(err, ISO_BAD_INPUT, "%s: empty; a header line is expected", path);
    return st;
}

int iso_csv_column(const struct iso_csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->n_col; i++)
        if (iso_str_eq(csv->name[i], name))
            return (int)i;
    return -1;
}

/* What may separate fields, what makes a comment of a line, and what is trimmed. */
static bool needs_quotes(const char *field)
{
    return strpbrk(field, ",;\t\"\r\n") || (*field && strchr("# ", *field)) ||
           iso_str_ends(field, " ");
}

void iso_csv_put(struct iso_str *out, const char *field)
{
    if (!needs_quotes(field)) {
        iso_str_puts(out, field);
        return;
    }
    iso_str_putc(out, '"');
    for (; *field; field++) {
        if (*field == '"')
            iso_str_putc(out, '"');
        iso_str_putc(out, *field);
    }
    iso_str_putc(out, '"');
}
