/* A cache of keys and values: see kv.h. */
#include "model/kv.h"

#include "base/mem.h"

#include <stdlib.h>

void iso_kv_init(struct iso_kv *kv, const struct iso_model *m, size_t longest, int r, int budget)
{
    ISO_ASSERT(longest <= m->positions);
    *kv = (struct iso_kv){.longest = longest, .budget = budget > 0 && budget < r ? budget : r};
    kv->at = iso_alloc_aligned(iso_kv_floats(kv, m), sizeof(float));
}

void iso_kv_release(struct iso_kv *kv)
{
    free(kv->at);
    *kv = (struct iso_kv){0};
}

size_t iso_kv_floats(const struct iso_kv *kv, const struct iso_model *m)
{
    return (iso_kv_coda(kv, &m->dim) + m->dim.coda) * kv->longest * 2 * m->dim.d;
}

size_t iso_kv_iteration(const struct iso_kv *kv, const struct iso_dims *dim, int i)
{
    return kv ? dim->prelude + (size_t)(i % kv->budget) * dim->recur : 0;
}

size_t iso_kv_coda(const struct iso_kv *kv, const struct iso_dims *dim)
{
    return kv ? dim->prelude + (size_t)kv->budget * dim->recur : 0;
}

struct iso_attended iso_kv_put(struct iso_kv *kv, const struct iso_model *m, size_t slot,
                               const float *qkv, size_t T)
{
    size_t d = m->dim.d;
    float *at = kv->at + slot * kv->longest * 2 * d;
    for (size_t t = 0; t < T; t++)
        m->kern->copy(at + (kv->position + t) * 2 * d, qkv + t * 3 * d + d, 2 * d);
    return (struct iso_attended){qkv, at, 3 * d, 2 * d, kv->position, T};
}

static void copy_slots(struct iso_kv *kv, size_t to, const struct iso_kv *full, size_t from,
                       size_t n, const struct iso_model *m)
{
    size_t width = 2 * m->dim.d;
    for (size_t i = 0; i < n; i++)
        m->kern->copy(kv->at + (to + i) * kv->longest * width,
                      full->at + (from + i) * full->longest * width, full->position * width);
}

void iso_kv_limit(struct iso_kv *kv, const struct iso_kv *full, const struct iso_model *m)
{
    const struct iso_dims *dim = &m->dim;
    ISO_ASSERT(kv->position == 0 && full->position <= kv->longest);
    copy_slots(kv, 0, full, 0, dim->prelude, m);
    for (int i = full->budget - kv->budget; i < full->budget; i++)
        copy_slots(kv, iso_kv_iteration(kv, dim, i), full, iso_kv_iteration(full, dim, i),
                   dim->recur, m);
    copy_slots(kv, iso_kv_coda(kv, dim), full, iso_kv_coda(full, dim), dim->coda, m);
    kv->position = full->position;
}

/* Where not all iterations are kept, a position's first iteration looks at the last ones of the
 * positions before it, so these must be through first. */
size_t iso_kv_at_once(const struct iso_kv *kv, int r, size_t most)
{
    return kv->budget < r ? 1 : most;
}
