/* YAML files as a tree of nodes that remember their line.  libyaml is included by yaml.c only.
 *
 * Anchors, tags and several documents in one file are refused: a settings file needs none. */
#ifndef ISO_BASE_YAML_H
#define ISO_BASE_YAML_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

enum iso_yaml_kind { ISO_YAML_SCALAR, ISO_YAML_LIST, ISO_YAML_MAP };

struct iso_yaml {
    enum iso_yaml_kind kind;
    int line;
    const char *text; /* of a scalar */
    const char *key;  /* when this is a map's member; key_line is its line */
    int key_line;
    struct iso_yaml *child, *next;
    size_t n; /* children */
};

/* Parses a file's text.  Keys of one map are unique.  An empty text gives an empty map. */
enum iso_status iso_yaml_parse(const struct iso_yaml **out, struct iso_arena *arena,
                               const char *text, size_t len, const char *path, struct iso_err *err);
enum iso_status iso_yaml_read(const struct iso_yaml **out, struct iso_arena *arena,
                              const char *path, struct iso_err *err);
const struct iso_yaml *iso_yaml_get(const struct iso_yaml *map, const char *key);
/* The text of the scalar at `key`; NULL when there is none, or a list or a map. */
const char *iso_yaml_text(const struct iso_yaml *map, const char *key);
/* "a list", "a mapping", or the scalar in quotes: for messages.  Cut when long. */
const char *iso_yaml_describe(struct iso_arena *arena, const struct iso_yaml *node);

#endif
