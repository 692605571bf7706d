/* Settings: a table of keys says where each goes in a struct and what it may be.  The same
 * table reads YAML files and `--set key=value`, writes the resolved settings back, and documents
 * them.  An error names file, line, key, what was found, what is allowed, and the nearest key. */
#ifndef ISO_BASE_SETTINGS_H
#define ISO_BASE_SETTINGS_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/yaml.h"

#include <stdbool.h>
#include <stddef.h>

enum iso_key_kind {
    ISO_KEY_INT,     /* int64_t */
    ISO_KEY_NUMBER,  /* double */
    ISO_KEY_BOOL,    /* bool */
    ISO_KEY_STRING,  /* const char *, in the arena */
    ISO_KEY_CHOICE,  /* const char *, one of the space-separated words in `choices` */
    ISO_KEY_NUMBERS, /* struct iso_numbers: a list of numbers, or one number */
    ISO_KEY_CUSTOM,  /* read by `read` */
    ISO_KEY_MAP,     /* a mapping of further keys in `keys` (an embedded struct) */
};

struct iso_numbers {
    double *at; /* in the arena */
    size_t n;
};

struct iso_settings; /* the reading context: arena, path, error */

struct iso_key {
    const char *name;
    enum iso_key_kind kind;
    size_t offset; /* in the struct that the table describes */
    const char *help;
    double min, max;            /* for numbers; both 0 means unbounded */
    const char *choices;        /* for ISO_KEY_CHOICE */
    const struct iso_key *keys; /* for ISO_KEY_MAP; ends with a NULL name */
    /* For ISO_KEY_CUSTOM: reads the node into `field`; and writes it back as YAML flow text. */
    enum iso_status (*read)(struct iso_settings *s, void *field, const struct iso_yaml *node);
    void (*write)(struct iso_str *out, const void *field);
    bool required;
    bool whole; /* for ISO_KEY_NUMBERS: whole numbers, each once */
};

struct iso_settings {
    struct iso_arena *arena;
    const char *path; /* of the file, or where else the settings come from, such as "`set`" */
    struct iso_err *err;
};

/* Reads a map into `target`, whose defaults the caller has filled in. */
enum iso_status iso_settings_read(struct iso_settings *s, void *target, const struct iso_key *keys,
                                  const struct iso_yaml *map);
/* One `key=value` (or `outer.inner=value`) of the command line; the value is YAML. */
enum iso_status iso_settings_set(struct iso_settings *s, void *target, const struct iso_key *keys,
                                 const char *assignment);
/* The struct as YAML text that reads back to the same values. */
void iso_settings_write(struct iso_str *out, const void *target, const struct iso_key *keys);

/* For custom readers: one scalar as a number, with the usual error. */
enum iso_status iso_settings_number(struct iso_settings *s, double *out,
                                    const struct iso_yaml *node, const char *key, double min,
                                    double max);
/* "path:line: key: message" as a bad-input failure. */
enum iso_status iso_settings_fail(struct iso_settings *s, const struct iso_yaml *node,
                                  const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
