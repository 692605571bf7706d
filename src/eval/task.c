/* Tasks: see task.h. */
#include "eval/task.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "data/stream.h"
#include "eval/pyrandom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHUFFLE_SEED = 1337, EXAMPLE_SEED = 1234, LONGEST_ROW = 64 << 20 };

static const char *const type_names[] = {
    [ISO_TASK_LM] = "language_modeling",
    [ISO_TASK_CHOICE] = "multiple_choice",
    [ISO_TASK_SCHEMA] = "schema",
};

const char *iso_task_type_name(enum iso_task_type type)
{
    return type_names[type];
}

bool iso_task_type_parse(enum iso_task_type *out, const char *name)
{
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
        if (iso_str_eq(type_names[i], name))
            return *out = (enum iso_task_type)i, true;
    return false;
}

/* One row being read. */
struct row {
    struct iso_arena *arena;
    const struct iso_json *object;
    const char *where; /* "file:line" */
    struct iso_err *err;
};

static enum iso_status need_text(const struct row *row, const char **out, const char *key,
                                 bool may_be_empty)
{
    const struct iso_json *v = iso_json_get(row->object, key);
    if (!v || v->kind != ISO_JSON_STRING)
        return iso_fail(row->err, ISO_BAD_INPUT, "%s: \"%s\" is missing or no text", row->where,
                        key);
    if (strlen(v->string) != v->len)
        return iso_fail(row->err, ISO_BAD_INPUT, "%s: \"%s\" holds a NUL character", row->where,
                        key);
    if (!may_be_empty && v->string[strspn(v->string, " \t\r\n")] == '\0')
        return iso_fail(row->err, ISO_BAD_INPUT, "%s: \"%s\" is empty", row->where, key);
    *out = v->string;
    return ISO_OK;
}

static enum iso_status need_options(const struct row *row, struct iso_item *item, const char *key)
{
    const struct iso_json *list = iso_json_get(row->object, key);
    if (!list || list->kind != ISO_JSON_ARRAY || list->n < 2)
        return iso_fail(row->err, ISO_BAD_INPUT, "%s: \"%s\" must be a list of two or more texts",
                        row->where, key);
    item->n_option = list->n;
    item->option = ISO_ARENA_NEW_N(row->arena, const char *, list->n);
    const struct iso_json *v = list->child;
    for (size_t i = 0; i < list->n; i++, v = v->next) {
        if (v->kind != ISO_JSON_STRING || strlen(v->string) != v->len || v->len == 0)
            return iso_fail(row->err, ISO_BAD_INPUT, "%s: entry %zu of \"%s\" is empty or no text",
                            row->where, i + 1, key);
        item->option[i] = v->string;
    }
    double gold = iso_json_number(row->object, "gold", -1);
    if (gold < 0 || gold >= (double)list->n || gold != (double)(size_t)gold)
        return iso_fail(row->err, ISO_BAD_INPUT,
                        "%s: \"gold\" must be a whole number from 0 to %zu", row->where,
                        list->n - 1);
    item->gold = (size_t)gold;
    return ISO_OK;
}

static enum iso_status read_item(const struct row *row, struct iso_item *item,
                                 enum iso_task_type type)
{
    enum iso_status st;
    switch (type) {
    case ISO_TASK_LM:
        st = need_text(row, &item->context, "context", true);
        return st == ISO_OK ? need_text(row, &item->answer, "continuation", false) : st;
    case ISO_TASK_CHOICE:
        st = need_text(row, &item->context, "query", true);
        return st == ISO_OK ? need_options(row, item, "choices") : st;
    default:
        st = need_text(row, &item->answer, "continuation", false);
        return st == ISO_OK ? need_options(row, item, "context_options") : st;
    }
}

static enum iso_status read_rows(struct iso_task *task, struct iso_lines *lines,
                                 struct iso_item **items, size_t *n, struct iso_err *err)
{
    size_t room = 0;
    for (;;) {
        const char *line;
        size_t len;
        bool end;
        enum iso_status st = iso_lines_next(lines, &line, &len, &end, err);
        if (st != ISO_OK || end)
            return st;
        if (iso_line_is_blank(line, len))
            continue;
        task->hash = iso_xxh64(line, len, task->hash); /* each row seeds the next */
        struct row row = {.arena = &task->arena, .err = err};
        row.where = iso_arena_printf(&task->arena, "%s:%lld", task->path, (long long)lines->number);
        st = iso_json_parse(&row.object, &task->arena, line, len, row.where, err);
        if (st != ISO_OK)
            return st;
        struct iso_item *item = ISO_PUSH(*items, *n, room);
        item->line = (int)lines->number;
        if ((st = read_item(&row, item, task->spec->type)) != ISO_OK)
            return st;
    }
}

static enum iso_status read_stream(struct iso_task *task, struct iso_stream *stream,
                                   struct iso_item **items, size_t *n, struct iso_err *err)
{
    enum iso_status st = iso_stream_as_text(stream, NULL, false, err);
    if (st != ISO_OK)
        return st;
    struct iso_lines lines;
    iso_lines_init(&lines, stream, task->path, LONGEST_ROW);
    st = read_rows(task, &lines, items, n, err);
    iso_lines_release(&lines);
    return st;
}

/* Python's shuffle of the rows, then the first `max` of them. */
static void shuffle_and_cut(struct iso_task *task, const struct iso_item *items, size_t n,
                            size_t max)
{
    uint32_t *order = ISO_NEW_N(uint32_t, n);
    struct iso_pyrandom random;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    iso_pyrandom_seed(&random, SHUFFLE_SEED);
    iso_pyrandom_shuffle(&random, order, n);
    task->n = n < max ? n : max;
    task->item = ISO_ARENA_NEW_N(&task->arena, struct iso_item, task->n);
    for (size_t i = 0; i < task->n; i++)
        task->item[i] = items[order[i]];
    free(order);
}

/* DIR/file, or with the extension of a codec behind it. */
static enum iso_status find_file(struct iso_task *task, const char *dir, struct iso_err *err)
{
    static const char *const endings[] = {"", ".zst", ".gz"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        task->path = iso_arena_printf(&task->arena, "%s/%s%s", dir, task->spec->file, endings[i]);
        if (iso_file_exists(task->path))
            return ISO_OK;
    }
    return iso_fail(err, ISO_IO,
                    "%s/%s: no such task file (nor with .zst or .gz); give the "
                    "directory of the suite's files as `data`",
                    dir, task->spec->file);
}

enum iso_status iso_task_read(struct iso_task *task, const struct iso_task_spec *spec,
                              const char *dir, size_t max, struct iso_err *err)
{
    *task = (struct iso_task){.spec = spec};
    struct iso_stream *stream = NULL;
    struct iso_item *items = NULL;
    size_t n = 0;
    enum iso_status st = find_file(task, dir, err);
    if (st == ISO_OK)
        st = iso_stream_open(&stream, task->path, err);
    if (st == ISO_OK) {
        st = read_stream(task, stream, &items, &n, err);
        iso_stream_close(stream);
    }
    if (st == ISO_OK && n <= (size_t)spec->shots)
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: %zu rows, but %lld solved examples and an item need more", task->path, n,
                      (long long)spec->shots);
    if (st == ISO_OK)
        shuffle_and_cut(task, items, n, max > (size_t)spec->shots ? max : (size_t)spec->shots + 1);
    free(items);
    return st;
}

void iso_task_release(struct iso_task *task)
{
    iso_arena_release(&task->arena);
}

void iso_task_examples(uint32_t *out, const struct iso_task *task, size_t i)
{
    struct iso_pyrandom random;
    iso_pyrandom_seed(&random, EXAMPLE_SEED + i);
    iso_pyrandom_sample(&random, out, (uint32_t)task->n - 1, (uint32_t)task->spec->shots);
    for (int64_t k = 0; k < task->spec->shots; k++)
        out[k] += out[k] >= i; /* the list of the others has a gap at i */
}
