/* Ready token streams: the .bin files of llm.c and of nanoGPT.
 *
 * llm.c (dev/data/data_common.py): a header of 256 little-endian int32, {magic, version, number of
 * tokens, 0...}, then the tokens.  GPT-2 files have magic 20240520, version 1, uint16 tokens;
 * Llama 3 files have magic 20240801, version 7, uint32 tokens.
 * nanoGPT (data/.../prepare.py): nothing but uint16 tokens.
 *
 * Neither has a checksum; what can be checked is: the header's zeros and that the number of tokens
 * is the one the file's length gives.  A stream has no documents of its own, so it is handed out
 * in pieces, all but the last marked `more`. */
#include "base/file.h"
#include "base/mem.h"
#include "data/format.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 1024, PIECE = 1 << 16 };

static const struct flavour {
    uint32_t magic, version;
    size_t width; /* bytes of a token */
} flavours[] = {{20240520, 1, 2}, {20240801, 7, 4}};

struct bin {
    struct iso_file_reader base;
    struct iso_map map;
    const unsigned char *at, *end;
    size_t width;
    int64_t index;
    uint32_t *piece; /* PIECE tokens */
};

static uint32_t u16(const unsigned char *p)
{
    return (uint32_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const unsigned char *p)
{
    return u16(p) | u16(p + 2) << 16;
}

static const struct flavour *find_flavour(const unsigned char *head, size_t n)
{
    for (size_t i = 0; n >= 4 && i < sizeof flavours / sizeof *flavours; i++)
        if (u32(head) == flavours[i].magic)
            return &flavours[i];
    return NULL;
}

static bool matches_llmc(const unsigned char *head, size_t n)
{
    return find_flavour(head, n) != NULL;
}

/* 1012 zero bytes where a header of llm.c has them: 506 times token 0 is not text. */
static bool header_shaped(const unsigned char *bytes, size_t n)
{
    if (n < HEADER)
        return false;
    for (size_t i = 12; i < HEADER; i++)
        if (bytes[i])
            return false;
    return true;
}

static struct bin *new_bin(const struct iso_file_reader *base, const struct iso_map *map,
                           size_t skip, size_t width)
{
    struct bin *b = ISO_NEW(struct bin);
    b->base = *base;
    b->map = *map;
    b->at = (const unsigned char *)map->bytes + skip;
    b->end = (const unsigned char *)map->bytes + map->len;
    b->width = width;
    b->piece = ISO_NEW_N(uint32_t, PIECE);
    return b;
}

static enum iso_status check_llmc(const struct flavour **out, const unsigned char *bytes, size_t n,
                                  const char *path, struct iso_err *err)
{
    const struct flavour *f = *out = find_flavour(bytes, n);
    if (!f)
        return iso_fail(err, ISO_BAD_INPUT, "%s: byte 0: not a token file of llm.c (wrong magic)",
                        path);
    if (n < HEADER)
        return iso_fail(err, ISO_BAD_INPUT, "%s: cut off within its header of %d bytes", path,
                        HEADER);
    if (u32(bytes + 4) != f->version || !header_shaped(bytes, n))
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: byte 4: version %u of llm.c's token files is unknown, expected %u",
                        path, (unsigned)u32(bytes + 4), (unsigned)f->version);
    size_t tokens = u32(bytes + 8), there = (n - HEADER) / f->width;
    if (n - HEADER != tokens * f->width)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: byte 8: the header announces %zu tokens, the file has %zu; copy it "
                        "again",
                        path, tokens, there);
    return ISO_OK;
}

static enum iso_status open_llmc(struct iso_file_reader **out, const struct iso_file_reader *base,
                                 struct iso_err *err)
{
    struct iso_map map;
    const struct flavour *flavour;
    enum iso_status st = iso_map_open(&map, base->path, err);
    if (st != ISO_OK)
        return st;
    st = check_llmc(&flavour, map.bytes, map.len, base->path, err);
    if (st != ISO_OK) {
        iso_map_close(&map);
        return st;
    }
    *out = &new_bin(base, &map, HEADER, flavour->width)->base;
    return ISO_OK;
}

static enum iso_status open_nanogpt(struct iso_file_reader **out,
                                    const struct iso_file_reader *base, struct iso_err *err)
{
    struct iso_map map;
    enum iso_status st = iso_map_open(&map, base->path, err);
    if (st != ISO_OK)
        return st;
    if (map.len == 0)
        st = iso_fail(err, ISO_BAD_INPUT, "%s: the file is empty", base->path);
    else if (map.len % 2)
        st = iso_fail(err, ISO_BAD_INPUT, "%s: %zu bytes are not a whole number of uint16 tokens",
                      base->path, map.len);
    else if (header_shaped(map.bytes, map.len) && !base->opts->format)
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: byte 0: looks like a token file of llm.c with a damaged or unknown "
                      "header; if it is nanoGPT's, name the format nanogpt",
                      base->path);
    if (st != ISO_OK) {
        iso_map_close(&map);
        return st;
    }
    *out = &new_bin(base, &map, 0, 2)->base;
    return ISO_OK;
}

static void close_bin(struct iso_file_reader *f)
{
    struct bin *b = (struct bin *)f;
    iso_map_close(&b->map);
    free(b->piece);
    free(b);
}

static enum iso_status next_bin(struct iso_file_reader *f, struct iso_doc *doc, bool *end,
                                struct iso_err *err)
{
    (void)err;
    struct bin *b = (struct bin *)f;
    size_t left = (size_t)(b->end - b->at) / b->width, n = left < PIECE ? left : PIECE;
    *end = left == 0;
    if (*end)
        return ISO_OK;
    for (size_t i = 0; i < n; i++)
        b->piece[i] = b->width == 2 ? u16(b->at + 2 * i) : u32(b->at + 4 * i);
    b->at += n * b->width;
    b->base.bytes_done = b->at - (const unsigned char *)b->map.bytes;
    doc->tokens = b->piece;
    doc->n_tokens = n;
    doc->stream = true;
    doc->more = n < left;
    doc->index = b->index++;
    return ISO_OK;
}

const struct iso_format iso_format_llmc = {
    .name = "llmc",
    .help = "token stream of llm.c: .bin with a header",
    .extensions = "bin",
    .matches = matches_llmc,
    .open = open_llmc,
    .next = next_bin,
    .close = close_bin,
};

const struct iso_format iso_format_nanogpt = {
    .name = "nanogpt",
    .help = "token stream of nanoGPT: .bin of uint16 without a header",
    .extensions = "bin",
    .open = open_nanogpt,
    .next = next_bin,
    .close = close_bin,
};
