/* Hyperconnections at the loop boundary (Zhu et al., 2025; the paper's section 5.2): K lanes,
 * mixed at every iteration i by its own scalars.
 *
 *     u = Σ_k α[i,k] lane_k;   lane_k ← Σ_j M[i,k,j] lane_j + β[i,k] s;   h = Σ_k lane_k
 *
 * All lanes start as e; α[i] = one-hot(i mod K), M[i] = I, β[i] = 1.  The scalars of an
 * iteration get a gradient only when that iteration is in the backward, hence full BPTT only.
 * They are r(K²+2K) numbers, which this file reads itself. */
#include "loop/loop.h"

enum { ALPHA, MIXING, BETA };

static size_t lanes(const struct iso_loop_shape *s)
{
    return (size_t)s->opt[0];
}

static void vector_shape(size_t dims[3], const struct iso_loop_shape *s)
{
    dims[0] = (size_t)s->r;
    dims[1] = lanes(s);
}

static void mixing_shape(size_t dims[3], const struct iso_loop_shape *s)
{
    dims[0] = (size_t)s->r;
    dims[1] = dims[2] = lanes(s);
}

/* Row i of [..., K] is one-hot(i mod K): that is α, and with [r, K, K] it is M[i] = I. */
static void one_hot_rows(float *w, size_t n, const struct iso_loop_shape *s)
{
    size_t K = lanes(s);
    for (size_t i = 0; i < n; i++)
        w[i] = i / K % K == i % K;
}

static double flops_iteration(const struct iso_loop_shape *s)
{
    double K = (double)lanes(s);
    return 2 * (K * K + 2 * K) * (double)s->d;
}

static void start(struct iso_loop_pass *p, float *S, const float *e)
{
    size_t n = p->rows * p->shape.d;
    for (size_t k = 0; k < lanes(&p->shape); k++)
        p->kern->copy(S + k * n, e, n);
}

static void start_bwd(struct iso_loop_pass *p, float *de, const float *dS)
{
    size_t n = p->rows * p->shape.d;
    for (size_t k = 0; k < lanes(&p->shape); k++)
        p->kern->add(de, dS + k * n, n);
}

static void inject(struct iso_loop_pass *p, float *u, const float *e, const float *S, int i)
{
    (void)e;
    size_t n = p->rows * p->shape.d, K = lanes(&p->shape);
    const float *alpha = iso_loop_set(p, i)->w[ALPHA] + (size_t)i * K;
    p->kern->scale(u, alpha[0], S, n);
    for (size_t k = 1; k < K; k++)
        p->kern->axpy(u, alpha[k], S + k * n, n);
}

static void inject_bwd(struct iso_loop_pass *p, float *de, float *dS, const float *du,
                       const float *e, const float *S, int i)
{
    (void)de, (void)e;
    size_t n = p->rows * p->shape.d, K = lanes(&p->shape);
    const float *alpha = iso_loop_set(p, i)->w[ALPHA] + (size_t)i * K;
    float *dalpha = iso_loop_set(p, i)->dw[ALPHA] + (size_t)i * K;
    for (size_t k = 0; k < K; k++) {
        dalpha[k] += (float)p->kern->dot(du, S + k * n, n);
        p->kern->axpy(dS + k * n, alpha[k], du, n);
    }
}

static void update(struct iso_loop_pass *p, float *S_next, const float *S, const float *s, int i)
{
    size_t n = p->rows * p->shape.d, K = lanes(&p->shape);
    const float *mixing = iso_loop_set(p, i)->w[MIXING] + (size_t)i * K * K,
                *beta = iso_loop_set(p, i)->w[BETA] + (size_t)i * K;
    for (size_t k = 0; k < K; k++) {
        p->kern->scale(S_next + k * n, beta[k], s, n);
        for (size_t j = 0; j < K; j++)
            p->kern->axpy(S_next + k * n, mixing[k * K + j], S + j * n, n);
    }
}

static void update_bwd(struct iso_loop_pass *p, float *dS, float *ds, const float *dS_next,
                       const float *S, const float *s, int i)
{
    size_t n = p->rows * p->shape.d, K = lanes(&p->shape);
    const float *mixing = iso_loop_set(p, i)->w[MIXING] + (size_t)i * K * K,
                *beta = iso_loop_set(p, i)->w[BETA] + (size_t)i * K;
    float *dmixing = iso_loop_set(p, i)->dw[MIXING] + (size_t)i * K * K,
          *dbeta = iso_loop_set(p, i)->dw[BETA] + (size_t)i * K;
    p->kern->fill(dS, 0, K * n);
    p->kern->fill(ds, 0, n);
    for (size_t k = 0; k < K; k++) {
        const float *dnext = dS_next + k * n;
        dbeta[k] += (float)p->kern->dot(dnext, s, n);
        p->kern->axpy(ds, beta[k], dnext, n);
        for (size_t j = 0; j < K; j++) {
            dmixing[k * K + j] += (float)p->kern->dot(dnext, S + j * n, n);
            p->kern->axpy(dS + j * n, mixing[k * K + j], dnext, n);
        }
    }
}

static void pool(struct iso_loop_pass *p, float *h, const float *S)
{
    size_t n = p->rows * p->shape.d;
    p->kern->copy(h, S, n);
    for (size_t k = 1; k < lanes(&p->shape); k++)
        p->kern->add(h, S + k * n, n);
}

static void pool_bwd(struct iso_loop_pass *p, float *dS, const float *dh)
{
    size_t n = p->rows * p->shape.d;
    for (size_t k = 0; k < lanes(&p->shape); k++)
        p->kern->copy(dS + k * n, dh, n);
}

const struct iso_loop_ops iso_loop_hyper = {
    .name = "hyper",
    .help = "hyperconnections: parallel lanes, mixed at every iteration",
    .option = {{"lanes", "parallel residual lanes", 2, 16, 2}},
    .param = {{"lane_alpha", ISO_GROUP_SCALAR, vector_shape, one_hot_rows},
              {"lane_mixing", ISO_GROUP_SCALAR, mixing_shape, one_hot_rows},
              {"lane_beta", ISO_GROUP_SCALAR, vector_shape, iso_loop_ones}},
    .once = {true, true, true},
    .looped = true,
    .full_bptt_only = true,
    .n_inject = iso_loop_no_params, /* a handful of scalars: no term of N, by definition */
    .flops_iteration = flops_iteration,
    .flops_once = iso_loop_no_flops,
    .lanes = lanes,
    .start = start,
    .inject = inject,
    .update = update,
    .pool = pool,
    .start_bwd = start_bwd,
    .inject_bwd = inject_bwd,
    .update_bwd = update_bwd,
    .pool_bwd = pool_bwd,
};
