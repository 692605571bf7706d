/* Generation: see generate.h. */
#include "model/generate.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* --- the cache --- */

static size_t n_slots(const struct iso_arch *a, int budget)
{
    return (size_t)(a->prelude + budget * a->recur + a->coda);
}

size_t iso_kv_floats(const struct iso_model *m, int r, int budget, size_t longest)
{
    int kept = budget > 0 && budget < r ? budget : r;
    return 2 * n_slots(&m->arch, kept) * longest * (size_t)m->arch.d_model;
}

/* Puts the present position's key and value into the cache and attends to all up to it. */
void iso_kv_attend(struct iso_pass *p, struct iso_acts *a)
{
    const struct iso_kern *k = p->m->kern;
    size_t d = (size_t)p->m->arch.d_model, at = p->kv->position;
    float *keys = p->kv->keys + p->slot * p->kv->longest * d;
    float *values = p->kv->values + p->slot * p->kv->longest * d;
    k->copy(keys + at * d, a->qkv + d, d);
    k->copy(values + at * d, a->qkv + 2 * d, d);
    k->attention_row(a->att, a->qkv, keys, values, at + 1, (size_t)p->m->arch.n_head,
                     (size_t)p->m->arch.head, &p->ws);
}

/* --- the decoder --- */

struct iso_decoder *iso_decoder_new(struct iso_model *m, size_t longest, int r, int budget)
{
    struct iso_decoder *d = ISO_NEW(struct iso_decoder);
    size_t half = iso_kv_floats(m, r, budget, longest) / 2, V = (size_t)m->arch.vocab_padded;
    iso_model_extend(m, longest);
    d->m = m;
    d->pass = iso_pass_new(m, (struct iso_pass_size){1, 1, r, 0});
    /* The pass has scratch for sequences of one; attention_row needs it for all positions. */
    free(d->pass->ws.bytes);
    d->pass->ws.size = iso_kern_ws_bytes(longest, (size_t)m->arch.head, V);
    d->pass->ws.bytes = iso_alloc_aligned(d->pass->ws.size, 1);
    d->kv = (struct iso_kv){.longest = longest, .budget = budget > 0 && budget < r ? budget : r};
    d->kv.keys = iso_alloc_aligned(half, sizeof(float));
    d->kv.values = iso_alloc_aligned(half, sizeof(float));
    d->logits = ISO_NEW_N(float, V);
    d->order = ISO_NEW_N(size_t, V);
    return d;
}

void iso_decoder_free(struct iso_decoder *d)
{
    if (!d)
        return;
    iso_pass_free(d->pass);
    free(d->kv.keys);
    free(d->kv.values);
    free(d->logits);
    free(d->order);
    free(d);
}

void iso_decoder_feed(struct iso_decoder *d, const int32_t *token, size_t n)
{
    for (size_t i = 0; i < n; i++)
        iso_pass_next(d->pass, i + 1 == n ? d->logits : NULL, &d->kv, token[i]);
}

static int by_logit(const void *a, const void *b, void *logits)
{
    const float *z = logits;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    if (z[x] != z[y])
        return z[x] > z[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

int32_t iso_decoder_draw(struct iso_decoder *d, double temperature, size_t top_k,
                         struct iso_rng *rng)
{
    size_t V = (size_t)d->m->arch.vocab, n = top_k > 0 && top_k < V ? top_k : V;
    for (size_t i = 0; i < V; i++)
        d->order[i] = i;
    qsort_r(d->order, V, sizeof *d->order, by_logit, d->logits);
    if (temperature <= 0)
        return (int32_t)d->order[0];
    double best = (double)d->logits[d->order[0]], sum = 0, draw = iso_rng_uniform(rng);
    for (size_t i = 0; i < n; i++)
        sum += exp(((double)d->logits[d->order[i]] - best) / temperature);
    draw *= sum;
    for (size_t i = 0; i < n; i++) {
        draw -= exp(((double)d->logits[d->order[i]] - best) / temperature);
        if (draw < 0)
            return (int32_t)d->order[i];
    }
    return (int32_t)d->order[n - 1];
}
