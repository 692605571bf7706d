/* Tables: see table.h. */
#include "base/table.h"

#include "base/csv.h"
#include "base/err.h"
#include "base/latex.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void iso_table_init(struct iso_table *t, const char *columns)
{
    *t = (struct iso_table){0};
    const char *p = columns;
    for (;;) {
        size_t n = strcspn(p, "|");
        *ISO_PUSH(t->cell, t->n_cell, t->room) = iso_arena_strndup(&t->arena, p, n);
        t->n_col++;
        if (!p[n])
            break;
        p += n + 1;
    }
}

void iso_table_release(struct iso_table *t)
{
    free(t->cell);
    free(t->bold);
    iso_arena_release(&t->arena);
    *t = (struct iso_table){0};
}

void iso_table_put(struct iso_table *t, const char *text)
{
    *ISO_PUSH(t->cell, t->n_cell, t->room) = iso_arena_strdup(&t->arena, text);
}

void iso_table_putf(struct iso_table *t, const char *fmt, ...)
{
    struct iso_str s = {0};
    va_list ap;
    va_start(ap, fmt);
    iso_str_vprintf(&s, fmt, ap);
    va_end(ap);
    iso_table_put(t, iso_str_text(&s));
    iso_str_release(&s);
}

void iso_table_bold(struct iso_table *t)
{
    *ISO_PUSH(t->bold, t->n_bold, t->bold_room) = t->n_cell - 1;
}

static bool is_bold(const struct iso_table *t, size_t cell)
{
    for (size_t i = 0; i < t->n_bold; i++)
        if (t->bold[i] == cell)
            return true;
    return false;
}

static bool looks_numeric(const char *text)
{
    return *text && strchr("+-.0123456789", text[0]) && strpbrk(text, "0123456789");
}

/* A column is numeric when every filled cell below its header begins like a number. */
static bool numeric_column(const struct iso_table *t, size_t col)
{
    bool any = false;
    for (size_t i = t->n_col + col; i < t->n_cell; i += t->n_col) {
        const char *c = t->cell[i];
        if (!*c || iso_str_eq(c, "-"))
            continue;
        if (!looks_numeric(c))
            return false;
        any = true;
    }
    return any;
}

static void put_padding(struct iso_str *out, size_t n)
{
    while (n-- > 0)
        iso_str_putc(out, ' ');
}

/* The table with cells that a terminal and a page can show. */
static struct iso_table visible_copy(const struct iso_table *t)
{
    struct iso_table copy = *t;
    copy.arena = (struct iso_arena){0};
    copy.cell = ISO_NEW_N(const char *, t->n_cell);
    struct iso_str s = {0};
    for (size_t i = 0; i < t->n_cell; i++) {
        iso_str_clear(&s);
        iso_str_put_visible(&s, t->cell[i], "");
        copy.cell[i] = iso_arena_strdup(&copy.arena, iso_str_text(&s));
    }
    iso_str_release(&s);
    return copy;
}

static void release_copy(struct iso_table *copy)
{
    free(copy->cell);
    iso_arena_release(&copy->arena);
}

static void write_text(struct iso_str *out, const struct iso_table *table, bool colour)
{
    struct iso_table copy = visible_copy(table);
    const struct iso_table *t = &copy;
    size_t *width = iso_alloc(t->n_col, sizeof *width);
    bool *right = iso_alloc(t->n_col, sizeof *right);
    for (size_t i = 0; i < t->n_cell; i++) {
        size_t w = iso_utf8_width(t->cell[i]);
        if (w > width[i % t->n_col])
            width[i % t->n_col] = w;
    }
    for (size_t c = 0; c < t->n_col; c++)
        right[c] = numeric_column(t, c);
    if (t->caption)
        iso_str_printf(out, "%s\n", t->caption);
    for (size_t i = 0; i < t->n_cell; i++) {
        size_t c = i % t->n_col, pad = width[c] - iso_utf8_width(t->cell[i]);
        bool header = i < t->n_col, last = c + 1 == t->n_col;
        if (right[c])
            put_padding(out, pad);
        iso_str_printf(out, (header || is_bold(t, i)) && colour ? "\033[1m%s\033[0m" : "%s",
                       t->cell[i]);
        if (!right[c] && !last)
            put_padding(out, pad);
        iso_str_puts(out, last ? "\n" : "  ");
    }
    free(width);
    free(right);
    release_copy(&copy);
}

static void write_csv(struct iso_str *out, const struct iso_table *t)
{
    for (size_t i = 0; i < t->n_cell; i++) {
        iso_csv_put(out, t->cell[i]);
        iso_str_putc(out, (i + 1) % t->n_col ? ',' : '\n');
    }
}

struct escape {
    const char *from, *to;
};

static void put_escaped(struct iso_str *out, const char *text, const struct escape *escapes)
{
    while (*text) {
        const struct escape *e = escapes;
        while (e->from && !iso_str_starts(text, e->from))
            e++;
        if (e->from)
            iso_str_puts(out, e->to);
        else
            iso_str_putc(out, *text);
        text += e->from ? strlen(e->from) : 1;
    }
}

static void write_latex(struct iso_str *out, const struct iso_table *t)
{
    iso_str_puts(out, "\\begin{tabular}{@{}");
    for (size_t c = 0; c < t->n_col; c++)
        iso_str_putc(out, numeric_column(t, c) ? 'r' : 'l');
    iso_str_puts(out, "@{}}\n\\toprule\n");
    for (size_t i = 0; i < t->n_cell; i++) {
        bool bold = is_bold(t, i);
        iso_str_puts(out, bold ? "\\textbf{" : "");
        iso_latex_put(out, t->cell[i]);
        iso_str_puts(out, bold ? "}" : "");
        iso_str_puts(out, (i + 1) % t->n_col ? " & " : " \\\\\n");
        if (i + 1 == t->n_col)
            iso_str_puts(out, "\\midrule\n");
    }
    iso_str_puts(out, "\\bottomrule\n\\end{tabular}\n");
}

static void write_html(struct iso_str *out, const struct iso_table *table)
{
    struct iso_table copy = visible_copy(table);
    const struct iso_table *t = &copy;
    static const struct escape escapes[] = {
        {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {0}};
    bool *numeric = iso_alloc(t->n_col, sizeof *numeric);
    for (size_t c = 0; c < t->n_col; c++)
        numeric[c] = numeric_column(t, c);
    iso_str_puts(out, "<table>");
    if (t->caption) {
        iso_str_puts(out, "<caption>");
        put_escaped(out, t->caption, escapes);
        iso_str_puts(out, "</caption>");
    }
    iso_str_puts(out, "<thead>");
    for (size_t i = 0; i < t->n_cell; i++) {
        bool header = i < t->n_col;
        const char *tag = header ? "th" : "td";
        if (i % t->n_col == 0)
            iso_str_puts(out, "<tr>");
        iso_str_printf(out, "<%s%s>", tag, numeric[i % t->n_col] ? " class=\"n\"" : "");
        bool bold = is_bold(t, i);
        iso_str_puts(out, bold ? "<b>" : "");
        put_escaped(out, t->cell[i], escapes);
        iso_str_puts(out, bold ? "</b>" : "");
        iso_str_printf(out, "</%s>", tag);
        if ((i + 1) % t->n_col == 0)
            iso_str_puts(out, header ? "</tr></thead>\n<tbody>" : "</tr>\n");
    }
    iso_str_puts(out, "</tbody></table>\n");
    free(numeric);
    release_copy(&copy);
}

void iso_table_write(struct iso_str *out, const struct iso_table *t, enum iso_table_format format,
                     bool colour)
{
    ISO_ASSERT(t->n_cell % t->n_col == 0);
    switch (format) {
    case ISO_TABLE_TEXT:
        write_text(out, t, colour);
        break;
    case ISO_TABLE_CSV:
        write_csv(out, t);
        break;
    case ISO_TABLE_LATEX:
        write_latex(out, t);
        break;
    case ISO_TABLE_HTML:
        write_html(out, t);
        break;
    }
}

void iso_table_print(FILE *f, const struct iso_table *t, enum iso_table_format format)
{
    struct iso_str s = {0};
    iso_table_write(&s, t, format, iso_colour_wanted(f));
    fputs(iso_str_text(&s), f);
    iso_str_release(&s);
}

bool iso_colour_wanted(FILE *f)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(f)) && !(no && *no) && term && !iso_str_eq(term, "dumb");
}

size_t iso_screen_columns(FILE *f)
{
    int64_t wanted;
    struct winsize w;
    const char *set = getenv("COLUMNS");
    if (set && iso_parse_int(set, &wanted) && wanted >= 20 && wanted <= 10000)
        return (size_t)wanted;
    return ioctl(fileno(f), TIOCGWINSZ, &w) == 0 && w.ws_col >= 20 ? w.ws_col : 80;
}

size_t iso_screen_rows(FILE *f)
{
    struct winsize w;
    return ioctl(fileno(f), TIOCGWINSZ, &w) == 0 && w.ws_row > 1 ? w.ws_row : 24;
}
