/* The set of documents seen so far: open addressing with linear probing; see pack_seen.h. */
#include "data/pack_seen.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

struct iso_doc_hash iso_doc_hash(const void *bytes, size_t len)
{
    struct iso_doc_hash h = {iso_xxh64(bytes, len, 0), iso_xxh64(bytes, len, 0x69736f6465707468u)};
    h.high |= h.low == 0 && h.high == 0; /* all zero marks a free slot */
    return h;
}

/* The slot that holds `h`, or the free one where it would go. */
static struct iso_doc_hash *find(const struct iso_seen *s, struct iso_doc_hash h)
{
    size_t at = h.low & (s->room - 1);
    while ((s->slots[at].low || s->slots[at].high) &&
           (s->slots[at].low != h.low || s->slots[at].high != h.high))
        at = (at + 1) & (s->room - 1);
    return &s->slots[at];
}

static void grow(struct iso_seen *s)
{
    struct iso_seen bigger = {.n = s->n, .room = s->room ? 2 * s->room : 1024};
    bigger.slots = ISO_NEW_N(struct iso_doc_hash, bigger.room);
    for (size_t i = 0; i < s->room; i++)
        if (s->slots[i].low || s->slots[i].high)
            *find(&bigger, s->slots[i]) = s->slots[i];
    free(s->slots);
    *s = bigger;
}

bool iso_seen_add(struct iso_seen *s, struct iso_doc_hash h)
{
    if (4 * (s->n + 1) > 3 * s->room)
        grow(s);
    struct iso_doc_hash *slot = find(s, h);
    if (slot->low || slot->high)
        return false;
    *slot = h;
    s->n++;
    return true;
}

void iso_seen_release(struct iso_seen *s)
{
    free(s->slots);
    *s = (struct iso_seen){0};
}

bool iso_doc_held_out(struct iso_doc_hash h, double val)
{
    return ldexp((double)(iso_mix64(h.low ^ h.high) >> 11), -53) < val;
}
