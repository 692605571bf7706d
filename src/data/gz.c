/* gzip through zlib, which checks each member's CRC-32 and length.  A file may be several members
 * in a row (as pigz, bgzip and `cat a.gz b.gz` make them); anything else behind a member is
 * damage. */
#include "data/codec.h"

#if ISO_HAVE_ZLIB

#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum {
    GZIP_ONLY = 15 + 16,   /* window bits: the largest window, gzip header required */
    GZIP_OR_ZLIB = 15 + 32 /* Parquet's GZIP pages: some writers use the zlib header */
};

struct state {
    z_stream z;
    bool between; /* a member has just ended */
};

static enum iso_status fail(struct iso_err *err, const char *why)
{
    return iso_fail(err, ISO_BAD_INPUT, "damaged gzip data (%s)", why ? why : "no detail");
}

static enum iso_status begin(void **out, struct iso_err *err)
{
    struct state *s = ISO_NEW(struct state);
    if (inflateInit2(&s->z, GZIP_ONLY) != Z_OK) {
        free(s);
        return iso_fail(err, ISO_MISSING, "zlib cannot start");
    }
    *out = s;
    return ISO_OK;
}

static unsigned clamp(size_t n)
{
    return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

static enum iso_status step(void *state, struct iso_codec_io *io, struct iso_err *err)
{
    struct state *s = state;
    if (s->between && io->in_len) {
        inflateReset(&s->z);
        s->between = false;
    }
    if (s->between)
        return ISO_OK;
    unsigned in = clamp(io->in_len), out = clamp(io->out_len);
    s->z.next_in = (unsigned char *)io->in;
    s->z.avail_in = in;
    s->z.next_out = io->out;
    s->z.avail_out = out;
    int code = inflate(&s->z, Z_NO_FLUSH);
    io->in += in - s->z.avail_in;
    io->in_len -= in - s->z.avail_in;
    io->out += out - s->z.avail_out;
    io->out_len -= out - s->z.avail_out;
    s->between = io->complete = code == Z_STREAM_END;
    /* Z_BUF_ERROR only says that there was nothing to do yet. */
    return code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR ? ISO_OK
                                                                       : fail(err, s->z.msg);
}

static void end(void *state)
{
    struct state *s = state;
    inflateEnd(&s->z);
    free(s);
}

static enum iso_status block(void *dst, size_t dst_len, const void *src, size_t src_len,
                             struct iso_err *err)
{
    z_stream z = {0};
    if (src_len > UINT_MAX || dst_len > UINT_MAX)
        return fail(err, "a block beyond 4 GB");
    if (inflateInit2(&z, GZIP_OR_ZLIB) != Z_OK)
        return iso_fail(err, ISO_MISSING, "zlib cannot start");
    z.next_in = (unsigned char *)src;
    z.avail_in = (unsigned)src_len;
    z.next_out = dst;
    z.avail_out = (unsigned)dst_len;
    int code = inflate(&z, Z_FINISH);
    enum iso_status st = ISO_OK;
    if (code != Z_STREAM_END)
        st = fail(err, z.msg ? z.msg : "not of the announced size");
    else if (z.avail_out || z.avail_in)
        st = fail(err, "not of the announced size");
    inflateEnd(&z);
    return st;
}

const struct iso_codec iso_codec_gzip = {"gzip", "gz dz", "\x1f\x8b", 2,    "zlib1g-dev",
                                         begin,  step,    end,        block};

#else

const struct iso_codec iso_codec_gzip = {"gzip", "gz dz", "\x1f\x8b", 2,   "zlib1g-dev",
                                         NULL,   NULL,    NULL,       NULL};

#endif
