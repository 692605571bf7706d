/* YAML: see yaml.h. */
#include "base/yaml.h"

#include "base/file.h"
#include "base/str.h"

#include <string.h>
#include <yaml.h>

enum { MAX_DEPTH = 32 };

struct builder {
    yaml_parser_t parser;
    struct iso_arena *arena;
    const char *path;
    struct iso_err *err;
    int depth;
};

static enum iso_status next_event(struct builder *b, yaml_event_t *event)
{
    if (yaml_parser_parse(&b->parser, event))
        return ISO_OK;
    return iso_fail(b->err, ISO_BAD_INPUT, "%s:%zu: not valid YAML: %s", b->path,
                    b->parser.problem_mark.line + 1,
                    b->parser.problem ? b->parser.problem : "cannot be read");
}

static enum iso_status refuse(struct builder *b, const yaml_event_t *event, const char *what)
{
    return iso_fail(b->err, ISO_BAD_INPUT, "%s:%zu: %s", b->path, event->start_mark.line + 1, what);
}

static enum iso_status build(struct builder *b, struct iso_yaml *node, const yaml_event_t *event);

static enum iso_status read_key(struct builder *b, struct iso_yaml *map, struct iso_yaml *item,
                                const yaml_event_t *event)
{
    if (event->type != YAML_SCALAR_EVENT)
        return refuse(b, event, "a key must be a plain word");
    item->key = iso_arena_strdup(b->arena, (const char *)event->data.scalar.value);
    item->key_line = (int)event->start_mark.line + 1;
    const struct iso_yaml *twin = iso_yaml_get(map, item->key);
    if (twin)
        return iso_fail(b->err, ISO_BAD_INPUT, "%s:%d: key %s is there twice (first on line %d)",
                        b->path, item->key_line, item->key, twin->key_line);
    return ISO_OK;
}

/* Reads the members of a list or map until its end event. */
static enum iso_status build_children(struct builder *b, struct iso_yaml *node)
{
    struct iso_yaml **tail = &node->child;
    bool map = node->kind == ISO_YAML_MAP;
    if (++b->depth > MAX_DEPTH)
        return iso_fail(b->err, ISO_BAD_INPUT, "%s:%d: nested too deeply", b->path, node->line);
    for (;;) {
        yaml_event_t event;
        enum iso_status st = next_event(b, &event);
        if (st != ISO_OK)
            return st;
        bool end = event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT;
        struct iso_yaml *item = ISO_ARENA_NEW(b->arena, struct iso_yaml);
        if (!end && map) {
            st = read_key(b, node, item, &event);
            yaml_event_delete(&event);
            if (st != ISO_OK || (st = next_event(b, &event)) != ISO_OK)
                return st;
        }
        if (!end)
            st = build(b, item, &event);
        yaml_event_delete(&event);
        if (st != ISO_OK)
            return st;
        if (end)
            break;
        *tail = item;
        tail = &item->next;
        node->n++;
    }
    b->depth--;
    return ISO_OK;
}

static enum iso_status build(struct builder *b, struct iso_yaml *node, const yaml_event_t *event)
{
    node->line = (int)event->start_mark.line + 1;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        node->kind = ISO_YAML_SCALAR;
        if (event->data.scalar.anchor)
            return refuse(b, event, "anchors are not used in settings files");
        if (memchr(event->data.scalar.value, '\0', event->data.scalar.length))
            return refuse(b, event, "NUL byte in a value");
        node->text = iso_arena_strdup(b->arena, (const char *)event->data.scalar.value);
        return ISO_OK;
    case YAML_SEQUENCE_START_EVENT:
        node->kind = ISO_YAML_LIST;
        return build_children(b, node);
    case YAML_MAPPING_START_EVENT:
        node->kind = ISO_YAML_MAP;
        return build_children(b, node);
    default:
        return refuse(b, event, "anchors and aliases are not used in settings files");
    }
}

static enum iso_status build_document(struct builder *b, struct iso_yaml *root)
{
    bool seen = false;
    for (;;) {
        yaml_event_t event;
        enum iso_status st = next_event(b, &event);
        if (st != ISO_OK)
            return st;
        bool end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT) {
            if (seen)
                st = refuse(b, &event, "a second document; a settings file has one");
            seen = true;
        } else if (!end && event.type != YAML_STREAM_START_EVENT &&
                   event.type != YAML_DOCUMENT_END_EVENT) {
            st = build(b, root, &event);
        }
        yaml_event_delete(&event);
        if (st != ISO_OK || end)
            return st;
    }
}

enum iso_status iso_yaml_parse(const struct iso_yaml **out, struct iso_arena *arena,
                               const char *text, size_t len, const char *path, struct iso_err *err)
{
    struct builder b = {.arena = arena, .path = path, .err = err};
    if (!yaml_parser_initialize(&b.parser))
        return iso_fail(err, ISO_IO, "%s: out of memory", path);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
    struct iso_yaml *root = ISO_ARENA_NEW(arena, struct iso_yaml);
    root->kind = ISO_YAML_MAP;
    root->line = 1;
    enum iso_status st = build_document(&b, root);
    yaml_parser_delete(&b.parser);
    *out = root;
    return st;
}

enum iso_status iso_yaml_read(const struct iso_yaml **out, struct iso_arena *arena,
                              const char *path, struct iso_err *err)
{
    struct iso_str text = {0};
    enum iso_status st = iso_file_read(&text, path, err);
    if (st == ISO_OK)
        st = iso_yaml_parse(out, arena, iso_str_text(&text), text.len, path, err);
    iso_str_release(&text);
    return st;
}

const struct iso_yaml *iso_yaml_get(const struct iso_yaml *map, const char *key)
{
    for (const struct iso_yaml *m = map->child; m; m = m->next)
        if (m->key && iso_str_eq(m->key, key))
            return m;
    return NULL;
}

const char *iso_yaml_text(const struct iso_yaml *map, const char *key)
{
    const struct iso_yaml *node = iso_yaml_get(map, key);
    return node && node->kind == ISO_YAML_SCALAR ? node->text : NULL;
}

const char *iso_yaml_describe(struct iso_arena *arena, const struct iso_yaml *node)
{
    if (node->kind == ISO_YAML_LIST)
        return "a list";
    if (node->kind == ISO_YAML_MAP)
        return "a mapping";
    if (!*node->text)
        return "nothing";
    return iso_arena_printf(arena, "\"%.40s\"%s", node->text, strlen(node->text) > 40 ? "..." : "");
}
