/* Generation: see generate.h. */
#include "model/generate.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 256 }; /* of a prompt at a time: enough to keep the products busy */

struct iso_decoder *iso_decoder_new(struct iso_model *m, size_t longest, int r, int budget)
{
    struct iso_decoder *d = ISO_NEW(struct iso_decoder);
    size_t V = m->dim.V;
    iso_model_extend(m, longest);
    d->m = m;
    d->vocab = m->dim.vocab;
    d->pass = iso_pass_new(m, (struct iso_pass_size){longest < ROWS ? longest : ROWS, 1, r, 0});
    iso_kv_init(&d->kv, m, longest, r, budget);
    d->logits = ISO_NEW_N(float, V);
    d->order = ISO_NEW_N(size_t, V);
    return d;
}

void iso_decoder_free(struct iso_decoder *d)
{
    if (!d)
        return;
    iso_pass_free(d->pass);
    iso_kv_release(&d->kv);
    free(d->logits);
    free(d->order);
    free(d);
}

void iso_decoder_prompt(struct iso_decoder *d, const int32_t *token, size_t n)
{
    struct iso_kv full;
    iso_kv_init(&full, d->m, n, d->pass->size.r, 0);
    iso_pass_feed(d->pass, d->logits, &full, token, n);
    iso_kv_limit(&d->kv, &full, d->m);
    iso_kv_release(&full);
}

void iso_decoder_feed(struct iso_decoder *d, const int32_t *token, size_t n)
{
    iso_pass_feed(d->pass, d->logits, &d->kv, token, n);
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
    size_t V = d->vocab, n = top_k > 0 && top_k < V ? top_k : V;
    for (size_t i = 0; i < V; i++) {
        if (!isfinite(d->logits[i]))
            return -1;
        d->order[i] = i;
    }
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
