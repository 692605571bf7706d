/* A parallel loop: fn(ctx, i, worker) for every i below n, on `threads` threads.  Items are
 * handed out one by one; results belong into slots indexed by i, so that they do not depend on
 * the number of threads. */
#ifndef ISO_BASE_PARALLEL_H
#define ISO_BASE_PARALLEL_H

#include <stddef.h>

/* Threads to use when the user gave none: the cores this process may run on. */
int iso_cpu_count(void);
/* `worker` is in [0, threads).  The calling thread is worker 0 and takes part; when the system
 * gives fewer threads, those that started do the work. */
void iso_parallel_for(size_t n, int threads, void (*fn)(void *ctx, size_t i, int worker),
                      void *ctx);

#endif
