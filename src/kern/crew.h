/* A crew: threads that share the operations of one worker, for more threads than lanes.
 *
 * A crew has a kernel table of its own, which cuts the expensive operations into chunks: rows of a
 * product, heads of an attention.  The worker, who leads, and the helpers take the next chunk
 * whenever they are free; the leader continues when all are done.
 *
 * What must hold:
 *  1. Chunks cut outputs, never a sum: the bits are those of the worker alone.
 *  2. The leader never waits for a helper that has not come, only for chunks that one has taken. */
#ifndef ISO_KERN_CREW_H
#define ISO_KERN_CREW_H

#include "kern/kern.h"

struct iso_crew;

/* A crew over a table with up to `helpers` helpers and ws_bytes of scratch for each; none at work.
 * The caller frees it. */
struct iso_crew *iso_crew_new(const struct iso_kern *kern, int helpers, size_t ws_bytes);
void iso_crew_free(struct iso_crew *c);
/* The leader's table; its operations want an iso_ws with this crew. */
const struct iso_kern *iso_crew_kern(const struct iso_crew *c);
/* Multiply-adds that the helpers have executed so far. */
uint64_t iso_crew_macs(const struct iso_crew *c);

/* The leader, before helpers are called and when they may go. */
void iso_crew_open(struct iso_crew *c);
void iso_crew_close(struct iso_crew *c);
/* Helper i, from 0: works until the crew closes; returns at once when it has. */
void iso_crew_help(struct iso_crew *c, int i);

#endif
