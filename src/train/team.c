/* A team of threads: see team.h.
 *
 * Workers sleep on a condition until the round number changes, and the caller sleeps until the
 * last of them has finished the round. */
#include "train/team.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct member {
    struct iso_team *team;
    int index;
    pthread_t thread;
};

struct iso_team {
    int workers, started; /* those that have a thread, the caller's among them */
    struct member *member;
    pthread_mutex_t mutex;
    pthread_cond_t start, done;
    unsigned round; /* changes when there is work */
    int busy;       /* members still in the round */
    bool end;
    void (*fn)(void *ctx, int worker);
    void *ctx;
};

static void *member_main(void *arg)
{
    struct member *m = arg;
    struct iso_team *t = m->team;
    unsigned seen = 0;
    pthread_mutex_lock(&t->mutex);
    for (;;) {
        while (t->round == seen && !t->end)
            pthread_cond_wait(&t->start, &t->mutex);
        if (t->end)
            break;
        seen = t->round;
        pthread_mutex_unlock(&t->mutex);
        t->fn(t->ctx, m->index);
        pthread_mutex_lock(&t->mutex);
        if (--t->busy == 0)
            pthread_cond_signal(&t->done);
    }
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

struct iso_team *iso_team_new(int workers)
{
    struct iso_team *t = ISO_NEW(struct iso_team);
    t->workers = workers;
    t->member = ISO_NEW_N(struct member, (size_t)workers);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->start, NULL);
    pthread_cond_init(&t->done, NULL);
    for (t->started = 1; t->started < workers; t->started++) {
        struct member *m = &t->member[t->started];
        *m = (struct member){.team = t, .index = t->started};
        if (pthread_create(&m->thread, NULL, member_main, m) != 0)
            break;
    }
    return t;
}

void iso_team_free(struct iso_team *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->mutex);
    t->end = true;
    pthread_cond_broadcast(&t->start);
    pthread_mutex_unlock(&t->mutex);
    for (int i = 1; i < t->started; i++)
        pthread_join(t->member[i].thread, NULL);
    pthread_cond_destroy(&t->start);
    pthread_cond_destroy(&t->done);
    pthread_mutex_destroy(&t->mutex);
    free(t->member);
    free(t);
}

int iso_team_size(const struct iso_team *t)
{
    return t->workers;
}

void iso_team_run(struct iso_team *t, void (*fn)(void *ctx, int worker), void *ctx)
{
    pthread_mutex_lock(&t->mutex);
    t->fn = fn;
    t->ctx = ctx;
    t->busy = t->started - 1;
    t->round++;
    pthread_cond_broadcast(&t->start);
    pthread_mutex_unlock(&t->mutex);
    fn(ctx, 0);
    for (int i = t->started; i < t->workers; i++)
        fn(ctx, i);
    pthread_mutex_lock(&t->mutex);
    while (t->busy > 0)
        pthread_cond_wait(&t->done, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
}

struct items {
    atomic_size_t next;
    size_t n;
    void (*fn)(void *ctx, size_t i, int worker);
    void *ctx;
};

static void take_items(void *ctx, int worker)
{
    struct items *it = ctx;
    for (size_t i; (i = atomic_fetch_add(&it->next, 1)) < it->n;)
        it->fn(it->ctx, i, worker);
}

void iso_team_each(struct iso_team *t, size_t n, void (*fn)(void *ctx, size_t i, int worker),
                   void *ctx)
{
    struct items it = {.n = n, .fn = fn, .ctx = ctx};
    atomic_init(&it.next, 0);
    iso_team_run(t, take_items, &it);
}
