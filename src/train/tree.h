/* Sums over lanes in a fixed binary tree, so that a sum has the same bits however the lanes are
 * shared out:
 *
 *     sum(first, n) = sum(first, p) + sum(first + p, n - p),  p the largest power of 2 below n;
 *     sum(first, 1) = that lane.
 *
 * A worker computes consecutive lanes one after the other, each into a block of its own, and adds
 * up whole subtrees as soon as it has both halves, like a binary counter that carries: it holds
 * about log2(lanes) blocks, not one per lane.  What is left at the end, the blocks of all workers,
 * is one list of additions, which runs slice by slice (optim.h).  Ranks do the same once more: each
 * adds up the nodes that lie within its own lanes, and these go to the tensors' owners
 * (shares.h). */
#ifndef ISO_TRAIN_TREE_H
#define ISO_TRAIN_TREE_H

#include "kern/kern.h"
#include "optim/optim.h"

/* The sum over lanes [first, first + n). */
struct iso_lane_block {
    float *at; /* [floats] */
    size_t first, n;
};

/* One worker's blocks. */
struct iso_lane_blocks {
    const struct iso_kern *kern;
    size_t floats;
    struct iso_lane_block *at; /* [room], the first n of them hold sums */
    size_t n, room;
    float *memory;
};

/* Most blocks that a worker with lanes [first, end) holds at a time; at least one. */
size_t iso_lane_blocks_needed(size_t first, size_t end);
void iso_lane_blocks_init(struct iso_lane_blocks *b, const struct iso_kern *kern, size_t floats,
                          size_t room);
void iso_lane_blocks_release(struct iso_lane_blocks *b);
void iso_lane_blocks_clear(struct iso_lane_blocks *b);
/* A block of zeros for a lane, the next of the worker's; and, when it is filled, the carry. */
float *iso_lane_blocks_open(struct iso_lane_blocks *b, size_t lane);
void iso_lane_blocks_close(struct iso_lane_blocks *b);

/* What is left to add up for the node [first, first + lanes) from blocks that the workers hold. The
 * list of additions is the caller's, with room for one per block. */
struct iso_gradient iso_lane_blocks_rest(const struct iso_lane_blocks *of, int workers,
                                         size_t first, size_t lanes, struct iso_addition *list);
/* The largest nodes that the lanes [first, end) make up without the others; returns how many. */
enum { ISO_LANE_NODES = 64 }; /* two for each bit are enough for any range */
size_t iso_lane_nodes(struct iso_lane_block node[ISO_LANE_NODES], size_t first, size_t end);
/* The same sum of one number per lane. */
double iso_lane_sum(const double *lane, size_t n);

#endif
