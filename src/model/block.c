/* One transformer layer, forward and backward:
 *
 *   mid = x + Wo attention(rope_norm(Wqkv norm1(x)));   out = mid + Wdown relu(Wfc norm3(mid))²
 *
 * Norms' outputs and the squared ReLU are computed again in the backward: they cost one pass
 * over what is in the cache anyway, and keeping them would double the memory of a layer. */
#include "model/pass.h"

void iso_weight_grad(struct iso_pass *p, const struct iso_matrix *w, const float *dy,
                     const float *x, size_t rows)
{
    const struct iso_kern *k = p->m->kern;
    struct iso_packed packed = {p->packed, rows, w->in};
    k->pack(&packed, x, w->in, false);
    k->gemm(p->grad + w->offset, w->in, dy, w->out, true, &packed, w->out, 1, &p->ws);
}

/* y[rows, out] = beta y + x Wᵀ. */
static void forward(struct iso_pass *p, float *y, const struct iso_matrix *w, const float *x,
                    float beta)
{
    p->m->kern->gemm(y, w->out, x, w->in, false, &w->forward, p->rows, beta, &p->ws);
}

/* dx[rows, in] = dy W. */
static void reverse(struct iso_pass *p, float *dx, const struct iso_matrix *w, const float *dy)
{
    p->m->kern->gemm(dx, w->in, dy, w->out, false, &w->reverse, p->rows, 0, &p->ws);
}

/* A sequence behind what is in the cache: its keys and values are put there. */
static struct iso_attended behind_cache(struct iso_pass *p, const float *qkv)
{
    const struct iso_kv *kv = p->kv;
    size_t d = (size_t)p->m->arch.d_model;
    float *slot = kv->at + p->slot * kv->longest * 2 * d;
    for (size_t t = 0; t < p->T; t++)
        p->m->kern->copy(slot + (kv->position + t) * 2 * d, qkv + t * 3 * d + d, 2 * d);
    return (struct iso_attended){qkv, slot, 3 * d, 2 * d, kv->position, p->T};
}

static void attend(struct iso_pass *p, struct iso_acts *a)
{
    const struct iso_arch *arch = &p->m->arch;
    size_t d = (size_t)arch->d_model, H = (size_t)arch->n_head, Q = (size_t)arch->head;
    for (size_t i = 0; i < p->n; i++) {
        const float *qkv = a->qkv + i * p->T * 3 * d;
        p->m->kern->attention(a->att + i * p->T * d, a->lse + i * H * p->T,
                              p->kv ? behind_cache(p, qkv) : iso_attend_all(qkv, p->T, d), H, Q,
                              &p->ws);
    }
}

/* y = x, unless a layer without a backward works in place. */
static void carry(struct iso_pass *p, float *y, const float *x)
{
    if (y != x)
        p->m->kern->copy(y, x, p->rows * (size_t)p->m->arch.d_model);
}

void iso_block_forward(struct iso_pass *p, const struct iso_layer *l, struct iso_acts *a,
                       float *out)
{
    const struct iso_model *m = p->m;
    const struct iso_kern *k = m->kern;
    size_t d = (size_t)m->arch.d_model, H = (size_t)m->arch.n_head, Q = (size_t)m->arch.head;
    size_t first = p->kv ? p->kv->position : 0;

    k->rmsnorm(p->norm, a->rstd1, a->x, m->w + l->n1, p->rows, d);
    forward(p, a->qkv, l->qkv, p->norm, 0);
    k->qk_rope_norm(a->qkv, a->qk_rstd, m->cos, m->sin, p->rows, p->T, first, H, Q);
    attend(p, a);
    carry(p, a->mid, a->x);
    forward(p, a->mid, l->proj, a->att, 1);

    k->rmsnorm(p->norm, a->rstd3, a->mid, m->w + l->n3, p->rows, d);
    forward(p, a->relu, l->fc, p->norm, 0);
    k->relu2(p->wide, a->relu, p->rows * 4 * d);
    carry(p, out, a->mid);
    forward(p, out, l->down, p->wide, 1);
}

static void mlp_backward(struct iso_pass *p, const struct iso_layer *l, struct iso_acts *a)
{
    const struct iso_model *m = p->m;
    const struct iso_kern *k = m->kern;
    size_t d = (size_t)m->arch.d_model;

    k->relu2(p->wide, a->relu, p->rows * 4 * d);
    iso_weight_grad(p, l->down, p->dx, p->wide, p->rows);
    reverse(p, p->wide, l->down, p->dx);
    k->relu2_bwd(p->wide, p->wide, a->relu, p->rows * 4 * d);

    k->rmsnorm(p->norm, a->rstd3, a->mid, m->w + l->n3, p->rows, d);
    iso_weight_grad(p, l->fc, p->wide, p->norm, p->rows);
    reverse(p, p->back, l->fc, p->wide);
    k->rmsnorm_bwd(p->dx, p->grad + l->n3, p->back, a->mid, m->w + l->n3, a->rstd3, p->rows, d);
}

static void attention_backward(struct iso_pass *p, const struct iso_layer *l, struct iso_acts *a)
{
    const struct iso_model *m = p->m;
    const struct iso_kern *k = m->kern;
    size_t d = (size_t)m->arch.d_model, H = (size_t)m->arch.n_head, Q = (size_t)m->arch.head;
    float *dqkv = p->wide;

    iso_weight_grad(p, l->proj, p->dx, a->att, p->rows);
    reverse(p, p->back, l->proj, p->dx);
    for (size_t i = 0; i < p->n; i++)
        k->attention_bwd(dqkv + i * p->T * 3 * d, p->back + i * p->T * d, a->att + i * p->T * d,
                         a->lse + i * H * p->T, a->qkv + i * p->T * 3 * d, p->T, H, Q, &p->ws);
    k->qk_rope_norm_bwd(dqkv, a->qkv, a->qk_rstd, m->cos, m->sin, p->rows, p->T, 0, H, Q);

    k->rmsnorm(p->norm, a->rstd1, a->x, m->w + l->n1, p->rows, d);
    iso_weight_grad(p, l->qkv, dqkv, p->norm, p->rows);
    reverse(p, p->back, l->qkv, dqkv);
    k->rmsnorm_bwd(p->dx, p->grad + l->n1, p->back, a->x, m->w + l->n1, a->rstd1, p->rows, d);
}

void iso_block_backward(struct iso_pass *p, const struct iso_layer *l, struct iso_acts *a)
{
    mlp_backward(p, l, a);
    attention_backward(p, l, a);
}
