/* Text encodings: the bytes of a file become UTF-8.
 *
 * latin1 and utf16 are ours, so that every build has them; any other name goes to iconv, where the
 * build has it.  Bytes that mean nothing in the encoding become U+FFFD and are counted. */
#ifndef ISO_DATA_ENCODING_H
#define ISO_DATA_ENCODING_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iso_encoding;

/* *out is NULL for "utf8" (and "utf-8"), whose bytes stay as they are.  An unknown name is
 * ISO_USAGE. */
enum iso_status iso_encoding_new(struct iso_encoding **out, const char *name, struct iso_err *err);
/* Appends in[0..n) as UTF-8 and returns how many bytes it used: the others begin a character and
 * must come again with those that follow.  `last`: nothing follows, all are used. */
size_t iso_encoding_run(struct iso_encoding *d, struct iso_str *out, const unsigned char *in,
                        size_t n, bool last);
int64_t iso_encoding_invalid(const struct iso_encoding *d); /* bytes that meant nothing */
void iso_encoding_free(struct iso_encoding *d);             /* NULL is fine */

/* The encoding that a byte order mark shows, and the mark's length; NULL without one. */
const char *iso_encoding_of_mark(const unsigned char *head, size_t n, size_t *length);

/* How many bytes of a text belong to no valid UTF-8 character. */
size_t iso_utf8_invalid(const char *bytes, size_t len);

#endif
