/* Shards: see shard.h and docs/formats.md.
 *
 * What stays true:
 *   1. A file under its final name is complete: rows go to a temporary name, the header is filled
 *      in last, and the rename comes after fsync.
 *   2. The header has a checksum of its own, so a wrong T or row count is never believed.
 *   3. All numbers are little-endian, rows start at byte 64 (a cache line). */
#include "data/shard.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "shards are little-endian");

static const char magic[8] = "ISOSHARD";

struct header {
    char magic[8];
    uint32_t version, token_bytes, T, vocab, bos, index;
    uint64_t tokenizer, rows, checksum, header_checksum;
};
_Static_assert(sizeof(struct header) == ISO_SHARD_HEADER, "no padding in the header");

size_t iso_shard_token_bytes(const struct iso_shard_spec *spec)
{
    return spec->vocab <= 1u << 16 ? 2 : 4;
}

size_t iso_shard_row_bytes(const struct iso_shard_spec *spec)
{
    return ((size_t)spec->T + 1) * iso_shard_token_bytes(spec);
}

static uint64_t header_sum(const struct header *h)
{
    return iso_xxh64(h, offsetof(struct header, header_checksum), 0);
}

enum iso_status iso_shard_create(struct iso_shard_out *out, const char *path,
                                 const struct iso_shard_spec *spec, uint32_t index,
                                 struct iso_err *err)
{
    *out = (struct iso_shard_out){.spec = *spec, .index = index};
    enum iso_status st = iso_file_open_out(&out->file, path, err);
    if (st != ISO_OK)
        return st;
    iso_xxh64_begin(&out->sum, 0);
    static const char blank[ISO_SHARD_HEADER];
    fwrite(blank, sizeof blank, 1, out->file.f); /* a failure shows in commit's ferror */
    return ISO_OK;
}

void iso_shard_add(struct iso_shard_out *out, const void *row)
{
    size_t len = iso_shard_row_bytes(&out->spec);
    iso_xxh64_add(&out->sum, row, len);
    fwrite(row, len, 1, out->file.f);
    out->rows++;
}

enum iso_status iso_shard_finish(struct iso_shard_out *out, struct iso_err *err)
{
    out->checksum = iso_xxh64_end(&out->sum);
    struct header h = {
        .version = ISO_SHARD_VERSION,
        .token_bytes = (uint32_t)iso_shard_token_bytes(&out->spec),
        .T = out->spec.T,
        .vocab = out->spec.vocab,
        .bos = out->spec.bos,
        .index = out->index,
        .tokenizer = out->spec.tokenizer,
        .rows = out->rows,
        .checksum = out->checksum,
    };
    memcpy(h.magic, magic, sizeof h.magic);
    h.header_checksum = header_sum(&h);
    if (fseek(out->file.f, 0, SEEK_SET) != 0) {
        enum iso_status st = iso_file_fail(err, out->file.path, "write");
        iso_shard_abandon(out);
        return st;
    }
    fwrite(&h, sizeof h, 1, out->file.f);
    return iso_file_commit(&out->file, err);
}

void iso_shard_abandon(struct iso_shard_out *out)
{
    iso_file_abandon(&out->file);
}

/* What is wrong with the header, or NULL. */
static const char *header_fault(const struct header *h, size_t len)
{
    if (len < sizeof *h)
        return "shorter than a shard's header";
    if (memcmp(h->magic, magic, sizeof magic) != 0)
        return "not a shard of isodepth (the first 8 bytes should read ISOSHARD)";
    if (h->version < 1 || h->version > ISO_SHARD_VERSION)
        return "a shard of a newer version; use a newer isodepth";
    if (header_sum(h) != h->header_checksum)
        return "the header's checksum does not match";
    struct iso_shard_spec spec = {.T = h->T, .vocab = h->vocab};
    if (h->T < 1 || h->T > ISO_SHARD_MAX_T || h->vocab < 1 || h->vocab > ISO_SHARD_MAX_VOCAB ||
        h->token_bytes != iso_shard_token_bytes(&spec))
        return "the header's row length, vocabulary and token size do not go together";
    size_t row = iso_shard_row_bytes(&spec);
    if (h->rows != (len - sizeof *h) / row || (len - sizeof *h) % row != 0)
        return "the file's size is not that of the rows it should have";
    return NULL;
}

enum iso_status iso_shard_parse(struct iso_shard *s, const void *bytes, size_t len,
                                const char *path, struct iso_err *err)
{
    struct header h = {.version = 0};
    if (len)
        memcpy(&h, bytes, len < sizeof h ? len : sizeof h);
    const char *fault = header_fault(&h, len);
    if (fault)
        return iso_fail(err, ISO_BAD_INPUT, "%s: %s; pack again, or copy it again", path, fault);
    *s = (struct iso_shard){
        .map = {bytes, len},
        .spec = {.T = h.T, .vocab = h.vocab, .bos = h.bos, .tokenizer = h.tokenizer},
        .index = h.index,
        .rows = h.rows,
        .checksum = h.checksum,
        .path = strdup(path),
    };
    return ISO_OK;
}

enum iso_status iso_shard_open(struct iso_shard *s, const char *path, struct iso_err *err)
{
    *s = (struct iso_shard){0};
    struct stat before = {0};
    struct iso_map map;
    (void)stat(path, &before); /* what is wrong, opening says */
    enum iso_status st = iso_map_open(&map, path, err);
    if (st != ISO_OK)
        return st;
    st = iso_shard_parse(s, map.bytes, map.len, path, err);
    if (st != ISO_OK)
        iso_map_close(&map);
    s->device = before.st_dev;
    s->inode = before.st_ino;
    s->changed = before.st_ctim;
    return st;
}

void iso_shard_close(struct iso_shard *s)
{
    iso_map_close(&s->map);
    free(s->path);
    *s = (struct iso_shard){0};
}

static const unsigned char *row_at(const struct iso_shard *s, uint64_t i)
{
    return (const unsigned char *)s->map.bytes + ISO_SHARD_HEADER +
           i * iso_shard_row_bytes(&s->spec);
}

/* Widens n tokens of the file and gives the largest. */
static uint32_t widen(int32_t *out, const unsigned char *row, size_t n, size_t token_bytes)
{
    uint32_t largest = 0;
    for (size_t t = 0; t < n; t++) {
        uint32_t token = 0;
        memcpy(&token, row + t * token_bytes, token_bytes);
        largest = token > largest ? token : largest;
        out[t] = (int32_t)token;
    }
    return largest;
}

enum iso_status iso_shard_row(const struct iso_shard *s, int32_t *out, uint64_t i,
                              struct iso_err *err)
{
    ISO_ASSERT(i < s->rows);
    size_t n = (size_t)s->spec.T + 1;
    /* Two calls with a constant size let the compiler unroll the copy. */
    uint32_t largest = iso_shard_token_bytes(&s->spec) == 2 ? widen(out, row_at(s, i), n, 2)
                                                            : widen(out, row_at(s, i), n, 4);
    if (largest >= s->spec.vocab)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: row %llu: token %u is outside the vocabulary of %u; pack again",
                        s->path, (unsigned long long)i, largest, s->spec.vocab);
    return ISO_OK;
}

enum iso_status iso_shard_verify(const struct iso_shard *s, struct iso_err *err)
{
    size_t len = s->map.len - ISO_SHARD_HEADER;
    uint64_t sum = iso_xxh64((const char *)s->map.bytes + ISO_SHARD_HEADER, len, 0);
    if (sum != s->checksum)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: damaged: the rows' checksum is %016llx, the header says %016llx; "
                        "pack again, or copy it again",
                        s->path, (unsigned long long)sum, (unsigned long long)s->checksum);
    int32_t *row = ISO_NEW_N(int32_t, (size_t)s->spec.T + 1);
    enum iso_status st = ISO_OK;
    for (uint64_t i = 0; st == ISO_OK && i < s->rows; i++)
        st = iso_shard_row(s, row, i, err);
    free(row);
    return st;
}

enum iso_status iso_shard_verify_again(struct iso_shard *s, struct iso_err *err)
{
    struct stat now;
    const bool same_file =
        stat(s->path, &now) == 0 && now.st_dev == s->device && now.st_ino == s->inode;
    if (!same_file ||
        (now.st_ctim.tv_sec == s->changed.tv_sec && now.st_ctim.tv_nsec == s->changed.tv_nsec))
        return ISO_OK;
    enum iso_status st = iso_shard_verify(s, err);
    if (st == ISO_OK) /* not at every save, for a file that was only touched */
        s->changed = now.st_ctim;
    return st;
}
