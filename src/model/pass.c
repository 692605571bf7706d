/* The way through the network: see pass.h. */
#include "model/pass.h"

#include <math.h>
#include <string.h>

/* --- stacks of layers --- */

/* `count` layers from `first` on.  Their input is where stack_input pointed; the output goes to
 * `out`.  Without a backward (acts NULL) one layer's scratch serves all of them, in place.  `slot`
 * is the first one's place in the cache. */
static void stack_forward(struct iso_pass *p, size_t first, size_t count, struct iso_acts *acts,
                          float *out, size_t slot)
{
    struct iso_acts *scratch = &p->scratch.acts;
    for (size_t i = 0; i < count; i++) {
        struct iso_acts *a = acts ? &acts[i] : scratch;
        float *next = i + 1 == count ? out : acts ? acts[i + 1].x : scratch->x;
        iso_block_forward(p, &p->m->layer[first + i], a, next, slot + i);
    }
}

/* Where the input of a stack of `count` layers belongs; a stack of none is its own output. */
static float *stack_input(struct iso_pass *p, size_t count, struct iso_acts *acts, float *out)
{
    return count == 0 ? out : acts ? acts[0].x : p->scratch.acts.x;
}

static void stack_backward(struct iso_pass *p, size_t first, size_t count, struct iso_acts *acts)
{
    while (count-- > 0)
        iso_block_backward(p, &p->m->layer[first + count], &acts[count]);
}

/* What the layers of a part keep; NULL: nothing. */
static struct iso_acts *prelude_acts(const struct iso_pass *p)
{
    return p->size.window == 0 ? NULL : p->kept.acts;
}

/* Of the kept iteration `at`, from 0; `at` = window is the coda. */
static struct iso_acts *iteration_acts(const struct iso_pass *p, size_t at)
{
    return p->size.window == 0 ? NULL : p->kept.acts + p->m->dim.prelude + at * p->m->dim.recur;
}

/* The first layer of iteration i, and of the coda. */
static size_t iteration_layer(const struct iso_dims *dim, int i)
{
    return dim->prelude + (size_t)i % dim->sets * dim->recur;
}

static size_t coda_layer(const struct iso_dims *dim)
{
    return dim->prelude + dim->sets * dim->recur;
}

/* --- forward --- */

static void prelude_forward(struct iso_pass *p)
{
    const struct iso_model *m = p->m;
    struct iso_pass_kept *kept = &p->kept;
    size_t rows = p->in.rows, d = m->dim.d;
    float *x = stack_input(p, m->dim.prelude, prelude_acts(p), kept->e);
    p->kern->gather(kept->embedded, m->w + m->params.wte, p->in.token, rows, d);
    p->kern->rmsnorm(x, kept->rstd_emb, kept->embedded, m->w + m->params.norm_emb, rows, d);
    stack_forward(p, 0, m->dim.prelude, prelude_acts(p), kept->e, 0);
}

/* Iteration i, from state S[at] to S[at + 1]; the kept ones have their own buffers, the others run
 * in place in S[0] (or back and forth between two states). */
static void iterate(struct iso_pass *p, int i)
{
    const struct iso_model *m = p->m;
    const struct iso_loop_ops *ops = m->arch.loop;
    struct iso_pass_kept *kept = &p->kept;
    int detached = p->size.r - p->size.window;
    bool keep = i >= detached;
    size_t at = keep ? (size_t)(i - detached) : 0;
    struct iso_acts *acts = keep ? iteration_acts(p, at) : NULL;
    float *S = kept->S[at], *next = !keep && !ops->update ? S : kept->S[at + 1];

    float *u = stack_input(p, m->dim.recur, acts, kept->out[at]);
    ops->inject(&p->loop, u, kept->e, S, i);
    stack_forward(p, iteration_layer(&m->dim, i), m->dim.recur, acts, kept->out[at],
                  iso_kv_iteration(p->in.kv, &m->dim, i));
    p->kern->rmsnorm(ops->update ? kept->s[at] : next, kept->rstd_rec[at], kept->out[at],
                     m->w + m->params.norm_recur, p->in.rows, m->dim.d);
    if (!ops->update)
        return;
    ops->update(&p->loop, next, S, kept->s[at], i);
    if (!keep) {
        kept->S[0] = next;
        kept->S[1] = S;
    }
}

static void coda_forward(struct iso_pass *p)
{
    const struct iso_model *m = p->m;
    struct iso_acts *acts = iteration_acts(p, (size_t)p->size.window);
    const float *S = p->kept.S[p->size.window];
    float *x = stack_input(p, m->dim.coda, acts, p->kept.last);
    if (m->arch.loop->pool)
        m->arch.loop->pool(&p->loop, x, S);
    else
        p->kern->copy(x, S, p->in.rows * m->dim.d);
    stack_forward(p, coda_layer(&m->dim), m->dim.coda, acts, p->kept.last,
                  iso_kv_coda(p->in.kv, &m->dim));
}

static void forward(struct iso_pass *p)
{
    prelude_forward(p);
    p->m->arch.loop->start(&p->loop, p->kept.S[0], p->kept.e);
    for (int i = 0; i < p->size.r; i++)
        iterate(p, i);
    coda_forward(p);
}

/* --- backward: scratch.dx is the gradient at the point reached so far --- */

static void swap(float **x, float **y)
{
    float *old = *x;
    *x = *y;
    *y = old;
}

static void iterate_backward(struct iso_pass *p, size_t at)
{
    const struct iso_model *m = p->m;
    const struct iso_loop_ops *ops = m->arch.loop;
    struct iso_pass_kept *kept = &p->kept;
    struct iso_pass_scratch *g = &p->scratch;
    size_t d = m->dim.d, n = p->in.rows * d;
    int i = p->size.r - p->size.window + (int)at;

    if (ops->update)
        ops->update_bwd(&p->loop, g->dS, g->ds, g->dS_next, kept->S[at], kept->s[at], i);
    else
        p->kern->fill(g->dS, 0, ops->lanes(&p->loop.shape) * n);
    p->kern->fill(g->dx, 0, n);
    p->kern->rmsnorm_bwd(g->dx, p->in.grad + m->params.norm_recur, ops->update ? g->ds : g->dS_next,
                         kept->out[at], m->w + m->params.norm_recur, kept->rstd_rec[at], p->in.rows,
                         d);
    stack_backward(p, iteration_layer(&m->dim, i), m->dim.recur, iteration_acts(p, at));
    ops->inject_bwd(&p->loop, g->de, g->dS, g->dx, kept->e, kept->S[at], i);
    swap(&g->dS, &g->dS_next);
}

/* From the gradient at the coda's input (dx) to that at the prelude's output (de). */
static void loop_backward(struct iso_pass *p)
{
    const struct iso_model *m = p->m;
    const struct iso_loop_ops *ops = m->arch.loop;
    struct iso_pass_scratch *g = &p->scratch;
    size_t n = p->in.rows * m->dim.d;
    p->kern->fill(g->de, 0, n);
    if (ops->pool)
        ops->pool_bwd(&p->loop, g->dS_next, g->dx);
    else
        p->kern->copy(g->dS_next, g->dx, n);
    for (size_t at = (size_t)p->size.window; at-- > 0;)
        iterate_backward(p, at);
    if (p->size.window == p->size.r) /* else the state was detached before the first kept one */
        ops->start_bwd(&p->loop, g->de, g->dS_next);
    if (ops->end_bwd)
        ops->end_bwd(&p->loop, g->de, p->kept.e);
}

static void prelude_backward(struct iso_pass *p)
{
    const struct iso_model *m = p->m;
    struct iso_pass_scratch *g = &p->scratch;
    size_t rows = p->in.rows, d = m->dim.d;
    stack_backward(p, 0, m->dim.prelude, prelude_acts(p));
    p->kern->fill(g->back, 0, rows * d);
    p->kern->rmsnorm_bwd(g->back, p->in.grad + m->params.norm_emb, g->dx, p->kept.embedded,
                         m->w + m->params.norm_emb, p->kept.rstd_emb, rows, d);
    p->kern->scatter_add(p->in.grad + m->params.wte, g->back, p->in.token, rows, d);
}

static void backward(struct iso_pass *p)
{
    const struct iso_dims *dim = &p->m->dim;
    stack_backward(p, coda_layer(dim), dim->coda, iteration_acts(p, (size_t)p->size.window));
    loop_backward(p);
    swap(&p->scratch.dx, &p->scratch.de);
    prelude_backward(p);
}

/* --- entry points --- */

static void set_sequences(struct iso_pass *p, size_t n, size_t T, struct iso_kv *kv)
{
    ISO_ASSERT(n * T <= p->size.n * p->size.T && T <= p->m->positions && T <= p->size.T);
    ISO_ASSERT(!kv || kv->position + T <= kv->longest);
    p->in.n = n;
    p->in.T = T;
    p->in.rows = p->loop.rows = n * T;
    p->in.kv = kv;
    p->in.skip = 0;
    p->in.grad = NULL;
}

static void set_batch(struct iso_pass *p, const struct iso_batch *b)
{
    set_sequences(p, b->n, b->T, b->kv);
    p->in.skip = b->skip;
    for (size_t i = 0; i < b->n; i++) {
        const int32_t *row = b->rows + i * (b->T + 1);
        memcpy(p->in.token + i * b->T, row, b->T * sizeof *row);
        memcpy(p->in.target + i * b->T, row + 1, b->T * sizeof *row);
    }
}

static void set_gradient(struct iso_pass *p, float *grad)
{
    p->in.grad = grad;
    for (int s = 0; s < p->loop.shape.sets; s++)
        for (int i = 0; i < ISO_LOOP_PARAMS; i++) {
            struct iso_loop_set *set = &p->loop.set[s];
            set->dw[i] = set->w[i] ? grad + (set->w[i] - p->m->w) : NULL;
        }
}

double iso_pass_train(struct iso_pass *p, struct iso_batch batch, float scale, float *grad)
{
    set_batch(p, &batch);
    set_gradient(p, grad);
    forward(p);
    iso_head_train(p, scale);
    backward(p);
    double sum = 0;
    for (size_t i = 0; i < p->in.rows; i++)
        sum += (double)p->kept.loss[i];
    return sum;
}

void iso_pass_score(struct iso_pass *p, float *loss, unsigned char *hit, struct iso_batch batch)
{
    set_batch(p, &batch);
    forward(p);
    iso_head_score(p, loss, hit);
}

void iso_pass_logits(struct iso_pass *p, float *z, const int32_t *tokens, size_t n, size_t T)
{
    set_sequences(p, n, T, NULL);
    memcpy(p->in.token, tokens, n * T * sizeof *tokens);
    forward(p);
    iso_head_logits(p, z, 0);
}

void iso_pass_feed(struct iso_pass *p, float *z, struct iso_kv *kv, const int32_t *token, size_t n)
{
    size_t most = iso_kv_at_once(kv, p->size.r, p->size.T);
    for (size_t T; n > 0; n -= T, token += T) {
        T = n < most ? n : most;
        set_sequences(p, 1, T, kv);
        memcpy(p->in.token, token, T * sizeof *token);
        forward(p);
        kv->position += T;
    }
    if (!z)
        return;
    iso_head_logits(p, z, p->in.rows - 1);
    for (size_t i = 0; i < p->m->dim.vocab; i++)
        z[i] = ISO_SOFTCAP * tanhf(z[i] / ISO_SOFTCAP);
}
