/* XXH64: see hash.h.  Four lanes eat stripes of 32 bytes; the rest is folded in by 8, 4 and 1. */
#include "base/hash.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as little-endian");

static const uint64_t p1 = 0x9E3779B185EBCA87u, p2 = 0xC2B2AE3D27D4EB4Fu, p3 = 0x165667B19E3779F9u,
                      p4 = 0x85EBCA77C2B2AE63u, p5 = 0x27D4EB2F165667C5u;

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t word64(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t word32(const unsigned char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t mix_lane(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * p2, 31) * p1;
}

static uint64_t merge_lane(uint64_t sum, uint64_t lane)
{
    return (sum ^ mix_lane(0, lane)) * p1 + p4;
}

/* Eats whole stripes; returns the bytes eaten. */
static size_t eat_stripes(uint64_t lane[4], const unsigned char *p, size_t len)
{
    uint64_t a = lane[0], b = lane[1], c = lane[2], d = lane[3];
    size_t at = 0;
    for (; at + 32 <= len; at += 32) {
        a = mix_lane(a, word64(p + at));
        b = mix_lane(b, word64(p + at + 8));
        c = mix_lane(c, word64(p + at + 16));
        d = mix_lane(d, word64(p + at + 24));
    }
    lane[0] = a, lane[1] = b, lane[2] = c, lane[3] = d;
    return at;
}

static uint64_t finish(uint64_t sum, const unsigned char *p, size_t len)
{
    size_t at = 0;
    for (; at + 8 <= len; at += 8)
        sum = rotate(sum ^ mix_lane(0, word64(p + at)), 27) * p1 + p4;
    if (at + 4 <= len) {
        sum = rotate(sum ^ word32(p + at) * p1, 23) * p2 + p3;
        at += 4;
    }
    for (; at < len; at++)
        sum = rotate(sum ^ p[at] * p5, 11) * p1;
    sum = (sum ^ sum >> 33) * p2;
    sum = (sum ^ sum >> 29) * p3;
    return sum ^ sum >> 32;
}

void iso_xxh64_begin(struct iso_xxh64 *h, uint64_t seed)
{
    *h = (struct iso_xxh64){.lane = {seed + p1 + p2, seed + p2, seed, seed - p1}, .seed = seed};
}

void iso_xxh64_add(struct iso_xxh64 *h, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    h->total += len;
    if (h->n_tail) {
        size_t want = sizeof h->tail - h->n_tail, take = len < want ? len : want;
        if (take)
            memcpy(h->tail + h->n_tail, p, take);
        h->n_tail += take;
        p += take;
        len -= take;
        if (h->n_tail < sizeof h->tail)
            return;
        eat_stripes(h->lane, h->tail, sizeof h->tail);
        h->n_tail = 0;
    }
    size_t eaten = eat_stripes(h->lane, p, len);
    h->n_tail = len - eaten;
    if (h->n_tail)
        memcpy(h->tail, p + eaten, h->n_tail);
}

uint64_t iso_xxh64_end(const struct iso_xxh64 *h)
{
    uint64_t sum = h->seed + p5;
    if (h->total >= 32) {
        const uint64_t *v = h->lane;
        sum = rotate(v[0], 1) + rotate(v[1], 7) + rotate(v[2], 12) + rotate(v[3], 18);
        for (int i = 0; i < 4; i++)
            sum = merge_lane(sum, v[i]);
    }
    return finish(sum + h->total, h->tail, h->n_tail);
}

uint64_t iso_xxh64(const void *bytes, size_t len, uint64_t seed)
{
    struct iso_xxh64 h;
    iso_xxh64_begin(&h, seed);
    iso_xxh64_add(&h, bytes, len);
    return iso_xxh64_end(&h);
}
