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
static struct iso_doc_hash *find(const struct iso_seen_part *p, struct iso_doc_hash h)
{
    size_t at = h.low % p->room;
    while ((p->slots[at].low || p->slots[at].high) &&
           (p->slots[at].low != h.low || p->slots[at].high != h.high))
        at = at + 1 < p->room ? at + 1 : 0;
    return &p->slots[at];
}

static void grow(struct iso_seen_part *p)
{
    struct iso_seen_part bigger = {.n = p->n, .room = p->room ? p->room + p->room / 2 : 64};
    bigger.slots = ISO_NEW_N(struct iso_doc_hash, bigger.room);
    for (size_t i = 0; i < p->room; i++)
        if (p->slots[i].low || p->slots[i].high)
            *find(&bigger, p->slots[i]) = p->slots[i];
    free(p->slots);
    *p = bigger;
}

bool iso_seen_add(struct iso_seen *s, struct iso_doc_hash h)
{
    struct iso_seen_part *p = &s->parts[h.high % ISO_SEEN_PARTS];
    if (4 * (p->n + 1) > 3 * p->room)
        grow(p);
    struct iso_doc_hash *slot = find(p, h);
    if (slot->low || slot->high)
        return false;
    *slot = h;
    p->n++;
    return true;
}

void iso_seen_release(struct iso_seen *s)
{
    for (size_t i = 0; i < ISO_SEEN_PARTS; i++)
        free(s->parts[i].slots);
    *s = (struct iso_seen){0};
}

bool iso_doc_held_out(struct iso_doc_hash h, double val)
{
    return ldexp((double)(iso_mix64(h.low ^ h.high) >> 11), -53) < val;
}
