/* Zstandard through libzstd, which checks each frame's checksum when the frame has one (the zstd
 * program writes it, pages of Parquet files do not have it).  libzstd's default limit on the
 * window (128 MB) bounds the memory; frames made with --long=28 or more are refused. */
#include "data/codec.h"

#if ISO_HAVE_ZSTD

#include <zstd.h>

static enum iso_status fail(struct iso_err *err, const char *why)
{
    return iso_fail(err, ISO_BAD_INPUT, "damaged zstd data (%s)", why);
}

static enum iso_status begin(void **out, struct iso_err *err)
{
    *out = ZSTD_createDStream();
    return *out ? ISO_OK : iso_fail(err, ISO_MISSING, "libzstd cannot start");
}

static enum iso_status step(void *state, struct iso_codec_io *io, struct iso_err *err)
{
    ZSTD_inBuffer in = {io->in, io->in_len, 0};
    ZSTD_outBuffer out = {io->out, io->out_len, 0};
    size_t left = ZSTD_decompressStream(state, &out, &in);
    if (ZSTD_isError(left))
        return fail(err, ZSTD_getErrorName(left));
    /* Nothing eaten and nothing written: the state is as it was. */
    if (in.pos || out.pos)
        io->complete = left == 0;
    io->in += in.pos;
    io->in_len -= in.pos;
    io->out += out.pos;
    io->out_len -= out.pos;
    return ISO_OK;
}

static void end(void *state)
{
    ZSTD_freeDStream(state);
}

static enum iso_status block(void *dst, size_t dst_len, const void *src, size_t src_len,
                             struct iso_err *err)
{
    size_t n = ZSTD_decompress(dst, dst_len, src, src_len);
    if (ZSTD_isError(n))
        return fail(err, ZSTD_getErrorName(n));
    return n == dst_len ? ISO_OK : fail(err, "not of the announced size");
}

const struct iso_codec iso_codec_zstd = {
    "zstd", "zst zstd", "\x28\xb5\x2f\xfd", 4, "libzstd-dev", begin, step, end, block};

#else

const struct iso_codec iso_codec_zstd = {
    "zstd", "zst zstd", "\x28\xb5\x2f\xfd", 4, "libzstd-dev", NULL, NULL, NULL, NULL};

#endif
