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
    p->kern->weight_grad(p->in.grad + w->offset, dy, x, p->scratch.packed, rows, w->out, w->in,
                         &p->ws);
}

/* y[rows, out] = plus + x Wᵀ, where a `plus` of NULL counts as zeros. */
static void forward(struct iso_pass *p, float *y, const struct iso_matrix *w, const float *x,
                    const float *plus)
{
    p->kern->gemm(y, w->out, x, w->in, false, &w->forward, p->in.rows, plus, &p->ws);
}

/* dx[rows, in] = dy W. */
static void reverse(struct iso_pass *p, float *dx, const struct iso_matrix *w, const float *dy)
{
    p->kern->gemm(dx, w->in, dy, w->out, false, &w->reverse, p->in.rows, NULL, &p->ws);
}

static void attend(struct iso_pass *p, struct iso_acts *a, size_t slot)
{
    const struct iso_model *m = p->m;
    size_t d = m->dim.d, H = m->dim.H, T = p->in.T;
    for (size_t i = 0; i < p->in.n; i++) {
        const float *qkv = a->qkv + i * T * 3 * d;
        struct iso_attended x =
            p->in.kv ? iso_kv_put(p->in.kv, m, slot, qkv, T) : iso_attend_all(qkv, T, d);
        p->kern->attention(a->att + i * T * d, a->lse + i * H * T, x, iso_all_heads(H, m->dim.Q),
                           &p->ws);
    }
}

void iso_block_forward(struct iso_pass *p, const struct iso_layer *l, struct iso_acts *a,
                       float *out, size_t slot)
{
    const struct iso_model *m = p->m;
    const struct iso_kern *k = p->kern;
    size_t d = m->dim.d, first = p->in.kv ? p->in.kv->position : 0;

    k->rmsnorm(p->scratch.norm, a->rstd1, a->x, m->w + l->n1, p->in.rows, d);
    forward(p, a->qkv, l->qkv, p->scratch.norm, NULL);
    k->qk_rope_norm(a->qkv, a->qk_rstd, m->cos, m->sin, p->in.rows, p->in.T, first, m->dim.H,
                    m->dim.Q);
    attend(p, a, slot);
    forward(p, a->mid, l->proj, a->att, a->x);

    k->rmsnorm(p->scratch.norm, a->rstd3, a->mid, m->w + l->n3, p->in.rows, d);
    forward(p, a->hidden, l->fc, p->scratch.norm, NULL);
    k->relu2(p->scratch.wide, a->hidden, p->in.rows * 4 * d);
    forward(p, out, l->down, p->scratch.wide, a->mid);
}

static void mlp_backward(struct iso_pass *p, const struct iso_layer *l, struct iso_acts *a)
{
    const struct iso_model *m = p->m;
    const struct iso_kern *k = p->kern;
    size_t d = m->dim.d;

    k->relu2(p->scratch.wide, a->hidden, p->in.rows * 4 * d);
    iso_weight_grad(p, l->down, p->scratch.dx, p->scratch.wide, p->in.rows);
    reverse(p, p->scratch.wide, l->down, p->scratch.dx);
    k->relu2_bwd(p->scratch.wide, p->scratch.wide, a->hidden, p->in.rows * 4 * d);

    k->rmsnorm(p->scratch.norm, a->rstd3, a->mid, m->w + l->n3, p->in.rows, d);
    iso_weight_grad(p, l->fc, p->scratch.wide, p->scratch.norm, p->in.rows);
    reverse(p, p->scratch.back, l->fc, p->scratch.wide);
    k->rmsnorm_bwd(p->scratch.dx, p->in.grad + l->n3, p->scratch.back, a->mid, m->w + l->n3,
                   a->rstd3, p->in.rows, d);
}

static void attention_backward(struct iso_pass *p, const struct iso_layer *l, struct iso_acts *a)
{
    const struct iso_model *m = p->m;
    const struct iso_kern *k = p->kern;
    size_t d = m->dim.d, H = m->dim.H, Q = m->dim.Q, T = p->in.T;
    float *dqkv = p->scratch.wide;

    iso_weight_grad(p, l->proj, p->scratch.dx, a->att, p->in.rows);
    reverse(p, p->scratch.back, l->proj, p->scratch.dx);
    for (size_t i = 0; i < p->in.n; i++)
        k->attention_bwd(dqkv + i * T * 3 * d, p->scratch.back + i * T * d, a->att + i * T * d,
                         a->lse + i * H * T, a->qkv + i * T * 3 * d, T, iso_all_heads(H, Q),
                         &p->ws);
    k->qk_rope_norm_bwd(dqkv, a->qkv, a->qk_rstd, m->cos, m->sin, p->in.rows, T, 0, H, Q);

    k->rmsnorm(p->scratch.norm, a->rstd1, a->x, m->w + l->n1, p->in.rows, d);
    iso_weight_grad(p, l->qkv, dqkv, p->scratch.norm, p->in.rows);
    reverse(p, p->scratch.back, l->qkv, dqkv);
    k->rmsnorm_bwd(p->scratch.dx, p->in.grad + l->n1, p->scratch.back, a->x, m->w + l->n1, a->rstd1,
                   p->in.rows, d);
}

void iso_block_backward(struct iso_pass *p, const struct iso_layer *l, struct iso_acts *a)
{
    mlp_backward(p, l, a);
    attention_backward(p, l, a);
}
