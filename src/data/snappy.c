/* Snappy's raw blocks through libsnappy, the usual codec of Parquet pages.  There are no snappy
 * files to read, so this codec has no streams. */
#include "data/codec.h"

#if ISO_HAVE_SNAPPY

#include <snappy-c.h>

static enum iso_status block(void *dst, size_t dst_len, const void *src, size_t src_len,
                             struct iso_err *err)
{
    size_t n;
    if (snappy_uncompressed_length(src, src_len, &n) != SNAPPY_OK || n != dst_len)
        return iso_fail(err, ISO_BAD_INPUT, "damaged snappy data (not of the announced size)");
    if (snappy_uncompress(src, src_len, dst, &n) != SNAPPY_OK || n != dst_len)
        return iso_fail(err, ISO_BAD_INPUT, "damaged snappy data");
    return ISO_OK;
}

const struct iso_codec iso_codec_snappy = {"snappy", "",   "",   0,    "libsnappy-dev",
                                           NULL,     NULL, NULL, block};

#else

const struct iso_codec iso_codec_snappy = {"snappy", "",   "",   0,   "libsnappy-dev",
                                           NULL,     NULL, NULL, NULL};

#endif
