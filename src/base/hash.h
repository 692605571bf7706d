/* XXH64: a checksum of files and an identity of documents.
 *
 * Method: Y. Collet's xxHash, 64-bit variant, written from its published specification
 * (xxhash_spec.md, version 0.1.1).  Why this one: some bytes per cycle in plain C, known answers
 * exist everywhere (zstd frames carry it), and since every round is a bijection of its lane, a
 * change confined to one aligned 8-byte word always changes the sum; other damage goes unseen
 * with probability 2^-64.  It does not defend against an adversary, and nothing here needs to. */
#ifndef ISO_BASE_HASH_H
#define ISO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t iso_xxh64(const void *bytes, size_t len, uint64_t seed);

/* The same in pieces: begin, add any number of times, end. */
struct iso_xxh64 {
    uint64_t lane[4], seed, total;
    unsigned char tail[32]; /* bytes that do not fill a stripe yet */
    size_t n_tail;
};
void iso_xxh64_begin(struct iso_xxh64 *h, uint64_t seed);
void iso_xxh64_add(struct iso_xxh64 *h, const void *bytes, size_t len);
uint64_t iso_xxh64_end(const struct iso_xxh64 *h);

#endif
