/* The set of documents seen so far, by a 128-bit hash of their bytes.
 *
 * 2^-128 per pair: a billion documents collide by chance with probability 1e-21.  Memory is 16
 * bytes per document over a load of 1/2 to 3/4, so 21 to 32 bytes each.  The set is in parts that
 * grow one by one: a single table would for a while be there twice, old and new. */
#ifndef ISO_DATA_PACK_SEEN_H
#define ISO_DATA_PACK_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iso_doc_hash {
    uint64_t low, high;
};
struct iso_doc_hash iso_doc_hash(const void *bytes, size_t len);

enum { ISO_SEEN_PARTS = 256 };

/* Zero-initialised it is empty. */
struct iso_seen {
    struct iso_seen_part {
        struct iso_doc_hash *slots; /* all zero: free */
        size_t n, room;
    } parts[ISO_SEEN_PARTS];
};
/* Adds a hash; false when it was there already. */
bool iso_seen_add(struct iso_seen *s, struct iso_doc_hash h);
void iso_seen_release(struct iso_seen *s);

/* Whether a document belongs to the validation split: a share `val` of all hashes. */
bool iso_doc_held_out(struct iso_doc_hash h, double val);

#endif
