/* A parallel loop: see parallel.h. */
#include "base/parallel.h"

#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

struct loop {
    atomic_size_t next;
    size_t n;
    void (*fn)(void *ctx, size_t i, int worker);
    void *ctx;
};

struct worker {
    struct loop *loop;
    int index;
    pthread_t thread;
};

int iso_cpu_count(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static void *run(void *arg)
{
    struct worker *w = arg;
    for (size_t i; (i = atomic_fetch_add(&w->loop->next, 1)) < w->loop->n;)
        w->loop->fn(w->loop->ctx, i, w->index);
    return NULL;
}

void iso_parallel_for(size_t n, int threads, void (*fn)(void *ctx, size_t i, int worker), void *ctx)
{
    if (threads > 1 && (size_t)threads > n)
        threads = (int)n;
    struct loop loop = {.n = n, .fn = fn, .ctx = ctx};
    atomic_init(&loop.next, 0);
    if (threads <= 1) {
        run(&(struct worker){.loop = &loop});
        return;
    }
    struct worker *workers = ISO_NEW_N(struct worker, (size_t)threads);
    workers[0] = (struct worker){.loop = &loop};
    int started = 1;
    for (; started < threads; started++) {
        struct worker *w = &workers[started];
        *w = (struct worker){.loop = &loop, .index = started};
        if (pthread_create(&w->thread, NULL, run, w) != 0)
            break;
    }
    run(&workers[0]);
    for (int t = 1; t < started; t++)
        pthread_join(workers[t].thread, NULL);
    free(workers);
}
