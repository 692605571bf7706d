/* Reading tables of runs: see runs.h.
 *
 * CSV and JSONL rows both become a list of (name, text) cells; one table of columns says where
 * each cell goes and what it may be.
 * 1. What cannot be a run (a negative token count, an unreadable number) is an error that names
 *    file, line and column.
 * 2. What is a run without a usable loss is left out with its reason, never dropped silently. */
#include "fit/runs.h"

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"

#include <math.h>
#include <string.h>

/* Numbers: lowest allowed value (exclusive when `positive`). */
static const struct column {
    const char *name;
    size_t offset;
    double otherwise; /* when the column, or the cell of an optional one, is empty */
    double least;
    bool positive;
} number_columns[] = {
    {"budget", offsetof(struct iso_run, budget), NAN, 0, true},
    {"r", offsetof(struct iso_run, r), 1, 1, false},
    {"n_once", offsetof(struct iso_run, n_once), NAN, 0, false},
    {"n_rec", offsetof(struct iso_run, n_rec), 0, 0, false},
    {"n_inject", offsetof(struct iso_run, n_inject), 0, 0, false},
    {"n_embed", offsetof(struct iso_run, n_embed), NAN, 0, false},
    {"flops_per_token", offsetof(struct iso_run, flops_per_token), NAN, 0, true},
    {"tokens", offsetof(struct iso_run, tokens), NAN, 0, true},
    {"s", offsetof(struct iso_run, s), NAN, 0, true},
    {"d_model", offsetof(struct iso_run, d_model), NAN, 0, true},
    {"lr_base", offsetof(struct iso_run, lr_base), NAN, 0, true},
};
enum { N_NUMBERS = sizeof number_columns / sizeof *number_columns };

static const struct {
    const char *name;
    size_t offset;
} text_columns[] = {
    {"run", offsetof(struct iso_run, id)},
    {"seed", offsetof(struct iso_run, seed)},
    {"status", offsetof(struct iso_run, status)},
};
enum { N_TEXTS = sizeof text_columns / sizeof *text_columns };

/* States of a finished run; every other one means that the loss is not final. */
static const char *const finished[] = {"", "done", "ok", "finished", "complete", "completed"};

struct cells {
    const char **name, **text;
    size_t n, room_name, room_text;
};

struct place {
    struct iso_runs *runs;
    const char *path;
    int line;
    enum iso_runs_kind kind;
    struct iso_err *err;
};

static const char *cell(const struct cells *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (iso_str_eq(c->name[i], name))
            return c->text[i];
    return NULL;
}

static const char *nth_cell_name(const void *ctx, size_t i)
{
    const struct cells *c = ctx;
    return i < c->n ? c->name[i] : NULL;
}

static enum iso_status missing(const struct place *at, const struct cells *c, const char *name)
{
    const char *near = iso_nearest(name, nth_cell_name, c);
    if (near)
        return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s is missing; is it %s?", at->path,
                        at->line, name, near);
    return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s is missing", at->path, at->line,
                    name);
}

static enum iso_status read_number(const struct place *at, const struct cells *c,
                                   const struct column *col, double *out)
{
    const char *name = col->name, *text = cell(c, name);
    if ((!text || !*text) && iso_str_eq(name, "budget")) { /* flops may stand for it */
        const char *flops = cell(c, "flops");
        if (flops)
            name = "flops", text = flops;
    }
    *out = col->otherwise;
    const bool required =
        iso_str_eq(name, "budget") || iso_str_eq(name, "n_once") || iso_str_eq(name, "tokens");
    if (!text && required)
        return missing(at, c, name);
    if (!text || (!*text && !required && !iso_str_eq(name, "flops")))
        return ISO_OK;
    if (!*text)
        return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s is empty", at->path, at->line,
                        name);
    if (!iso_parse_double(text, out))
        return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s: \"%s\" is not a number",
                        at->path, at->line, name, text);
    if (*out < col->least || (col->positive && *out == 0))
        return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column %s: %s must be %s%g", at->path,
                        at->line, name, text, col->positive ? "above " : "at least ", col->least);
    return ISO_OK;
}

/* A loss that is a number goes into *out; one that is none, but may honestly stand in a table,
 * gives the reason for leaving the run out. */
static enum iso_status read_loss(const struct place *at, const struct cells *c, double *out,
                                 const char **reason)
{
    static const char *const not_finite[] = {"nan",  "NaN",  "NAN",      "inf",       "Inf", "INF",
                                             "-inf", "+inf", "Infinity", "-Infinity", "null"};
    const char *text = cell(c, "loss");
    *out = NAN;
    if (at->kind == ISO_RUNS_PLANNED)
        return ISO_OK;
    if (!text)
        return missing(at, c, "loss");
    if (!*text) {
        *reason = "no loss";
        return ISO_OK;
    }
    for (size_t i = 0; i < sizeof not_finite / sizeof *not_finite; i++)
        if (iso_str_eq(text, not_finite[i])) {
            *reason = "the loss is not finite";
            return ISO_OK;
        }
    if (!iso_parse_double(text, out))
        return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column loss: \"%s\" is not a number",
                        at->path, at->line, text);
    if (*out <= 0)
        *reason = "the loss is not above 0";
    return ISO_OK;
}

static enum iso_status check_sense(const struct place *at, const struct iso_run *run)
{
    if (iso_run_params(run) <= 0 || run->n_once + run->n_rec < 1)
        return iso_fail(at->err, ISO_BAD_INPUT,
                        "%s:%d: columns n_once and n_rec: the model has no parameters", at->path,
                        at->line);
    if (run->r > 1 && run->n_rec == 0)
        return iso_fail(at->err, ISO_BAD_INPUT,
                        "%s:%d: column n_rec: r is %g, but no parameters are used r times",
                        at->path, at->line, run->r);
    if (run->tokens < 1)
        return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column tokens: less than one token",
                        at->path, at->line);
    if (run->r > 1e6)
        return iso_fail(at->err, ISO_BAD_INPUT, "%s:%d: column r: %g recurrences cannot be meant",
                        at->path, at->line, run->r);
    return ISO_OK;
}

static bool known_column(const char *name)
{
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (iso_str_eq(number_columns[i].name, name))
            return true;
    for (size_t i = 0; i < N_TEXTS; i++)
        if (iso_str_eq(text_columns[i].name, name))
            return true;
    return iso_str_eq(name, "loss") || iso_str_eq(name, "flops");
}

static size_t extra_index(struct iso_runs *runs, const char *name)
{
    for (size_t k = 0; k < runs->n_extra; k++)
        if (iso_str_eq(runs->extra_name[k], name))
            return k;
    *ISO_PUSH(runs->extra_name, runs->n_extra, runs->extra_room) =
        iso_arena_strdup(&runs->arena, name);
    return runs->n_extra - 1;
}

static void carry_extras(struct iso_runs *runs, struct iso_run *run, const struct cells *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!known_column(c->name[i]))
            (void)extra_index(runs, c->name[i]);
    run->extra = iso_arena_alloc(&runs->arena, runs->n_extra + 1, sizeof *run->extra);
    run->n_extra = runs->n_extra;
    for (size_t i = 0; i < c->n; i++)
        if (!known_column(c->name[i]))
            run->extra[extra_index(runs, c->name[i])] = iso_arena_strdup(&runs->arena, c->text[i]);
}

static enum iso_status add_row(const struct place *at, const struct cells *c)
{
    struct iso_runs *runs = at->runs;
    struct iso_run run = {.file = at->path, .line = at->line};
    const char *reason = NULL;
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < N_NUMBERS; i++) {
        double x;
        st = read_number(at, c, &number_columns[i], &x);
        memcpy((char *)&run + number_columns[i].offset, &x, sizeof x);
    }
    if (st == ISO_OK)
        st = read_loss(at, c, &run.loss, &reason);
    if (st == ISO_OK)
        st = check_sense(at, &run);
    if (st != ISO_OK)
        return st;
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *text = cell(c, text_columns[i].name);
        const char *copy = iso_arena_strdup(&runs->arena, text ? text : "");
        memcpy((char *)&run + text_columns[i].offset, &copy, sizeof copy);
    }
    carry_extras(runs, &run, c);
    bool is_finished = at->kind == ISO_RUNS_PLANNED;
    for (size_t i = 0; i < sizeof finished / sizeof *finished; i++)
        is_finished |= iso_str_eq(run.status, finished[i]);
    if (!is_finished)
        reason = iso_arena_printf(&runs->arena, "status %s", run.status);
    if (reason)
        *ISO_PUSH(runs->left_out, runs->n_left_out, runs->left_out_room) =
            (struct iso_left_out){run, reason};
    else
        *ISO_PUSH(runs->at, runs->n, runs->room) = run;
    return ISO_OK;
}

enum iso_status iso_runs_add_csv(struct iso_runs *runs, const char *text, size_t len,
                                 const char *path, enum iso_runs_kind kind, struct iso_err *err)
{
    struct iso_arena arena = {0};
    struct iso_csv csv;
    struct place at = {runs, iso_arena_strdup(&runs->arena, path), 0, kind, err};
    enum iso_status st = iso_csv_parse(&csv, &arena, text, len, path, err);
    for (size_t i = 0; st == ISO_OK && i < csv.n_row; i++) {
        at.line = csv.row[i].line;
        struct cells c = {csv.name, csv.row[i].field, csv.n_col, 0, 0};
        st = add_row(&at, &c);
    }
    iso_arena_release(&arena);
    return st;
}

/* A JSON value as the text that a CSV cell would hold; NULL for what cannot be a cell. */
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

static enum iso_status add_json_row(const struct place *at, const char *text, size_t len)
{
    struct iso_arena arena = {0};
    struct cells c = {0};
    const struct iso_json *row;
    char where[512];
    snprintf(where, sizeof where, "%s:%d", at->path, at->line);
    enum iso_status st = iso_json_parse(&row, &arena, text, len, where, at->err);
    if (st == ISO_OK && row->kind != ISO_JSON_OBJECT)
        st = iso_fail(at->err, ISO_BAD_INPUT,
                      "%s: a JSON object is expected on each line: {\"budget\": ..., ...}", where);
    if (st == ISO_OK) {
        c.name = iso_arena_alloc(&arena, row->n + 1, sizeof *c.name);
        c.text = iso_arena_alloc(&arena, row->n + 1, sizeof *c.text);
        for (const struct iso_json *v = row->child; st == ISO_OK && v; v = v->next) {
            const char *value = cell_text(&arena, v);
            if (!value && known_column(v->key))
                st = iso_fail(at->err, ISO_BAD_INPUT,
                              "%s: column %s: a number or a text is "
                              "expected",
                              where, v->key);
            if (!value) /* nested values of other tools are not carried along */
                continue;
            if (cell(&c, v->key))
                st =
                    iso_fail(at->err, ISO_BAD_INPUT, "%s: column %s is there twice", where, v->key);
            c.name[c.n] = v->key;
            c.text[c.n++] = value;
        }
    }
    if (st == ISO_OK)
        st = add_row(at, &c);
    iso_arena_release(&arena);
    return st;
}

enum iso_status iso_runs_add_jsonl(struct iso_runs *runs, const char *text, size_t len,
                                   const char *path, enum iso_runs_kind kind, struct iso_err *err)
{
    struct place at = {runs, iso_arena_strdup(&runs->arena, path), 0, kind, err};
    enum iso_status st = ISO_OK;
    const char *end = text + len;
    while (st == ISO_OK && text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        at.line++;
        while (text < stop && strchr(" \t\r", *text) && *text)
            text++;
        if (text < stop)
            st = add_json_row(&at, text, (size_t)(stop - text));
        text = newline ? newline + 1 : end;
    }
    return st;
}

/* JSON lines begin with a brace; a CSV header cannot. */
static bool looks_like_json(const struct iso_str *text)
{
    const char *p = iso_str_text(text);
    p += strspn(p, " \t\r\n");
    return *p == '{' || *p == '[';
}

static enum iso_status read_file(struct iso_runs *runs, const char *path, enum iso_runs_kind kind,
                                 struct iso_err *err)
{
    const struct iso_path inside = iso_path_in(path, "runs.csv");
    struct iso_str text = {0};
    if (iso_dir_exists(path)) /* a study keeps its table there */
        path = inside.text;
    enum iso_status st = iso_file_read(&text, path, err);
    const char *name = iso_str_eq(path, "-") ? "standard input" : path;
    if (st == ISO_OK && looks_like_json(&text))
        st = iso_runs_add_jsonl(runs, iso_str_text(&text), text.len, name, kind, err);
    else if (st == ISO_OK)
        st = iso_runs_add_csv(runs, iso_str_text(&text), text.len, name, kind, err);
    iso_str_release(&text);
    return st;
}

enum iso_status iso_runs_read(struct iso_runs *runs, const char *const *paths, size_t n_paths,
                              enum iso_runs_kind kind, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < n_paths; i++)
        st = read_file(runs, paths[i], kind, err);
    if (st == ISO_OK)
        st = iso_runs_finish(runs, err);
    if (st == ISO_OK && runs->n == 0)
        st = iso_fail(err, ISO_BAD_INPUT, "%s: no usable run%s", n_paths ? paths[0] : "table",
                      runs->n_left_out ? "; every row was left out" : "");
    return st;
}
