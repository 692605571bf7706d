/* Random numbers, counter-based: draw number `counter` of (seed, stream) is a pure function, so
 * no draw depends on threads, ranks or the order of calls.
 *
 * Generator: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
 * A stream is the name of a purpose: two purposes never share draws. */
#ifndef ISO_BASE_RNG_H
#define ISO_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct iso_rng {
    uint64_t seed, stream, counter;
};

/* The raw block function: 128 counter bits and 64 key bits give 128 random bits. */
void iso_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

uint64_t iso_rng_u64(struct iso_rng *rng);
double iso_rng_uniform(struct iso_rng *rng);                 /* in [0, 1) */
double iso_rng_normal(struct iso_rng *rng);                  /* mean 0, variance 1 */
uint64_t iso_rng_below(struct iso_rng *rng, uint64_t bound); /* in [0, bound), unbiased */
/* A stream number from a name and an index: iso_rng_stream("init", layer). */
uint64_t iso_rng_stream(const char *name, uint64_t index);

/* 64-bit FNV-1a hash, for ids and streams (not a checksum of files). */
uint64_t iso_hash64(const void *bytes, size_t len);
/* A strong mix of one word: every input bit changes every output bit. */
uint64_t iso_mix64(uint64_t x);

#endif
