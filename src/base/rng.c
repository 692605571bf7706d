/* Random numbers: see rng.h. */
#include "base/rng.h"

#include "base/fmath.h"

#include <math.h>
#include <string.h>

void iso_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

uint64_t iso_rng_u64(struct iso_rng *rng)
{
    const uint32_t counter[4] = {(uint32_t)rng->counter, (uint32_t)(rng->counter >> 32),
                                 (uint32_t)rng->stream, (uint32_t)(rng->stream >> 32)};
    const uint32_t key[2] = {(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)};
    uint32_t out[4];
    iso_philox(out, counter, key);
    rng->counter++;
    return (uint64_t)out[1] << 32 | out[0];
}

double iso_rng_uniform(struct iso_rng *rng)
{
    return (double)(iso_rng_u64(rng) >> 11) * 0x1p-53;
}

double iso_rng_normal(struct iso_rng *rng)
{
    /* Box and Muller's pair, of which one half is enough: a stateless draw is worth more here
     * than the second half. */
    double u = 1.0 - iso_rng_uniform(rng), v = iso_rng_uniform(rng);
    return sqrt(-2.0 * iso_log(u)) * iso_cos(6.283185307179586477 * v);
}

uint64_t iso_rng_below(struct iso_rng *rng, uint64_t bound)
{
    /* Draws in the incomplete last interval would favour small values: throw them back. */
    uint64_t reject_below = (0 - bound) % bound, x;
    do
        x = iso_rng_u64(rng);
    while (x < reject_below);
    return x % bound;
}

uint64_t iso_rng_stream(const char *name, uint64_t index)
{
    return iso_mix64(iso_hash64(name, strlen(name)) + iso_mix64(index));
}

uint64_t iso_hash64(const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001B3u;
    return h;
}

uint64_t iso_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
