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
 * {least delta, a bit width per miniblock, the miniblocks' packed deltas}. */
struct delta {
    struct iso_thrift t;
    size_t per_mini, n_minis;
    uint64_t value, least; /* sums wrap as the writer's do */
    bool narrow;           /* 32-bit values */
    uint32_t *small;       /* counts, lengths and tokens: outside [0, 2^31) they are damage */
    int64_t *wide;         /* or any values */
    size_t done;
};

static bool put_delta(struct delta *d)
{
    int64_t v = d->narrow ? (int32_t)(uint32_t)d->value : (int64_t)d->value;
    if (d->wide)
        d->wide[d->done++] = v;
    else
        d->small[d->done++] = (uint32_t)v;
    return d->wide || (v >= 0 && v <= INT32_MAX);
}

static bool delta_mini(struct delta *d, size_t n, unsigned width)
{
    size_t size = d->per_mini / 8 * width, left = (size_t)(d->t.end - d->t.at);
    if (width > 64 || size > left)
        return false;
    for (size_t i = 0; i < n; i++) {
        d->value += d->least + bits(d->t.at, left, i * width, width);
        if (!put_delta(d))
            return false;
    }
    d->t.at += size;
    return true;
}

static bool delta_block(struct delta *d, size_t n)
{
    d->least = (uint64_t)iso_thrift_zigzag(&d->t);
    const unsigned char *widths = d->t.at;
    if (d->t.bad || (size_t)(d->t.end - d->t.at) < d->n_minis)
        return false;
    d->t.at += d->n_minis;
    for (size_t k = 0; k < d->n_minis && n; k++) {
        size_t take = n < d->per_mini ? n : d->per_mini;
        if (!delta_mini(d, take, widths[k]))
            return false;
        n -= take;
    }
    return true;
}

/* n values into d.small or d.wide. */
static bool decode_delta_into(struct delta d, size_t n, const unsigned char *bytes, size_t len,
                              size_t *used)
{
    d.t = (struct iso_thrift){bytes, bytes + len, false};
    uint64_t block = iso_thrift_varint(&d.t), minis = iso_thrift_varint(&d.t);
    uint64_t count = iso_thrift_varint(&d.t);
    d.value = (uint64_t)iso_thrift_zigzag(&d.t);
    if (d.t.bad || count != n || !minis || minis > 4096 || block > 1 << 20 || block % minis ||
        block / minis == 0 || block / minis % 8)
        return false;
    d.n_minis = (size_t)minis;
    d.per_mini = (size_t)(block / minis);
    if (n && !put_delta(&d))
        return false;
    while (d.done < n)
        if (!delta_block(&d, n - d.done < block ? n - d.done : (size_t)block))
            return false;
    *used = (size_t)(d.t.at - bytes);
    return true;
}

static bool decode_lengths(uint32_t *out, size_t n, const unsigned char *bytes, size_t len,
                           size_t *used)
{
    return decode_delta_into((struct delta){.narrow = true, .small = out}, n, bytes, len, used);
}

/* What a decoder is given. */
struct job {
    struct iso_pq_values *v;
    size_t n;
    const struct iso_pq_column *column;
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

/* n fixed values of `width` bytes fill the page. */
static bool fixed_width(const struct job *j, size_t width)
{
    return j->n <= j->len / width && at_end(j, j->bytes + j->n * width);
}

static bool plain_tokens(struct job *j)
{
    size_t width = j->column->type == ISO_PQ_INT64 ? 8 : 4;
    if (!fixed_width(j, width))
        return false;
    for (size_t i = 0; i < j->n; i++) {
        uint64_t v = le(j->bytes + i * width, width);
        if (v > INT32_MAX)
            return false;
        j->v->tokens[i] = (uint32_t)v;
    }
    return true;
}

static bool plain_int32(struct job *j)
{
    if (!fixed_width(j, 4))
        return false;
    for (size_t i = 0; i < j->n; i++)
        j->v->integers[i] = (int32_t)(uint32_t)le(j->bytes + 4 * i, 4);
    return true;
}

static bool plain_int64(struct job *j)
{
    if (!fixed_width(j, 8))
        return false;
    for (size_t i = 0; i < j->n; i++)
        j->v->integers[i] = (int64_t)le(j->bytes + 8 * i, 8);
    return true;
}

static bool plain_floats(struct job *j)
{
    if (!fixed_width(j, 4))
        return false;
    for (size_t i = 0; i < j->n; i++) {
        uint32_t word = (uint32_t)le(j->bytes + 4 * i, 4);
        float x;
        memcpy(&x, &word, sizeof x);
        j->v->numbers[i] = (double)x;
    }
    return true;
}

static bool plain_doubles(struct job *j)
{
    if (!fixed_width(j, 8))
        return false;
    for (size_t i = 0; i < j->n; i++) {
        uint64_t word = le(j->bytes + 8 * i, 8);
        memcpy(&j->v->numbers[i], &word, sizeof word);
    }
    return true;
}

/* One bit each. */
static bool plain_booleans(struct job *j)
{
    if ((j->n + 7) / 8 > j->len)
        return false;
    for (size_t i = 0; i < j->n; i++)
        j->v->numbers[i] = j->bytes[i / 8] >> i % 8 & 1;
    return at_end(j, j->bytes + (j->n + 7) / 8);
}

static bool plain(struct job *j)
{
    static bool (*const of_type[])(struct job * j) = {
        [ISO_PQ_BOOLEAN] = plain_booleans, [ISO_PQ_INT32] = plain_int32,
        [ISO_PQ_INT64] = plain_int64,      [ISO_PQ_FLOAT] = plain_floats,
        [ISO_PQ_DOUBLE] = plain_doubles,   [ISO_PQ_BYTE_ARRAY] = plain_strings,
    };
    return j->v->tokens ? plain_tokens(j) : of_type[j->column->type](j);
}

/* Booleans of newer pages: a length, then runs. */
static bool run_booleans(struct job *j)
{
    size_t used, len = j->len >= 4 ? (size_t)le(j->bytes, 4) : SIZE_MAX;
    if (j->column->type != ISO_PQ_BOOLEAN || len > j->len - 4 ||
        !iso_pq_rle(j->scratch, j->n, 1, j->bytes + 4, len, &used))
        return false;
    for (size_t i = 0; i < j->n; i++)
        j->v->numbers[i] = j->scratch[i];
    return true;
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
        size_t from = j->scratch[i];
        if (j->v->strings)
            j->v->strings[i] = j->dictionary->strings[from];
        else if (j->v->tokens)
            j->v->tokens[i] = j->dictionary->tokens[from];
        else if (j->v->integers)
            j->v->integers[i] = j->dictionary->integers[from];
        else
            j->v->numbers[i] = j->dictionary->numbers[from];
    }
    return true;
}

static bool delta_integers(struct job *j)
{
    size_t used;
    struct delta d = {
        .narrow = j->column->type == ISO_PQ_INT32, .small = j->v->tokens, .wide = j->v->integers};
    return (d.small || d.wide) && decode_delta_into(d, j->n, j->bytes, j->len, &used) &&
           used == j->len;
}

/* All lengths, then all bytes. */
static bool delta_lengths(struct job *j)
{
    size_t used;
    if (!j->v->strings || !decode_lengths(j->scratch, j->n, j->bytes, j->len, &used))
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
    if (!j->v->strings || !decode_lengths(shared, j->n, j->bytes, j->len, &used) ||
        !decode_lengths(rest, j->n, j->bytes + used, j->len - used, &used_too))
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
    {ISO_PQ_RLE, "run-length", run_booleans},
    {ISO_PQ_DELTA_BINARY_PACKED, "delta", delta_integers},
    {ISO_PQ_DELTA_LENGTH_BYTE_ARRAY, "delta length", delta_lengths},
    {ISO_PQ_DELTA_BYTE_ARRAY, "delta string", delta_strings},
};

/* Room for n values in the one array that the column's type and use ask for. */
static void make_room(struct iso_pq_values *v, size_t n, const struct iso_pq_column *c)
{
    if (c->type == ISO_PQ_BYTE_ARRAY)
        v->strings = iso_pq_room(v->strings, &v->room, n, sizeof *v->strings);
    else if (c->use == ISO_PQ_DOCUMENTS)
        v->tokens = iso_pq_room(v->tokens, &v->room, n, sizeof *v->tokens);
    else if (c->type == ISO_PQ_INT32 || c->type == ISO_PQ_INT64)
        v->integers = iso_pq_room(v->integers, &v->room, n, sizeof *v->integers);
    else
        v->numbers = iso_pq_room(v->numbers, &v->room, n, sizeof *v->numbers);
}

enum iso_status iso_pq_decode(struct iso_pq_values *v, size_t n, int encoding,
                              const struct iso_pq_column *column, const unsigned char *bytes,
                              size_t len, const struct iso_pq_values *dictionary, uint32_t *scratch,
                              struct iso_err *err)
{
    v->n = n;
    if (n == 0)
        return ISO_OK; /* a page of nulls; writers differ on what they leave there */
    make_room(v, n, column);
    struct job job = {v, n, column, bytes, len, dictionary, scratch};
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (decoders[i].encoding == encoding)
            return decoders[i].decode(&job)
                       ? ISO_OK
                       : iso_fail(err, ISO_BAD_INPUT,
                                  column->use == ISO_PQ_DOCUMENTS
                                      ? "damaged %s values, or integers that are not token ids"
                                      : "damaged %s values",
                                  decoders[i].name);
    return iso_fail(err, ISO_BAD_INPUT,
                    "encoding %d is not supported; write the column plain or with a dictionary",
                    encoding);
}

void iso_pq_values_release(struct iso_pq_values *v)
{
    free(v->strings);
    free(v->tokens);
    free(v->integers);
    free(v->numbers);
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
