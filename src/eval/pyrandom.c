/* Python's random.Random: see pyrandom.h. */
#include "eval/pyrandom.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>

enum { N = 624, M = 397 };

static void seed_by_word(struct iso_pyrandom *r, uint32_t seed)
{
    r->state[0] = seed;
    for (uint32_t i = 1; i < N; i++)
        r->state[i] = 1812433253u * (r->state[i - 1] ^ (r->state[i - 1] >> 30)) + i;
    r->at = N;
}

/* Advances the index that runs over state[1..N-1] and keeps state[0] a copy of the last. */
static uint32_t next_index(struct iso_pyrandom *r, uint32_t i)
{
    if (i + 1 < N)
        return i + 1;
    r->state[0] = r->state[N - 1];
    return 1;
}

void iso_pyrandom_seed(struct iso_pyrandom *r, uint64_t seed)
{
    /* The key is the seed's 32-bit words, lowest first, without leading zero words. */
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t len = key[1] ? 2 : 1, i = 1, j = 0;
    seed_by_word(r, 19650218u);
    for (uint32_t k = N; k > 0; k--) {
        uint32_t before = r->state[i - 1];
        r->state[i] = (r->state[i] ^ ((before ^ (before >> 30)) * 1664525u)) + key[j] + j;
        i = next_index(r, i);
        j = (j + 1) % len;
    }
    for (uint32_t k = N - 1; k > 0; k--) {
        uint32_t before = r->state[i - 1];
        r->state[i] = (r->state[i] ^ ((before ^ (before >> 30)) * 1566083941u)) - i;
        i = next_index(r, i);
    }
    r->state[0] = 0x80000000u;
}

static void refill(struct iso_pyrandom *r)
{
    for (int i = 0; i < N; i++) {
        uint32_t y = (r->state[i] & 0x80000000u) | (r->state[(i + 1) % N] & 0x7fffffffu);
        r->state[i] = r->state[(i + M) % N] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    r->at = 0;
}

uint32_t iso_pyrandom_u32(struct iso_pyrandom *r)
{
    if (r->at >= N)
        refill(r);
    uint32_t y = r->state[r->at++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

double iso_pyrandom_random(struct iso_pyrandom *r)
{
    uint32_t high = iso_pyrandom_u32(r) >> 5, low = iso_pyrandom_u32(r) >> 6;
    return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

uint32_t iso_pyrandom_bits(struct iso_pyrandom *r, int k)
{
    return iso_pyrandom_u32(r) >> (32 - k);
}

uint32_t iso_pyrandom_below(struct iso_pyrandom *r, uint32_t n)
{
    int bits = 0;
    for (uint32_t x = n; x; x >>= 1)
        bits++;
    uint32_t draw;
    do
        draw = iso_pyrandom_bits(r, bits);
    while (draw >= n);
    return draw;
}

void iso_pyrandom_shuffle(struct iso_pyrandom *r, uint32_t *x, size_t n)
{
    for (size_t i = n; i-- > 1;) {
        uint32_t j = iso_pyrandom_below(r, (uint32_t)i + 1), t = x[i];
        x[i] = x[j];
        x[j] = t;
    }
}

/* Python takes from a copied list when that is smaller than the set of a rejection method:
 * n <= 21, or for k > 5 n <= 21 + 4^ceil(log4(3k)). */
static bool uses_pool(uint32_t n, uint32_t k)
{
    uint64_t limit = 21, power = 1;
    if (k > 5) {
        while (power < 3 * (uint64_t)k)
            power *= 4;
        limit += power;
    }
    return n <= limit;
}

static void sample_from_pool(struct iso_pyrandom *r, uint32_t *out, uint32_t n, uint32_t k)
{
    uint32_t *pool = ISO_NEW_N(uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        pool[i] = i;
    for (uint32_t i = 0; i < k; i++) {
        uint32_t j = iso_pyrandom_below(r, n - i);
        out[i] = pool[j];
        pool[j] = pool[n - i - 1];
    }
    free(pool);
}

static void sample_by_rejection(struct iso_pyrandom *r, uint32_t *out, uint32_t n, uint32_t k)
{
    unsigned char *chosen = ISO_NEW_N(unsigned char, n);
    for (uint32_t i = 0; i < k; i++) {
        uint32_t j;
        do
            j = iso_pyrandom_below(r, n);
        while (chosen[j]);
        chosen[j] = 1;
        out[i] = j;
    }
    free(chosen);
}

void iso_pyrandom_sample(struct iso_pyrandom *r, uint32_t *out, uint32_t n, uint32_t k)
{
    ISO_ASSERT(k <= n);
    if (uses_pool(n, k))
        sample_from_pool(r, out, n, k);
    else
        sample_by_rejection(r, out, n, k);
}
