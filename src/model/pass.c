/* A pass through the stack: see pass.h. */
#include "model/pass.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- memory: the same walk counts floats (base NULL) and hands them out --- */

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

static void take_acts(struct bump *b, struct iso_acts *a, const struct iso_arch *arch, size_t rows,
                      bool in_place)
{
    size_t d = (size_t)arch->d_model, H = (size_t)arch->n_head;
    a->x = take(b, rows * d);
    a->mid = in_place ? a->x : take(b, rows * d);
    a->qkv = take(b, rows * 3 * d);
    a->qk_rstd = take(b, rows * 2 * H);
    a->att = take(b, rows * d);
    a->lse = take(b, rows * H);
    a->relu = take(b, rows * 4 * d);
    a->rstd1 = take(b, rows);
    a->rstd3 = take(b, rows);
}

static size_t kept_layers(const struct iso_arch *a, const struct iso_pass_size *s)
{
    return s->window == 0 ? 0 : (size_t)(a->prelude + s->window * a->recur + a->coda);
}

static size_t n_states(const struct iso_arch *a, const struct iso_pass_size *s)
{
    size_t n = (size_t)s->window + 1;
    return a->loop->update && n < 2 ? 2 : n;
}

static void take_loop(struct bump *b, struct iso_pass *p, size_t rows)
{
    const struct iso_arch *arch = &p->m->arch;
    size_t d = (size_t)arch->d_model, state = arch->loop->lanes(&p->loop.shape) * rows * d;
    for (size_t i = 0; i < n_states(arch, &p->size); i++)
        p->S[i] = take(b, state);
    size_t kept = p->size.window == 0 ? 1 : (size_t)p->size.window;
    for (size_t i = 0; i < kept; i++) {
        p->out[i] = take(b, rows * d);
        p->s[i] = arch->loop->update ? take(b, rows * d) : NULL;
        p->rstd_rec[i] = take(b, rows);
    }
    if (arch->loop->saved_floats)
        p->loop.saved = take(b, arch->loop->saved_floats(&p->loop.shape, rows));
    if (p->size.window == 0)
        return;
    p->dS = take(b, state);
    p->dS_next = take(b, state);
    p->ds = arch->loop->update ? take(b, rows * d) : NULL;
}

static void take_all(struct bump *b, struct iso_pass *p)
{
    const struct iso_arch *arch = &p->m->arch;
    size_t rows = p->size.n * p->size.T, d = (size_t)arch->d_model, V = (size_t)arch->vocab_padded;
    p->token = (int32_t *)(void *)take(b, rows);
    p->target = (int32_t *)(void *)take(b, rows);
    p->embedded = take(b, rows * d);
    p->rstd_emb = take(b, rows);
    for (size_t i = 0; i < kept_layers(arch, &p->size); i++)
        take_acts(b, &p->acts[i], arch, rows, false);
    if (p->size.window < p->size.r)
        take_acts(b, &p->scratch, arch, rows, true);
    p->e = take(b, rows * d);
    take_loop(b, p, rows);
    p->last = take(b, rows * d);
    p->rstd_final = take(b, rows);
    p->final = take(b, rows * d);
    p->loss = take(b, rows);
    p->norm = take(b, rows * d);
    p->wide = take(b, rows * 4 * d);
    p->logits = take(b, (rows < ISO_LOGIT_ROWS ? rows : ISO_LOGIT_ROWS) * V);
    if (p->size.window == 0)
        return;
    p->back = take(b, rows * d);
    p->dx = take(b, rows * d);
    p->de = take(b, rows * d);
    size_t packed = p->m->kern->pack_bytes(rows, 4 * d);
    p->packed = take(b, packed / sizeof(float) + 1);
}

static size_t ws_bytes(const struct iso_pass *p)
{
    return iso_kern_ws_bytes(p->size.T, (size_t)p->m->arch.head);
}

static void link_loop(struct iso_pass *p)
{
    const struct iso_model *m = p->m;
    p->loop.kern = m->kern;
    p->loop.ws = &p->ws;
    p->loop.packed_scratch = p->packed;
    for (size_t k = 0; k < m->params.n; k++) {
        const struct iso_param *t = &m->params.at[k];
        if (t->init != ISO_INIT_LOOP)
            continue;
        p->loop.w[t->loop_row] = m->w + t->offset;
        if (m->loop[t->loop_row]) {
            p->loop.forward[t->loop_row] = m->loop[t->loop_row]->forward;
            p->loop.reverse[t->loop_row] = m->loop[t->loop_row]->reverse;
        }
    }
}

/* The pass with its lists of pointers, but without the memory behind them. */
static struct iso_pass *new_unplaced(const struct iso_model *m, struct iso_pass_size size)
{
    struct iso_pass *p = ISO_NEW(struct iso_pass);
    p->m = m;
    p->size = size;
    p->loop.shape = iso_arch_loop_shape(&m->arch);
    p->acts = ISO_NEW_N(struct iso_acts, kept_layers(&m->arch, &size) + 1);
    p->S = ISO_NEW_N(float *, n_states(&m->arch, &size));
    size_t kept = size.window == 0 ? 1 : (size_t)size.window;
    p->out = ISO_NEW_N(float *, kept);
    p->s = ISO_NEW_N(float *, kept);
    p->rstd_rec = ISO_NEW_N(float *, kept);
    return p;
}

struct iso_pass *iso_pass_new(const struct iso_model *m, struct iso_pass_size size)
{
    ISO_ASSERT(size.window == 0 || m->trainable);
    struct iso_pass *p = new_unplaced(m, size);
    struct bump b = {0};
    take_all(&b, p);
    p->memory = b.base = iso_alloc_aligned(b.used, sizeof(float));
    b.used = 0;
    take_all(&b, p);
    p->ws.bytes = iso_alloc_aligned(ws_bytes(p), 1);
    link_loop(p);
    return p;
}

void iso_pass_free(struct iso_pass *p)
{
    if (!p)
        return;
    free(p->memory);
    free(p->ws.bytes);
    free(p->acts);
    free(p->S);
    free(p->out);
    free(p->s);
    free(p->rstd_rec);
    free(p);
}

size_t iso_pass_bytes(const struct iso_model *m, struct iso_pass_size size)
{
    struct iso_pass *p = new_unplaced(m, size);
    struct bump b = {0};
    take_all(&b, p);
    size_t bytes = b.used * sizeof(float) + ws_bytes(p);
    iso_pass_free(p);
    return bytes;
}

/* --- forward --- */

/* `count` layers from `first` on.  Their input is where stack_input pointed; the output goes to
 * `out`.  Without a backward (acts NULL) one layer's scratch serves all of them, in place. */
static void stack_forward(struct iso_pass *p, size_t first, size_t count, struct iso_acts *acts,
                          float *out)
{
    for (size_t i = 0; i < count; i++) {
        struct iso_acts *a = acts ? &acts[i] : &p->scratch;
        float *next = i + 1 == count ? out : acts ? acts[i + 1].x : p->scratch.x;
        iso_block_forward(p, &p->m->layer[first + i], a, next);
        p->slot++;
    }
}

/* Where the input of a stack of `count` layers belongs; a stack of none is its own output. */
static float *stack_input(struct iso_pass *p, size_t count, struct iso_acts *acts, float *out)
{
    return count == 0 ? out : acts ? acts[0].x : p->scratch.x;
}

static struct iso_acts *acts_of(const struct iso_pass *p, size_t at)
{
    return p->size.window == 0 ? NULL : p->acts + at;
}

/* One iteration from state S[from] to S[from + 1]; the kept ones have their own buffers, the
 * others run in place in S[0] (or back and forth between two states). */
static void iterate(struct iso_pass *p, int i)
{
    const struct iso_model *m = p->m;
    const struct iso_loop_ops *ops = m->arch.loop;
    size_t recur = (size_t)m->arch.recur, first = (size_t)m->arch.prelude;
    int kept = i - (p->size.r - p->size.window);
    size_t at = kept < 0 ? 0 : (size_t)kept;
    struct iso_acts *acts = kept < 0 ? NULL : p->acts + first + at * recur;
    float *S = p->S[at], *next = kept < 0 && !ops->update ? S : p->S[at + 1];

    if (p->kv)
        p->slot = first + (size_t)(i % p->kv->budget) * recur;
    float *u = stack_input(p, recur, acts, p->out[at]);
    ops->inject(&p->loop, u, p->e, S, i);
    stack_forward(p, first, recur, acts, p->out[at]);
    m->kern->rmsnorm(ops->update ? p->s[at] : next, p->rstd_rec[at], p->out[at],
                     m->w + m->params.norm_recur, p->rows, (size_t)m->arch.d_model);
    if (!ops->update)
        return;
    ops->update(&p->loop, next, S, p->s[at], i);
    if (kept < 0) {
        p->S[0] = next;
        p->S[1] = S;
    }
}

static void forward(struct iso_pass *p)
{
    const struct iso_model *m = p->m;
    const struct iso_kern *k = m->kern;
    const struct iso_arch *a = &m->arch;
    size_t d = (size_t)a->d_model, prelude = (size_t)a->prelude, coda = (size_t)a->coda;
    size_t before_coda = prelude + (size_t)(p->size.window * a->recur);

    p->slot = 0;
    k->gather(p->embedded, m->w + m->params.wte, p->token, p->rows, d);
    float *x = stack_input(p, prelude, acts_of(p, 0), p->e);
    k->rmsnorm(x, p->rstd_emb, p->embedded, m->w + m->params.norm_emb, p->rows, d);
    stack_forward(p, 0, prelude, acts_of(p, 0), p->e);

    a->loop->start(&p->loop, p->S[0], p->e);
    for (int i = 0; i < p->size.r; i++)
        iterate(p, i);

    x = stack_input(p, coda, acts_of(p, before_coda), p->last);
    const float *S = p->S[p->size.window];
    if (a->loop->pool)
        a->loop->pool(&p->loop, x, S);
    else
        k->copy(x, S, p->rows * d);
    if (p->kv)
        p->slot = prelude + (size_t)p->kv->budget * (size_t)a->recur;
    stack_forward(p, prelude + (size_t)a->recur, coda, acts_of(p, before_coda), p->last);
}

/* --- backward: p->dx is the gradient at the point reached so far --- */

static void stack_backward(struct iso_pass *p, size_t first, size_t count, struct iso_acts *acts)
{
    while (count-- > 0)
        iso_block_backward(p, &p->m->layer[first + count], &acts[count]);
}

static void iterate_backward(struct iso_pass *p, size_t kept)
{
    const struct iso_model *m = p->m;
    const struct iso_loop_ops *ops = m->arch.loop;
    size_t d = (size_t)m->arch.d_model, recur = (size_t)m->arch.recur;
    size_t first = (size_t)m->arch.prelude, n = p->rows * d;
    size_t state = ops->lanes(&p->loop.shape) * n;
    int i = p->size.r - p->size.window + (int)kept;

    const float *ds = p->dS_next;
    if (ops->update) {
        ops->update_bwd(&p->loop, p->dS, p->ds, p->dS_next, p->S[kept], p->s[kept], i);
        ds = p->ds;
    } else {
        m->kern->fill(p->dS, 0, state);
    }
    m->kern->fill(p->dx, 0, n);
    m->kern->rmsnorm_bwd(p->dx, p->grad + m->params.norm_recur, ds, p->out[kept],
                         m->w + m->params.norm_recur, p->rstd_rec[kept], p->rows, d);
    stack_backward(p, first, recur, p->acts + first + kept * recur);
    ops->inject_bwd(&p->loop, p->de, p->dS, p->dx, p->e, p->S[kept], i);

    float *swap = p->dS;
    p->dS = p->dS_next;
    p->dS_next = swap;
}

/* From the gradient at the coda's input (p->dx) to that at the prelude's output (p->de). */
static void loop_backward(struct iso_pass *p)
{
    const struct iso_model *m = p->m;
    const struct iso_loop_ops *ops = m->arch.loop;
    size_t n = p->rows * (size_t)m->arch.d_model;
    m->kern->fill(p->de, 0, n);
    if (ops->pool)
        ops->pool_bwd(&p->loop, p->dS_next, p->dx);
    else
        m->kern->copy(p->dS_next, p->dx, n);
    for (size_t kept = (size_t)p->size.window; kept-- > 0;)
        iterate_backward(p, kept);
    if (p->size.window == p->size.r) /* else the state was detached before the first kept one */
        ops->start_bwd(&p->loop, p->de, p->dS_next);
    if (ops->end_bwd)
        ops->end_bwd(&p->loop, p->de, p->e);
}

static void backward(struct iso_pass *p)
{
    const struct iso_model *m = p->m;
    const struct iso_kern *k = m->kern;
    const struct iso_arch *a = &m->arch;
    size_t d = (size_t)a->d_model, prelude = (size_t)a->prelude, recur = (size_t)a->recur;

    stack_backward(p, prelude + recur, (size_t)a->coda,
                   p->acts + prelude + (size_t)p->size.window * recur);
    loop_backward(p);
    float *swap = p->dx;
    p->dx = p->de;
    p->de = swap;
    stack_backward(p, 0, prelude, p->acts);
    k->fill(p->back, 0, p->rows * d);
    k->rmsnorm_bwd(p->back, p->grad + m->params.norm_emb, p->dx, p->embedded,
                   m->w + m->params.norm_emb, p->rstd_emb, p->rows, d);
    k->scatter_add(p->grad + m->params.wte, p->back, p->token, p->rows, d);
}

/* --- entry points --- */

static void set_sequences(struct iso_pass *p, size_t n, size_t T)
{
    ISO_ASSERT(n * T <= p->size.n * p->size.T && T <= p->m->positions && T <= p->size.T);
    ISO_ASSERT(!p->kv || p->kv->position + T <= p->kv->longest);
    p->n = n;
    p->T = T;
    p->rows = p->loop.rows = n * T;
}

static void set_rows(struct iso_pass *p, const int32_t *rows, size_t n, size_t T)
{
    set_sequences(p, n, T);
    for (size_t i = 0; i < n; i++) {
        memcpy(p->token + i * T, rows + i * (T + 1), T * sizeof *rows);
        memcpy(p->target + i * T, rows + i * (T + 1) + 1, T * sizeof *rows);
    }
}

double iso_pass_train(struct iso_pass *p, const int32_t *rows, size_t n, size_t T, float scale,
                      float *grad)
{
    set_rows(p, rows, n, T);
    p->grad = grad;
    for (int i = 0; i < ISO_LOOP_PARAMS; i++)
        p->loop.dw[i] = p->loop.w[i] ? grad + (p->loop.w[i] - p->m->w) : NULL;
    forward(p);
    iso_head_train(p, scale);
    backward(p);
    double sum = 0;
    for (size_t i = 0; i < p->rows; i++)
        sum += (double)p->loss[i];
    return sum;
}

void iso_pass_score(struct iso_pass *p, float *loss, unsigned char *hit, const int32_t *rows,
                    size_t n, size_t T)
{
    set_rows(p, rows, n, T);
    forward(p);
    iso_head_score(p, loss, hit);
}

void iso_pass_logits(struct iso_pass *p, float *z, const int32_t *tokens, size_t n, size_t T)
{
    set_sequences(p, n, T);
    memcpy(p->token, tokens, n * T * sizeof *tokens);
    forward(p);
    iso_head_logits(p, z, 0);
}

/* --- behind a cache --- */

void iso_kv_init(struct iso_kv *kv, const struct iso_model *m, size_t longest, int r, int budget)
{
    ISO_ASSERT(longest <= m->positions);
    *kv = (struct iso_kv){.longest = longest, .budget = budget > 0 && budget < r ? budget : r};
    kv->at = iso_alloc_aligned(iso_kv_floats(kv, m), sizeof(float));
}

size_t iso_kv_floats(const struct iso_kv *kv, const struct iso_model *m)
{
    const struct iso_arch *a = &m->arch;
    size_t slots = (size_t)(a->prelude + kv->budget * a->recur + a->coda);
    return slots * kv->longest * 2 * (size_t)a->d_model;
}

void iso_kv_release(struct iso_kv *kv)
{
    free(kv->at);
    *kv = (struct iso_kv){0};
}

/* Where not all iterations are kept, a position's first iteration looks at the last ones of the
 * positions before it, so these must be through first. */
static size_t most_at_once(const struct iso_pass *p, const struct iso_kv *kv)
{
    return kv->budget < p->size.r ? 1 : p->size.T;
}

void iso_pass_feed(struct iso_pass *p, float *z, struct iso_kv *kv, const int32_t *token, size_t n)
{
    p->kv = kv;
    for (size_t T; n > 0; n -= T, token += T) {
        T = n < most_at_once(p, kv) ? n : most_at_once(p, kv);
        set_sequences(p, 1, T);
        memcpy(p->token, token, T * sizeof *token);
        forward(p);
        kv->position += T;
    }
    p->kv = NULL;
    if (!z)
        return;
    iso_head_logits(p, z, p->rows - 1);
    for (int64_t i = 0; i < p->m->arch.vocab; i++)
        z[i] = ISO_SOFTCAP * tanhf(z[i] / ISO_SOFTCAP);
}
