/* Encodings of Parquet values: plain, dictionary indices, deltas.  See parquet.h; the formats are
 * in Encodings.md of parquet-format. */
#include "base/mem.h"
#include "data/parquet.h"
#include "data/thrift.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

static uint64_t le(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* `width` (at most 64) bits from bit `bit` on; they must lie within the `len` bytes. */
static inline uint64_t bits(const unsigned char *bytes, size_t len, size_t bit, unsigned width)
{
    const unsigned char *p = bytes + bit / 8;
    size_t left = len - bit / 8;
    unsigned shift = bit % 8;
    uint64_t v;
    if (left >= 8) { /* the usual case, where speed counts */
        memcpy(&v, p, 8);
        v = le64toh(v) >> shift;
    } else {
        v = le(p, left) >> shift;
    }
    if (shift + width > 64)
        v |= (uint64_t)p[8] << (64 - shift);
    return width == 64 ? v : v & (((uint64_t)1 << width) - 1);
}

/* One bit-packed run: groups of eight values; padding in the last group may be cut off. */
static size_t unpack(uint32_t *out, size_t n, uint64_t groups, unsigned width, struct iso_thrift *t)
{
    size_t left = (size_t)(t->end - t->at);
    size_t take = groups < n / 8 + 1 ? (size_t)groups * 8 : n;
    if (take > n)
        take = n;
    if ((take * width + 7) / 8 > left) {
        t->bad = true;
        return 0;
    }
    for (size_t i = 0; i < take; i++)
        out[i] = (uint32_t)bits(t->at, left, i * width, width);
    t->at += width && groups > left / width ? left : (size_t)(width ? groups * width : 0);
    return take;
}

bool iso_pq_rle(uint32_t *out, size_t n, unsigned width, const unsigned char *bytes, size_t len,
                size_t *used)
{
    struct iso_thrift t = {bytes, bytes + len, false};
    size_t done = 0, value_bytes = (width + 7) / 8;
    while (done < n) {
        uint64_t head = iso_thrift_varint(&t), count = head >> 1;
        if (t.bad)
            return false;
        if (head & 1) {
            done += unpack(out + done, n - done, count, width, &t);
            if (t.bad)
                return false;
            continue;
        }
        if (count > n - done || (size_t)(t.end - t.at) < value_bytes)
            return false;
        uint64_t value = le(t.at, value_bytes);
        if (value >> width)
            return false;
        t.at += value_bytes;
        for (size_t i = 0; i < count; i++)
            out[done + i] = (uint32_t)value;
        done += (size_t)count;
    }
    *used = (size_t)(t.at - bytes);
    return true;
}

/* DELTA_BINARY_PACKED: {block size, miniblocks per block, count, first value}, then blocks of
 * {least delta, a bit width per miniblock, the miniblocks' packed deltas}.  All our uses are
 * counts, lengths and tokens: values outside [0, 2^31) are damage. */
struct delta {
    struct iso_thrift t;
    size_t per_mini, n_minis;
    uint64_t value, least; /* sums wrap as the writer's do */
    bool narrow;           /* 32-bit values */
};

static bool put_delta(const struct delta *d, uint32_t *out)
{
    int64_t v = d->narrow ? (int32_t)(uint32_t)d->value : (int64_t)d->value;
    *out = (uint32_t)v;
    return v >= 0 && v <= INT32_MAX;
}

static bool delta_mini(struct delta *d, uint32_t *out, size_t n, unsigned width)
{
    size_t size = d->per_mini / 8 * width, left = (size_t)(d->t.end - d->t.at);
    if (width > 64 || size > left)
        return false;
    for (size_t i = 0; i < n; i++) {
        d->value += d->least + bits(d->t.at, left, i * width, width);
        if (!put_delta(d, &out[i]))
            return false;
    }
    d->t.at += size;
    return true;
}

static bool delta_block(struct delta *d, uint32_t *out, size_t n)
{
    d->least = (uint64_t)iso_thrift_zigzag(&d->t);
    const unsigned char *widths = d->t.at;
    if (d->t.bad || (size_t)(d->t.end - d->t.at) < d->n_minis)
        return false;
    d->t.at += d->n_minis;
    for (size_t k = 0; k < d->n_minis && n; k++) {
        size_t take = n < d->per_mini ? n : d->per_mini;
        if (!delta_mini(d, out, take, widths[k]))
            return false;
        out += take;
        n -= take;
    }
    return true;
}

static bool decode_delta(uint32_t *out, size_t n, bool narrow, const unsigned char *bytes,
                         size_t len, size_t *used)
{
    struct delta d = {.t = {bytes, bytes + len, false}, .narrow = narrow};
    uint64_t block = iso_thrift_varint(&d.t), minis = iso_thrift_varint(&d.t);
    uint64_t count = iso_thrift_varint(&d.t);
    d.value = (uint64_t)iso_thrift_zigzag(&d.t);
    if (d.t.bad || count != n || !minis || minis > 4096 || block > 1 << 20 || block % minis ||
        block / minis == 0 || block / minis % 8)
        return false;
    d.n_minis = (size_t)minis;
    d.per_mini = (size_t)(block / minis);
    if (n && !put_delta(&d, &out[0]))
        return false;
    for (size_t done = 1; done < n;) {
        size_t take = n - done < block ? n - done : (size_t)block;
        if (!delta_block(&d, out + done, take))
            return false;
        done += take;
    }
    *used = (size_t)(d.t.at - bytes);
    return true;
}

/* What a decoder is given. */
struct job {
    struct iso_pq_values *v;
    size_t n;
    int type;
    const unsigned char *bytes;
    size_t len;
    const struct iso_pq_values *dictionary;
    uint32_t *scratch; /* 2n */
};

/* Whether the page ends at `at`; fastparquet puts eight zeros behind the values. */
static bool at_end(const struct job *j, const unsigned char *at)
{
    const unsigned char *end = j->bytes + j->len;
    if (end - at > 8)
        return false;
    while (at < end && *at == 0)
        at++;
    return at == end;
}

static bool plain_strings(struct job *j)
{
    const unsigned char *at = j->bytes, *end = at + j->len;
    if (j->n > j->len / 4)
        return false;
    for (size_t i = 0; i < j->n; i++) {
        if (end - at < 4)
            return false;
        size_t len = (size_t)le(at, 4);
        at += 4;
        if (len > (size_t)(end - at))
            return false;
        j->v->strings[i] = (struct iso_pq_slice){(const char *)at, len};
        at += len;
    }
    return at_end(j, at);
}

static bool plain_integers(struct job *j)
{
    size_t width = j->type == ISO_PQ_INT64 ? 8 : 4;
    if (j->n > j->len / width)
        return false;
    for (size_t i = 0; i < j->n; i++) {
        uint64_t v = le(j->bytes + i * width, width);
        if (v > INT32_MAX)
            return false;
        j->v->tokens[i] = (uint32_t)v;
    }
    return at_end(j, j->bytes + j->n * width);
}

static bool plain(struct job *j)
{
    return j->type == ISO_PQ_BYTE_ARRAY ? plain_strings(j) : plain_integers(j);
}

/* A byte with the bit width, then indices in runs. */
static bool indices(struct job *j)
{
    size_t used;
    if (!j->dictionary || j->len == 0 || j->bytes[0] > 32 ||
        !iso_pq_rle(j->scratch, j->n, j->bytes[0], j->bytes + 1, j->len - 1, &used) ||
        !at_end(j, j->bytes + 1 + used))
        return false;
    for (size_t i = 0; i < j->n; i++) {
        if (j->scratch[i] >= j->dictionary->n)
            return false;
        if (j->type == ISO_PQ_BYTE_ARRAY)
            j->v->strings[i] = j->dictionary->strings[j->scratch[i]];
        else
            j->v->tokens[i] = j->dictionary->tokens[j->scratch[i]];
    }
    return true;
}

static bool delta_integers(struct job *j)
{
    size_t used;
    return j->type != ISO_PQ_BYTE_ARRAY &&
           decode_delta(j->v->tokens, j->n, j->type == ISO_PQ_INT32, j->bytes, j->len, &used) &&
           used == j->len;
}

/* All lengths, then all bytes. */
static bool delta_lengths(struct job *j)
{
    size_t used;
    if (j->type != ISO_PQ_BYTE_ARRAY ||
        !decode_delta(j->scratch, j->n, true, j->bytes, j->len, &used))
        return false;
    const char *at = (const char *)j->bytes + used;
    size_t left = j->len - used;
    for (size_t i = 0; i < j->n; i++) {
        if (j->scratch[i] > left)
            return false;
        j->v->strings[i] = (struct iso_pq_slice){at, j->scratch[i]};
        at += j->scratch[i];
        left -= j->scratch[i];
    }
    return left == 0;
}

/* How much of the string before is repeated, how long the rest is, all the rests. */
static bool delta_strings(struct job *j)
{
    size_t used, used_too;
    uint32_t *shared = j->scratch, *rest = j->scratch + j->n;
    if (j->type != ISO_PQ_BYTE_ARRAY ||
        !decode_delta(shared, j->n, true, j->bytes, j->len, &used) ||
        !decode_delta(rest, j->n, true, j->bytes + used, j->len - used, &used_too))
        return false;
    const unsigned char *from = j->bytes + used + used_too;
    size_t left = j->len - used - used_too, total = 0, before = 0;
    for (size_t i = 0; i < j->n; i++) {
        if (shared[i] > before || rest[i] > left)
            return false;
        before = (size_t)shared[i] + rest[i];
        left -= rest[i];
        total += before;
        if (total > ISO_PQ_MAX_PAGE)
            return false;
    }
    if (left)
        return false;
    j->v->joined = iso_pq_room(j->v->joined, &j->v->joined_room, total, 1);
    unsigned char *at = j->v->joined, *last = at;
    for (size_t i = 0; i < j->n; i++) {
        memmove(at, last, shared[i]);
        memcpy(at + shared[i], from, rest[i]);
        from += rest[i];
        last = at;
        j->v->strings[i] = (struct iso_pq_slice){(const char *)at, (size_t)shared[i] + rest[i]};
        at += shared[i] + rest[i];
    }
    return true;
}

static const struct {
    int encoding;
    const char *name;
    bool (*decode)(struct job *j);
} decoders[] = {
    {ISO_PQ_PLAIN, "plain", plain},
    {ISO_PQ_PLAIN_DICTIONARY, "dictionary", indices},
    {ISO_PQ_RLE_DICTIONARY, "dictionary", indices},
    {ISO_PQ_DELTA_BINARY_PACKED, "delta", delta_integers},
    {ISO_PQ_DELTA_LENGTH_BYTE_ARRAY, "delta length", delta_lengths},
    {ISO_PQ_DELTA_BYTE_ARRAY, "delta string", delta_strings},
};

enum iso_status iso_pq_decode(struct iso_pq_values *v, size_t n, int encoding, int type,
                              const unsigned char *bytes, size_t len,
                              const struct iso_pq_values *dictionary, uint32_t *scratch,
                              struct iso_err *err)
{
    v->n = n;
    if (n == 0)
        return ISO_OK; /* a page of nulls; writers differ on what they leave there */
    if (type == ISO_PQ_BYTE_ARRAY)
        v->strings = iso_pq_room(v->strings, &v->room, n, sizeof *v->strings);
    else
        v->tokens = iso_pq_room(v->tokens, &v->room, n, sizeof *v->tokens);
    struct job job = {v, n, type, bytes, len, dictionary, scratch};
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (decoders[i].encoding == encoding)
            return decoders[i].decode(&job)
                       ? ISO_OK
                       : iso_fail(err, ISO_BAD_INPUT,
                                  "damaged %s values, or integers that are no token ids",
                                  decoders[i].name);
    return iso_fail(err, ISO_BAD_INPUT,
                    "encoding %d is not supported; write the column plain or with a dictionary",
                    encoding);
}

void iso_pq_values_release(struct iso_pq_values *v)
{
    free(v->strings);
    free(v->tokens);
    free(v->joined);
    *v = (struct iso_pq_values){0};
}

void *iso_pq_room(void *p, size_t *room, size_t n, size_t size)
{
    if (p && n <= *room)
        return p;
    free(p);
    *room = n ? n : 1;
    return iso_realloc(NULL, *room, size);
}
