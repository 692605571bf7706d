/* Compression: one row per library, each in the one file that includes that library.
 *
 * A codec decompresses a stream in bounded memory (files) or one block of known size (pages of a
 * Parquet file).  A build without the library has the same row without functions;
 * iso_codec_missing then says what to install. */
#ifndef ISO_DATA_CODEC_H
#define ISO_DATA_CODEC_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* What a step may eat and fill; it moves the pointers on and lowers the counts. */
struct iso_codec_io {
    const unsigned char *in;
    size_t in_len;
    unsigned char *out;
    size_t out_len;
    bool complete; /* set by the step: the input so far ends where a member or frame ends */
};

struct iso_codec {
    const char *name;
    const char *extensions; /* separated by blanks; "" for a codec without files of its own */
    const char *magic;      /* first bytes of such a file */
    size_t magic_len;
    const char *package; /* Debian's, to build with the codec */
    /* Streaming; NULL when the codec has no streams.  Messages name no place: the caller adds
     * it.  A step makes progress unless its input is empty and it has nothing left to write. */
    enum iso_status (*begin)(void **state, struct iso_err *err);
    enum iso_status (*step)(void *state, struct iso_codec_io *io, struct iso_err *err);
    void (*end)(void *state);
    /* Exactly `src_len` bytes must give exactly `dst_len`. */
    enum iso_status (*block)(void *dst, size_t dst_len, const void *src, size_t src_len,
                             struct iso_err *err);
};

/* For a codec whose functions this build does not have. */
enum iso_status iso_codec_missing(const struct iso_codec *codec, struct iso_err *err);

extern const struct iso_codec iso_codec_gzip, iso_codec_zstd, iso_codec_snappy;

#endif
