/* The shuffle of all rows of a split and the writing of its shards (method: pack_deal.c). */
#ifndef ISO_DATA_PACK_DEAL_H
#define ISO_DATA_PACK_DEAL_H

#include "base/err.h"
#include "data/shard.h"

#include <stddef.h>
#include <stdint.h>

struct iso_deal_opts {
    struct iso_shard_spec spec;
    const char *dir, *name; /* shards are DIR/NAME-00000.shard, ... */
    uint64_t seed, stream;  /* the order is a function of these alone; seed 0: as they come */
    size_t memory;          /* rows are held up to this many bytes, then sorted runs go to disk */
    size_t shard_bytes;     /* a shard ends before it grows beyond this */
};

struct iso_deal;
struct iso_deal *iso_deal_new(const struct iso_deal_opts *opts); /* keeps the strings */
void iso_deal_free(struct iso_deal *d);
/* Tokens are below the vocabulary: the caller has checked. */
enum iso_status iso_deal_add(struct iso_deal *d, const uint32_t *row, struct iso_err *err);

/* A shard that was written. */
struct iso_deal_shard {
    char file[64];
    uint64_t rows, checksum;
};
/* Writes the shards and lists them; the list is the caller's, to be freed. */
enum iso_status iso_deal_finish(struct iso_deal *d, struct iso_deal_shard **shards, size_t *n,
                                struct iso_err *err);

#endif
