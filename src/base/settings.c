/* Settings: see settings.h. */
#include "base/settings.h"

#include "base/json.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum iso_status iso_settings_fail(struct iso_settings *s, const struct iso_yaml *node,
                                  const char *key, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!node || node->line == 0)
        return iso_fail(s->err, ISO_BAD_INPUT, "%s: %s: %s", s->path, key, text);
    return iso_fail(s->err, ISO_BAD_INPUT, "%s:%d: %s: %s", s->path, node->line, key, text);
}

static enum iso_status wrong_kind(struct iso_settings *s, const struct iso_yaml *node,
                                  const char *key, const char *wanted)
{
    return iso_settings_fail(s, node, key, "expected %s, found %s", wanted,
                             iso_yaml_describe(s->arena, node));
}

static enum iso_status check_range(struct iso_settings *s, const struct iso_yaml *node,
                                   const char *key, double x, double min, double max)
{
    if ((min == 0 && max == 0) || (x >= min && x <= max))
        return ISO_OK;
    char low[32], high[32];
    return iso_settings_fail(s, node, key, "must be between %s and %s, found %s",
                             iso_format_double(low, min), iso_format_double(high, max),
                             iso_yaml_describe(s->arena, node));
}

enum iso_status iso_settings_number(struct iso_settings *s, double *out,
                                    const struct iso_yaml *node, const char *key, double min,
                                    double max)
{
    if (node->kind != ISO_YAML_SCALAR || !iso_parse_double(node->text, out))
        return wrong_kind(s, node, key, "a number");
    return check_range(s, node, key, *out, min, max);
}

static enum iso_status check_whole(struct iso_settings *s, const struct iso_numbers *list,
                                   const struct iso_yaml *node, const char *key)
{
    for (size_t i = 0; i < list->n; i++) {
        char text[32];
        iso_format_double(text, list->at[i]);
        if (list->at[i] != floor(list->at[i]))
            return iso_settings_fail(s, node, key, "expected whole numbers, found %s", text);
        for (size_t j = 0; j < i; j++)
            if (list->at[i] == list->at[j])
                return iso_settings_fail(s, node, key, "%s is there twice", text);
    }
    return ISO_OK;
}

static enum iso_status read_numbers(struct iso_settings *s, struct iso_numbers *out,
                                    const struct iso_yaml *node, const struct iso_key *key)
{
    if (node->kind == ISO_YAML_MAP)
        return wrong_kind(s, node, key->name, "a list of numbers");
    bool list = node->kind == ISO_YAML_LIST;
    const struct iso_yaml *item = list ? node->child : node;
    out->n = list ? node->n : 1;
    if (out->n == 0)
        return iso_settings_fail(s, node, key->name, "the list is empty");
    out->at = ISO_ARENA_NEW_N(s->arena, double, out->n);
    for (size_t i = 0; i < out->n; i++, item = item->next) {
        enum iso_status st =
            iso_settings_number(s, &out->at[i], item, key->name, key->min, key->max);
        if (st != ISO_OK)
            return st;
    }
    return key->whole ? check_whole(s, out, node, key->name) : ISO_OK;
}

static const char *nth_choice(const void *ctx, size_t i)
{
    const char *const *words = ctx;
    return words[i];
}

static enum iso_status read_choice(struct iso_settings *s, const char **out,
                                   const struct iso_yaml *node, const struct iso_key *key)
{
    char *all = iso_arena_strdup(s->arena, key->choices);
    const char *words[32] = {0};
    size_t n = 0;
    for (char *save, *w = strtok_r(all, " ", &save); w && n < 31; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    if (node->kind != ISO_YAML_SCALAR)
        return wrong_kind(s, node, key->name, "a word");
    for (size_t i = 0; i < n; i++)
        if (iso_str_eq(node->text, words[i]))
            return *out = words[i], ISO_OK;
    const char *near = iso_nearest(node->text, nth_choice, words);
    return iso_settings_fail(s, node, key->name, "unknown value %s; allowed: %s%s%s%s",
                             iso_yaml_describe(s->arena, node), key->choices,
                             near ? ". Did you mean " : "", near ? near : "", near ? "?" : "");
}

static enum iso_status read_scalar(struct iso_settings *s, void *field, const struct iso_yaml *node,
                                   const struct iso_key *key)
{
    bool scalar = node->kind == ISO_YAML_SCALAR;
    switch (key->kind) {
    case ISO_KEY_INT: {
        int64_t x;
        if (!scalar || !iso_parse_int(node->text, &x))
            return wrong_kind(s, node, key->name, "a whole number");
        *(int64_t *)field = x;
        return check_range(s, node, key->name, (double)x, key->min, key->max);
    }
    case ISO_KEY_NUMBER:
        return iso_settings_number(s, field, node, key->name, key->min, key->max);
    case ISO_KEY_BOOL:
        if (!scalar || !iso_parse_bool(node->text, field))
            return wrong_kind(s, node, key->name, "true or false");
        return ISO_OK;
    default:
        if (!scalar || !*node->text)
            return wrong_kind(s, node, key->name, "a text");
        *(const char **)field = node->text;
        return ISO_OK;
    }
}

static enum iso_status read_key(struct iso_settings *s, void *target, const struct iso_key *key,
                                const struct iso_yaml *node)
{
    void *field = (char *)target + key->offset;
    switch (key->kind) {
    case ISO_KEY_NUMBERS:
        return read_numbers(s, field, node, key);
    case ISO_KEY_CHOICE:
        return read_choice(s, field, node, key);
    case ISO_KEY_CUSTOM:
        return key->read(s, field, node);
    case ISO_KEY_MAP:
        if (node->kind != ISO_YAML_MAP)
            return wrong_kind(s, node, key->name, "a mapping");
        return iso_settings_read(s, field, key->keys, node);
    default:
        return read_scalar(s, field, node, key);
    }
}

static const char *nth_key(const void *ctx, size_t i)
{
    const struct iso_key *keys = ctx;
    return keys[i].name;
}

static const struct iso_key *find_key(const struct iso_key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (iso_str_eq(keys->name, name))
            return keys;
    return NULL;
}

static enum iso_status unknown_key(struct iso_settings *s, const struct iso_key *keys,
                                   const char *name, int line)
{
    struct iso_str known = {0};
    for (const struct iso_key *k = keys; k->name; k++)
        iso_str_printf(&known, "%s%s", known.len ? ", " : "", k->name);
    const char *near = iso_nearest(name, nth_key, keys);
    char place[32] = "";
    if (line)
        snprintf(place, sizeof place, ":%d", line);
    enum iso_status st =
        near ? iso_fail(s->err, ISO_BAD_INPUT, "%s%s: unknown key %s. Did you mean %s?", s->path,
                        place, name, near)
             : iso_fail(s->err, ISO_BAD_INPUT, "%s%s: unknown key %s; known: %s", s->path, place,
                        name, iso_str_text(&known));
    iso_str_release(&known);
    return st;
}

enum iso_status iso_settings_read(struct iso_settings *s, void *target, const struct iso_key *keys,
                                  const struct iso_yaml *map)
{
    if (map->kind != ISO_YAML_MAP)
        return iso_fail(s->err, ISO_BAD_INPUT, "%s:%d: expected keys with values, found %s",
                        s->path, map->line, iso_yaml_describe(s->arena, map));
    for (const struct iso_yaml *m = map->child; m; m = m->next) {
        const struct iso_key *key = find_key(keys, m->key);
        if (!key)
            return unknown_key(s, keys, m->key, m->key_line);
        enum iso_status st = read_key(s, target, key, m);
        if (st != ISO_OK)
            return st;
    }
    for (const struct iso_key *key = keys; key->name; key++)
        if (key->required && !iso_yaml_get(map, key->name))
            return iso_fail(s->err, ISO_BAD_INPUT, "%s: key %s is missing (%s)", s->path, key->name,
                            key->help);
    return ISO_OK;
}

/* The table that "outer.inner" points into, and the inner name. */
static const struct iso_key *follow_path(const struct iso_key *keys, void **target, char **name)
{
    for (char *dot; (dot = strchr(*name, '.'));) {
        *dot = '\0';
        const struct iso_key *key = find_key(keys, *name);
        if (!key || key->kind != ISO_KEY_MAP)
            return keys; /* reported as unknown by the caller */
        *target = (char *)*target + key->offset;
        keys = key->keys;
        *name = dot + 1;
    }
    return keys;
}

static enum iso_status assign(struct iso_settings *s, void *target, const struct iso_key *keys,
                              const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        return iso_fail(s->err, ISO_USAGE, "%s %s: expected key=value", s->path, assignment);
    char *name = iso_arena_strndup(s->arena, assignment, (size_t)(equals - assignment));
    keys = follow_path(keys, &target, &name);
    const struct iso_key *key = find_key(keys, name);
    if (!key)
        return unknown_key(s, keys, name, 0);
    /* Wrapped as a list of one, any YAML value parses and keeps its kind. */
    char *text = iso_arena_printf(s->arena, "[%s]", equals + 1);
    const struct iso_yaml *list;
    enum iso_status st = iso_yaml_parse(&list, s->arena, text, strlen(text), s->path, s->err);
    if (st != ISO_OK)
        return st;
    if (list->kind != ISO_YAML_LIST || list->n != 1)
        return iso_fail(s->err, ISO_USAGE, "%s %s: expected one value (a list goes in [ ])",
                        s->path, assignment);
    list->child->line = 0; /* there is no file to point into */
    return read_key(s, target, key, list->child);
}

enum iso_status iso_settings_set(struct iso_settings *s, void *target, const struct iso_key *keys,
                                 const char *assignment)
{
    const enum iso_status st = assign(s, target, keys, assignment);
    return st == ISO_BAD_INPUT ? ISO_USAGE : st; /* no file is wrong, but what was typed */
}

static void write_keys(struct iso_str *out, const void *target, const struct iso_key *keys,
                       int indent);

/* Single quotes keep every character but the quote itself, which is doubled, ends of lines and
 * control characters; a text with such is written as JSON has it, which is YAML, too. */
static void write_text(struct iso_str *out, const char *text)
{
    struct iso_json_out w = {out, 0, 0, false};
    if (iso_json_escapes(text)) {
        iso_json_put_string(&w, NULL, text);
        return;
    }
    iso_str_putc(out, '\'');
    for (const char *p = text; *p; p++)
        iso_str_printf(out, *p == '\'' ? "''" : "%c", *p);
    iso_str_putc(out, '\'');
}

static void write_value(struct iso_str *out, const void *field, const struct iso_key *key,
                        int indent)
{
    char buf[32];
    switch (key->kind) {
    case ISO_KEY_INT:
        iso_str_printf(out, " %lld\n", (long long)*(const int64_t *)field);
        break;
    case ISO_KEY_NUMBER:
        iso_str_printf(out, " %s\n", iso_format_double(buf, *(const double *)field));
        break;
    case ISO_KEY_BOOL:
        iso_str_printf(out, " %s\n", *(const bool *)field ? "true" : "false");
        break;
    case ISO_KEY_NUMBERS: {
        const struct iso_numbers *list = field;
        for (size_t i = 0; i < list->n; i++)
            iso_str_printf(out, "%s%s", i ? ", " : " [", iso_format_double(buf, list->at[i]));
        iso_str_puts(out, "]\n");
        break;
    }
    case ISO_KEY_CUSTOM:
        iso_str_putc(out, ' ');
        key->write(out, field);
        iso_str_putc(out, '\n');
        break;
    case ISO_KEY_MAP:
        iso_str_putc(out, '\n');
        write_keys(out, field, key->keys, indent + 2);
        break;
    default:
        iso_str_putc(out, ' ');
        write_text(out, *(const char *const *)field);
        iso_str_putc(out, '\n');
    }
}

/* An unset text or list, or a custom key without a writer, has no YAML form: it is left out. */
static bool is_unset(const void *field, const struct iso_key *key)
{
    switch (key->kind) {
    case ISO_KEY_STRING:
    case ISO_KEY_CHOICE:
        return !*(const char *const *)field;
    case ISO_KEY_NUMBERS:
        return ((const struct iso_numbers *)field)->n == 0;
    case ISO_KEY_CUSTOM:
        return !key->write;
    default:
        return false;
    }
}

static void write_keys(struct iso_str *out, const void *target, const struct iso_key *keys,
                       int indent)
{
    for (const struct iso_key *key = keys; key->name; key++) {
        const void *field = (const char *)target + key->offset;
        if (is_unset(field, key))
            continue;
        iso_str_printf(out, "%*s%s:", indent, "", key->name);
        write_value(out, field, key, indent);
    }
}

void iso_settings_write(struct iso_str *out, const void *target, const struct iso_key *keys)
{
    write_keys(out, target, keys, 0);
}
