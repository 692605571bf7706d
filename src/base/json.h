/* JSON: a parser into an arena and a writer that keeps track of commas.
 *
 * Ours because the analysis half of the program depends on nothing but libc, libm, libyaml and
 * NLopt.  Numbers are doubles written in the shortest form that reads back exactly; non-finite
 * numbers, which JSON does not have, are written as null.  JSON is UTF-8: other bytes are refused
 * by the parser, and written as U+FFFD. */
#ifndef ISO_BASE_JSON_H
#define ISO_BASE_JSON_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum iso_json_kind {
    ISO_JSON_NULL,
    ISO_JSON_BOOL,
    ISO_JSON_NUMBER,
    ISO_JSON_STRING,
    ISO_JSON_ARRAY,
    ISO_JSON_OBJECT,
};

struct iso_json {
    enum iso_json_kind kind;
    bool boolean;
    double number;
    const char *string; /* decoded; may hold NUL bytes from \u0000, see len */
    size_t len;         /* bytes of the string */
    const char *key;    /* of an object's member, else NULL */
    struct iso_json *child, *next;
    size_t n; /* children */
};

/* Parses exactly one value.  `where` names the text in messages ("runs.jsonl:12"); a message
 * adds the byte column.  Everything lives in `arena`. */
enum iso_status iso_json_parse(const struct iso_json **out, struct iso_arena *arena,
                               const char *text, size_t len, const char *where,
                               struct iso_err *err);
/* Member of an object, NULL when missing or when `v` is not an object. */
const struct iso_json *iso_json_get(const struct iso_json *v, const char *key);
/* Shorthands that give a default when the member is missing or of another kind. */
double iso_json_number(const struct iso_json *v, const char *key, double otherwise);
const char *iso_json_string(const struct iso_json *v, const char *key, const char *otherwise);

/* The writer appends to `out`.  `indent` 0 gives one line, else spaces per level. */
struct iso_json_out {
    struct iso_str *out;
    int indent, depth;
    bool need_comma;
};

/* In an object give each value its key; in an array (and at the top) key is NULL. */
void iso_json_begin(struct iso_json_out *w, const char *key, char bracket); /* '{' or '[' */
void iso_json_end(struct iso_json_out *w, char bracket);                    /* '}' or ']' */
void iso_json_put_number(struct iso_json_out *w, const char *key, double x);
void iso_json_put_int(struct iso_json_out *w, const char *key, int64_t x);
void iso_json_put_count(struct iso_json_out *w, const char *key, size_t n);
void iso_json_put_string(struct iso_json_out *w, const char *key, const char *text);
/* Whether a text holds more than quotes and backslashes that JSON writes in another way: control
 * characters, other ends of lines, bytes that are not UTF-8. */
bool iso_json_escapes(const char *text);
void iso_json_put_bool(struct iso_json_out *w, const char *key, bool x);
void iso_json_put_null(struct iso_json_out *w, const char *key);
/* Several numbers as an array on one line. */
void iso_json_put_numbers(struct iso_json_out *w, const char *key, const double *x, size_t n);

/* Ends the object of a whole file, indented by 2: its last member, "xxh64", is the XXH64 of all
 * bytes before it. */
void iso_json_end_sealed(struct iso_json_out *w);
/* Whether a file's text has the checksum it was sealed with; true when it has none. */
bool iso_json_sound(const char *text, size_t len);

#endif
