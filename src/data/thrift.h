/* Thrift's compact protocol, reading only, as far as Parquet's metadata needs it.
 *
 * A struct is a sequence of fields {id, type, value}; unknown fields are skipped.  The reader keeps
 * a sticky `bad`: after damage every call gives zeros and ends its loop, so that callers check
 * once, at the end.  No call reads behind `end`, and nothing is allocated.
 *
 *     struct iso_thrift_field f = {0};
 *     while (iso_thrift_next(t, &f))
 *         if (f.id == 1)
 *             x = iso_thrift_int(t, &f);
 *         else
 *             iso_thrift_skip(t, f.type);
 *
 * Source: the Thrift compact protocol specification (thrift-compact-protocol.md). */
#ifndef ISO_DATA_THRIFT_H
#define ISO_DATA_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iso_thrift {
    const unsigned char *at, *end;
    bool bad;
};

enum iso_thrift_type {
    ISO_THRIFT_STOP,
    ISO_THRIFT_TRUE,
    ISO_THRIFT_FALSE,
    ISO_THRIFT_BYTE,
    ISO_THRIFT_I16,
    ISO_THRIFT_I32,
    ISO_THRIFT_I64,
    ISO_THRIFT_DOUBLE,
    ISO_THRIFT_BINARY,
    ISO_THRIFT_LIST,
    ISO_THRIFT_SET,
    ISO_THRIFT_MAP,
    ISO_THRIFT_STRUCT,
};

struct iso_thrift_field {
    int id;   /* zero it before the first field of a struct */
    int type; /* enum iso_thrift_type */
};

/* Unsigned LEB128; also used by Parquet's own encodings. */
uint64_t iso_thrift_varint(struct iso_thrift *t);
int64_t iso_thrift_zigzag(struct iso_thrift *t);

/* The next field of a struct; false at its end and on damage. */
bool iso_thrift_next(struct iso_thrift *t, struct iso_thrift_field *f);
/* Values of the field just found; a field of another type is damage. */
int64_t iso_thrift_int(struct iso_thrift *t, const struct iso_thrift_field *f);
bool iso_thrift_bool(struct iso_thrift *t, const struct iso_thrift_field *f);
const char *iso_thrift_binary(struct iso_thrift *t, const struct iso_thrift_field *f, size_t *len);
bool iso_thrift_struct(struct iso_thrift *t, const struct iso_thrift_field *f);
/* Enters a list: the number of its elements, which must be of `type`. */
size_t iso_thrift_list(struct iso_thrift *t, const struct iso_thrift_field *f, int type);
/* An element of a list of BINARY. */
const char *iso_thrift_element(struct iso_thrift *t, size_t *len);

/* Passes over a value. */
void iso_thrift_skip(struct iso_thrift *t, int type);

#endif
