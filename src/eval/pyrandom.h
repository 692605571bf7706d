/* Python's random.Random, draw for draw.
 *
 * Few-shot examples and probe files of the paper's harness were drawn with CPython's generator,
 * so the same draws need the same algorithms: the Mersenne Twister MT19937 (Matsumoto and
 * Nishimura, 1998) seeded by key array, getrandbits, rejection below a bound, the downward
 * Fisher-Yates shuffle, and sample()'s two methods. */
#ifndef ISO_EVAL_PYRANDOM_H
#define ISO_EVAL_PYRANDOM_H

#include <stddef.h>
#include <stdint.h>

struct iso_pyrandom {
    uint32_t state[624];
    int at; /* words of the state that are used up */
};

void iso_pyrandom_seed(struct iso_pyrandom *r, uint64_t seed); /* Random(seed) */
uint32_t iso_pyrandom_u32(struct iso_pyrandom *r);
double iso_pyrandom_random(struct iso_pyrandom *r);              /* random() */
uint32_t iso_pyrandom_bits(struct iso_pyrandom *r, int k);       /* getrandbits(k), k <= 32 */
uint32_t iso_pyrandom_below(struct iso_pyrandom *r, uint32_t n); /* _randbelow(n) */
void iso_pyrandom_shuffle(struct iso_pyrandom *r, uint32_t *x, size_t n); /* shuffle(x) */
/* sample(range(n), k) into out[k]; k <= n. */
void iso_pyrandom_sample(struct iso_pyrandom *r, uint32_t *out, uint32_t n, uint32_t k);

#endif
