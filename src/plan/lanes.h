/* Lanes: how a batch is cut for the sum of its gradient.
 *
 * A lane is a block of sequences, lane i of n being [batch i / n, batch (i+1) / n).  A lane runs a
 * few sequences at a time, the micro-batch.  Both decide the order of sums and with it the last
 * digits, so they are settings, and their defaults depend on the shape alone: never on threads,
 * memory or machine. */
#ifndef ISO_PLAN_LANES_H
#define ISO_PLAN_LANES_H

#include <stdint.h>

/* As many lanes of at least 512 tokens as there are, at most 64. */
int64_t iso_lanes_default(int64_t batch, int64_t seq_len);
/* Sequences at once: 256 tokens or more, which keep the kernels busy and stay in the cache, but not
 * more than a lane has. */
int64_t iso_micro_default(int64_t batch, int64_t seq_len, int64_t lanes);
/* The first sequence of a lane; that of lane `lanes` is the batch. */
int64_t iso_lane_first(int64_t batch, int64_t lanes, int64_t lane);

#endif
