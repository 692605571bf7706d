/* Scores of one task in a file: see scores.h. */
#include "eval/scores.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_hash(struct iso_json_out *w, const char *key, uint64_t hash)
{
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash); /* JSON numbers have 53 bits */
    iso_json_put_string(w, key, text);
}

/* The first line; `len` bytes of lines follow it. */
static void write_key(struct iso_str *out, const struct iso_scores_key *key, const char *lines,
                      size_t len)
{
    struct iso_json_out w = {out, 0, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "task", key->task);
    put_hash(&w, "task_hash", key->task_hash);
    put_hash(&w, "model_hash", key->model_hash);
    put_hash(&w, "tokenizer_hash", key->tokenizer_hash);
    iso_json_put_int(&w, "recur", key->recur);
    iso_json_put_count(&w, "items", key->n_items);
    iso_json_put_count(&w, "shots", key->shots);
    iso_json_put_string(&w, "type", key->type);
    iso_json_put_string(&w, "delimiter", key->delimiter);
    put_hash(&w, "xxh64", iso_xxh64(lines, len, 0));
    iso_json_end(&w, '}');
    iso_str_putc(out, '\n');
}

enum iso_status iso_scores_write(const char *path, const struct iso_scores_key *key,
                                 const struct iso_task *task, const struct iso_item_score *items,
                                 struct iso_err *err)
{
    struct iso_str text = {0}, lines = {0};
    for (size_t i = 0; i < key->n_items; i++) {
        struct iso_json_out w = {&lines, 0, 0, false};
        iso_json_begin(&w, NULL, '{');
        iso_json_put_int(&w, "line", task->item[i].line);
        iso_json_put_number(&w, "nats", items[i].nats);
        iso_json_put_count(&w, "tokens", items[i].tokens);
        iso_json_put_bool(&w, "right", items[i].right);
        iso_json_put_bool(&w, "cut", items[i].cut);
        iso_json_end(&w, '}');
        iso_str_putc(&lines, '\n');
    }
    write_key(&text, key, iso_str_text(&lines), lines.len);
    iso_str_append(&text, iso_str_text(&lines), lines.len);
    enum iso_status st = iso_file_write(path, text.text, text.len, err);
    iso_str_release(&text);
    iso_str_release(&lines);
    return st;
}

static bool get_bool(const struct iso_json *v, const char *key)
{
    const struct iso_json *m = iso_json_get(v, key);
    return m && m->kind == ISO_JSON_BOOL && m->boolean;
}

/* null is how JSON has what is not finite; -1 means none at all. */
static double get_nats(const struct iso_json *v)
{
    const struct iso_json *m = iso_json_get(v, "nats");
    return m && m->kind == ISO_JSON_NULL ? NAN : iso_json_number(v, "nats", -1);
}

static bool read_item(struct iso_item_score *item, struct iso_arena *arena, const char *line,
                      size_t len)
{
    const struct iso_json *v;
    if (iso_json_parse(&v, arena, line, len, "", NULL) != ISO_OK)
        return false;
    double tokens = iso_json_number(v, "tokens", 0);
    *item = (struct iso_item_score){
        .nats = get_nats(v),
        .tokens = tokens >= 1 && tokens < 1e9 ? (size_t)tokens : 0,
        .right = get_bool(v, "right"),
        .cut = get_bool(v, "cut"),
    };
    return item->tokens > 0 && (isnan(item->nats) ? !item->right : item->nats >= 0);
}

static bool read_items(struct iso_item_score *items, const char *text, const char *end, size_t n)
{
    struct iso_arena arena = {0};
    bool good = true;
    for (size_t i = 0; good && i < n; i++) {
        const char *newline = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
        good = newline && read_item(&items[i], &arena, text, (size_t)(newline - text));
        if (good)
            text = newline + 1;
    }
    iso_arena_release(&arena);
    return good && text == end;
}

enum iso_status iso_scores_read(bool *found, struct iso_item_score *items, const char *path,
                                const struct iso_scores_key *key, struct iso_err *err)
{
    struct iso_str text = {0}, head = {0};
    *found = false;
    if (!iso_file_exists(path))
        return ISO_OK;
    enum iso_status st = iso_file_read_regular(&text, path, err);
    const char *newline = text.len ? memchr(text.text, '\n', text.len) : NULL;
    if (st == ISO_OK && newline) {
        const char *lines = newline + 1, *end = text.text + text.len;
        write_key(&head, key, lines, (size_t)(end - lines));
        if ((size_t)(lines - text.text) == head.len && memcmp(text.text, head.text, head.len) == 0)
            *found = read_items(items, lines, end, key->n_items);
    }
    iso_str_release(&text);
    iso_str_release(&head);
    return st;
}
