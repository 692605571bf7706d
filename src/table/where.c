/* Conditions: a recursive-descent parser and its evaluation.  See where.h. */
#include "table/where.h"

#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 100 };
enum compare { EQ, NE, LT, LE, GT, GE };

struct iso_where {
    enum { COMPARE, AND, OR, NOT } kind;
    const struct iso_where *a, *b;
    size_t column;
    enum iso_where_kind of; /* the column's */
    enum compare op;
    double number; /* NaN when the value is a word */
    const char *word;
};

struct parser {
    struct iso_arena *arena;
    const char *text, *at; /* at the next token */
    struct iso_where_columns columns;
    int depth;
    struct iso_err *err;
};

static enum iso_status parse_or(struct parser *p, const struct iso_where **out);

static void skip_space(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static enum iso_status fail(const struct parser *p, const char *what)
{
    char found[24] = "the end";
    if (*p->at)
        snprintf(found, sizeof found, "\"%.20s\"", p->at);
    return iso_fail(p->err, ISO_USAGE, "condition \"%.200s\", place %zu: expected %s, found %s",
                    p->text, (size_t)(p->at - p->text) + 1, what, found);
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_.+-/", c));
}

static size_t word_length(const char *at)
{
    size_t n = 0;
    while (word_char(at[n]))
        n++;
    return n;
}

/* Takes the keyword when it is next. */
static bool keyword(struct parser *p, const char *word)
{
    skip_space(p);
    size_t n = strlen(word);
    if (strncmp(p->at, word, n) != 0 || word_char(p->at[n]))
        return false;
    p->at += n;
    return true;
}

/* A word, or anything in quotes. */
static enum iso_status parse_word(struct parser *p, const char **out, const char *what)
{
    skip_space(p);
    const char quote = *p->at;
    if (quote == '\'' || quote == '"') {
        const char *end = strchr(p->at + 1, quote);
        if (!end)
            return fail(p, "a closing quote");
        *out = iso_arena_strndup(p->arena, p->at + 1, (size_t)(end - p->at - 1));
        p->at = end + 1;
        return ISO_OK;
    }
    const size_t n = word_length(p->at);
    if (n == 0)
        return fail(p, what);
    *out = iso_arena_strndup(p->arena, p->at, n);
    p->at += n;
    return ISO_OK;
}

static const char *nth_column(const void *ctx, size_t i)
{
    const struct iso_where_columns *columns = ctx;
    return i < columns->n ? columns->at[i].name : NULL;
}

/* The nearest column, or else those that there are. */
static enum iso_status unknown_column(const struct parser *p, size_t place, const char *name)
{
    enum { MOST = 30 };
    const char *near = iso_nearest(name, nth_column, &p->columns);
    struct iso_str known = {0};
    for (size_t i = 0; !near && i < p->columns.n && i < MOST; i++)
        iso_str_printf(&known, "%s%.60s", i ? ", " : ". Found: ", p->columns.at[i].name);
    if (!near && p->columns.n > MOST)
        iso_str_printf(&known, ", and %zu more", p->columns.n - MOST);
    if (near)
        iso_str_printf(&known, ". Did you mean %s?", near);
    const enum iso_status st =
        iso_fail(p->err, ISO_USAGE, "condition \"%.200s\", place %zu: unknown column %.40s%s",
                 p->text, place, name, iso_str_text(&known));
    iso_str_release(&known);
    return st;
}

static enum iso_status parse_column(struct parser *p, struct iso_where *w)
{
    const char *name;
    skip_space(p);
    const size_t place = (size_t)(p->at - p->text) + 1;
    enum iso_status st = parse_word(p, &name, "a column");
    if (st != ISO_OK)
        return st;
    for (w->column = 0; w->column < p->columns.n; w->column++)
        if (iso_str_eq(p->columns.at[w->column].name, name)) {
            w->of = p->columns.at[w->column].kind;
            return ISO_OK;
        }
    return unknown_column(p, place, name);
}

static enum iso_status parse_operator(struct parser *p, enum compare *op)
{
    static const struct {
        const char *text;
        enum compare op;
    } rows[] = {{"==", EQ}, {"!=", NE}, {"<=", LE}, {">=", GE}, {"=", EQ}, {"<", LT}, {">", GT}};
    skip_space(p);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (iso_str_starts(p->at, rows[i].text)) {
            *op = rows[i].op;
            p->at += strlen(rows[i].text);
            return ISO_OK;
        }
    return fail(p, "a comparison (= != < <= > >=)");
}

static enum iso_status parse_value(struct parser *p, struct iso_where *w)
{
    enum iso_status st = parse_word(p, &w->word, "a value");
    if (st != ISO_OK)
        return st;
    const char *column = p->columns.at[w->column].name;
    const bool orders = w->op != EQ && w->op != NE;
    if (!iso_parse_double(w->word, &w->number) || w->of == ISO_WHERE_TEXT)
        w->number = NAN;
    if (isnan(w->number) && w->of == ISO_WHERE_NUMBER)
        return iso_fail(p->err, ISO_USAGE,
                        "condition \"%.200s\": column %s is a number, \"%.40s\" is not", p->text,
                        column, w->word);
    if (w->of == ISO_WHERE_TEXT && orders)
        return iso_fail(
            p->err, ISO_USAGE,
            "condition \"%.200s\": column %s is a text; compare it with = or !=", p->text, column);
    if (isnan(w->number) && orders)
        return iso_fail(p->err, ISO_USAGE,
                        "condition \"%.200s\": \"%.40s\" is not a number; compare it with = or !=",
                        p->text, w->word);
    return ISO_OK;
}

static enum iso_status parse_factor(struct parser *p, const struct iso_where **out)
{
    struct iso_where *w = ISO_ARENA_NEW(p->arena, struct iso_where);
    enum iso_status st = ISO_OK;
    *out = w;
    if (p->depth >= MAX_DEPTH)
        return fail(p, "fewer parentheses");
    p->depth++;
    if (keyword(p, "not")) {
        w->kind = NOT;
        st = parse_factor(p, &w->a);
    } else if (*p->at == '(') {
        p->at++;
        st = parse_or(p, out);
        skip_space(p);
        if (st == ISO_OK && *p->at != ')')
            st = fail(p, "a closing parenthesis");
        else if (st == ISO_OK)
            p->at++;
    } else {
        w->kind = COMPARE;
        st = parse_column(p, w);
        if (st == ISO_OK)
            st = parse_operator(p, &w->op);
        if (st == ISO_OK)
            st = parse_value(p, w);
    }
    p->depth--;
    return st;
}

static enum iso_status parse_and(struct parser *p, const struct iso_where **out)
{
    enum iso_status st = parse_factor(p, out);
    while (st == ISO_OK && keyword(p, "and")) {
        struct iso_where *w = ISO_ARENA_NEW(p->arena, struct iso_where);
        w->kind = AND;
        w->a = *out;
        *out = w;
        out = &w->b;
        st = parse_factor(p, out);
    }
    return st;
}

static enum iso_status parse_or(struct parser *p, const struct iso_where **out)
{
    enum iso_status st = parse_and(p, out);
    while (st == ISO_OK && keyword(p, "or")) {
        struct iso_where *w = ISO_ARENA_NEW(p->arena, struct iso_where);
        w->kind = OR;
        w->a = *out;
        *out = w;
        out = &w->b;
        st = parse_and(p, out);
    }
    return st;
}

enum iso_status iso_where_parse(const struct iso_where **out, struct iso_arena *arena,
                                const char *text, struct iso_where_columns columns,
                                struct iso_err *err)
{
    struct parser p = {.arena = arena, .text = text, .at = text, .columns = columns, .err = err};
    enum iso_status st = parse_or(&p, out);
    skip_space(&p);
    return st == ISO_OK && *p.at ? fail(&p, "and, or, or the end") : st;
}

static bool compare_numbers(enum compare op, double x, double y)
{
    bool equal = fabs(x - y) <= 1e-9 * fabs(y); /* 2.15e13 as text and as a product are one */
    switch (op) {
    case EQ:
        return equal;
    case NE:
        return !equal;
    case LT:
        return x < y && !equal;
    case LE:
        return x < y || equal;
    case GT:
        return x > y && !equal;
    case GE:
        return x > y || equal;
    }
    return false;
}

static bool compare_cell(const struct iso_where *w, const char *cell)
{
    double x;
    const bool known = iso_parse_double(cell, &x);
    if (isnan(w->number) || (!known && *cell && w->of == ISO_WHERE_ANY))
        return (w->op == EQ || w->op == NE) && iso_str_eq(cell, w->word) == (w->op == EQ);
    return known && compare_numbers(w->op, x, w->number);
}

/* Terms of a chain hang on each other's right, and are gone through in a loop: however many there
 * are, the stack is as deep as the parentheses. */
bool iso_where_holds(const struct iso_where *w, const char *const *cell)
{
    for (; w->kind == AND || w->kind == OR; w = w->b)
        if (iso_where_holds(w->a, cell) == (w->kind == OR))
            return w->kind == OR;
    return w->kind == NOT ? !iso_where_holds(w->a, cell) : compare_cell(w, cell[w->column]);
}
