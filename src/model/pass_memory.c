/* The memory of a pass: see pass.h.  One walk counts floats (base NULL), and the same walk hands
 * them out. */
#include "model/pass.h"

#include "base/mem.h"

#include <stdlib.h>

struct bump {
    float *base;
    size_t used;
};

static float *take(struct bump *b, size_t floats)
{
    float *at = b->base ? b->base + b->used : NULL;
    b->used += (floats + 15) / 16 * 16;
    return at;
}

static void take_acts(struct bump *b, struct iso_acts *a, const struct iso_dims *dim, size_t rows,
                      bool in_place)
{
    a->x = take(b, rows * dim->d);
    a->mid = in_place ? a->x : take(b, rows * dim->d);
    a->qkv = take(b, rows * 3 * dim->d);
    a->qk_rstd = take(b, rows * 2 * dim->H);
    a->att = take(b, rows * dim->d);
    a->lse = take(b, rows * dim->H);
    a->hidden = take(b, rows * 4 * dim->d);
    a->rstd1 = take(b, rows);
    a->rstd3 = take(b, rows);
}

static bool has_backward(const struct iso_pass *p)
{
    return p->size.window > 0;
}

static size_t kept_layers(const struct iso_pass *p)
{
    const struct iso_dims *dim = &p->m->dim;
    return has_backward(p) ? dim->prelude + (size_t)p->size.window * dim->recur + dim->coda : 0;
}

static size_t kept_iterations(const struct iso_pass *p)
{
    return has_backward(p) ? (size_t)p->size.window : 1;
}

/* States: one before each kept iteration and one after the last; a mechanism with its own update
 * needs two to go back and forth. */
static size_t n_states(const struct iso_pass *p)
{
    size_t n = (size_t)p->size.window + 1;
    return p->m->arch.loop->update && n < 2 ? 2 : n;
}

static void take_loop(struct bump *b, struct iso_pass *p, size_t rows)
{
    const struct iso_loop_ops *loop = p->m->arch.loop;
    struct iso_pass_kept *kept = &p->kept;
    size_t d = p->m->dim.d, state = loop->lanes(&p->loop.shape) * rows * d;
    for (size_t i = 0; i < n_states(p); i++)
        kept->S[i] = take(b, state);
    for (size_t i = 0; i < kept_iterations(p); i++) {
        kept->out[i] = take(b, rows * d);
        kept->s[i] = loop->update ? take(b, rows * d) : NULL;
        kept->rstd_rec[i] = take(b, rows);
    }
    if (loop->saved_floats)
        p->loop.saved = take(b, loop->saved_floats(&p->loop.shape, rows));
    if (!has_backward(p))
        return;
    p->scratch.dS = take(b, state);
    p->scratch.dS_next = take(b, state);
    p->scratch.ds = loop->update ? take(b, rows * d) : NULL;
}

static void take_kept(struct bump *b, struct iso_pass *p, size_t rows)
{
    struct iso_pass_kept *kept = &p->kept;
    size_t d = p->m->dim.d;
    kept->embedded = take(b, rows * d);
    kept->rstd_emb = take(b, rows);
    for (size_t i = 0; i < kept_layers(p); i++)
        take_acts(b, &kept->acts[i], &p->m->dim, rows, false);
    kept->e = take(b, rows * d);
    kept->last = take(b, rows * d);
    kept->rstd_final = take(b, rows);
    kept->final = take(b, rows * d);
    kept->loss = take(b, rows);
}

static void take_scratch(struct bump *b, struct iso_pass *p, size_t rows)
{
    struct iso_pass_scratch *scratch = &p->scratch;
    size_t d = p->m->dim.d;
    if (p->size.window < p->size.r)
        take_acts(b, &scratch->acts, &p->m->dim, rows, true);
    scratch->norm = take(b, rows * d);
    scratch->wide = take(b, rows * 4 * d);
    scratch->logits = take(b, (rows < ISO_LOGIT_ROWS ? rows : ISO_LOGIT_ROWS) * p->m->dim.V);
    if (!has_backward(p))
        return;
    scratch->back = take(b, rows * d);
    scratch->dx = take(b, rows * d);
    scratch->de = take(b, rows * d);
    scratch->packed = take(b, p->m->kern->pack_bytes(rows, 4 * d) / sizeof(float) + 1);
}

static size_t take_all(struct bump b, struct iso_pass *p)
{
    size_t rows = p->size.n * p->size.T;
    p->in.token = (int32_t *)(void *)take(&b, rows);
    p->in.target = (int32_t *)(void *)take(&b, rows);
    take_kept(&b, p, rows);
    take_loop(&b, p, rows);
    take_scratch(&b, p, rows);
    return b.used;
}

static size_t ws_bytes(const struct iso_pass *p)
{
    return iso_kern_ws_bytes(p->size.T, p->m->dim.Q);
}

static void link_param(struct iso_loop_set *set, const struct iso_model *m,
                       const struct iso_param *t)
{
    const struct iso_matrix *x = iso_model_matrix(m, t->offset);
    set->w[t->loop_row] = m->w + t->offset;
    if (x) {
        set->forward[t->loop_row] = x->forward;
        set->reverse[t->loop_row] = x->reverse;
    }
}

static void link_loop(struct iso_pass *p)
{
    const struct iso_model *m = p->m;
    p->loop.kern = p->kern;
    p->loop.ws = &p->ws;
    p->loop.packed_scratch = p->scratch.packed;
    for (size_t i = 0; i < m->params.n; i++) {
        const struct iso_param *t = &m->params.at[i];
        for (int s = 0; t->init == ISO_INIT_LOOP && s < p->loop.shape.sets; s++)
            if (t->loop_set < 0 || t->loop_set == s)
                link_param(&p->loop.set[s], m, t);
    }
}

/* The pass with its lists of pointers, but without the memory behind them. */
static struct iso_pass *new_unplaced(const struct iso_model *m, struct iso_pass_size size)
{
    struct iso_pass *p = ISO_NEW(struct iso_pass);
    p->m = m;
    p->kern = m->kern;
    p->size = size;
    p->loop.shape = iso_arch_loop_shape(&m->arch);
    p->loop.set = ISO_NEW_N(struct iso_loop_set, (size_t)p->loop.shape.sets);
    p->kept.acts = ISO_NEW_N(struct iso_acts, kept_layers(p) + 1);
    p->kept.S = ISO_NEW_N(float *, n_states(p));
    p->kept.out = ISO_NEW_N(float *, kept_iterations(p));
    p->kept.s = ISO_NEW_N(float *, kept_iterations(p));
    p->kept.rstd_rec = ISO_NEW_N(float *, kept_iterations(p));
    return p;
}

struct iso_pass *iso_pass_new(const struct iso_model *m, struct iso_pass_size size)
{
    ISO_ASSERT(size.window == 0 || m->trainable);
    struct iso_pass *p = new_unplaced(m, size);
    p->memory = iso_alloc_aligned(take_all((struct bump){0}, p), sizeof(float));
    take_all((struct bump){.base = p->memory}, p);
    p->ws.bytes = iso_alloc_aligned(ws_bytes(p), 1);
    link_loop(p);
    return p;
}

void iso_pass_join(struct iso_pass *p, struct iso_crew *crew)
{
    p->ws.crew = crew;
    p->kern = p->loop.kern = iso_crew_kern(crew);
}

void iso_pass_free(struct iso_pass *p)
{
    if (!p)
        return;
    free(p->memory);
    free(p->ws.bytes);
    free(p->loop.set);
    free(p->kept.acts);
    free(p->kept.S);
    free(p->kept.out);
    free(p->kept.s);
    free(p->kept.rstd_rec);
    free(p);
}

size_t iso_pass_bytes(const struct iso_model *m, struct iso_pass_size size)
{
    struct iso_pass *p = new_unplaced(m, size);
    size_t bytes = take_all((struct bump){0}, p) * sizeof(float) + ws_bytes(p);
    iso_pass_free(p);
    return bytes;
}
