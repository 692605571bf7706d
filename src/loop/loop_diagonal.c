/* Diagonal injection (Parcae, Prairie et al., 2026): a decaying state per channel,
 *
 *     u = exp(−Δ⊙A) ⊙ h + Δ ⊙ (B e),   Δ = softplus(δ),  A = exp(a),
 *
 * so that the decay lies in (0, 1) by construction.  B is the identity, or with `matrix: 1` a
 * learned d x d matrix that starts as the identity.  a = δ = 0 at the start: A = 1, Δ = ln 2,
 * decay 1/2.  B e does not change over the iterations and is computed once.
 *
 * The d-vectors a and δ are small, and this file does their arithmetic itself. */
#include "loop/loop.h"

#include "base/fmath.h"

#include <math.h>

enum { LOG_A, DELTA, B_MATRIX };

/* The layout of `saved`. */
struct saved {
    float *decay, *gain;   /* [d] each, of an iteration: e^−ΔA and Δ */
    float *ddecay, *dgain; /* [d] each */
    float *Be, *dBe;       /* [rows, d] each, of all iterations */
};

static struct saved saved_of(const struct iso_loop_pass *p, int i)
{
    size_t d = p->shape.d, n = p->rows * d, sets = (size_t)p->shape.sets;
    float *at = p->saved + 4 * d * ((size_t)i % sets), *Be = p->saved + 4 * d * sets;
    return (struct saved){at, at + d, at + 2 * d, at + 3 * d, Be, Be + n};
}

static size_t saved_floats(const struct iso_loop_shape *s, size_t rows)
{
    return 4 * s->d * (size_t)s->sets + 2 * rows * s->d;
}

static bool has_matrix(const struct iso_loop_shape *s)
{
    return s->opt[0] != 0;
}

static void matrix_shape(size_t dims[3], const struct iso_loop_shape *s)
{
    dims[0] = dims[1] = has_matrix(s) ? s->d : 0;
}

static void matrix_init(float *w, size_t n, const struct iso_loop_shape *s)
{
    for (size_t i = 0; i < n; i++)
        w[i] = i / s->d == i % s->d;
}

static int64_t n_inject(const struct iso_loop_shape *s)
{
    int64_t d = (int64_t)s->d;
    return 2 * d + (has_matrix(s) ? d * d : 0);
}

static double flops_iteration(const struct iso_loop_shape *s)
{
    return 4.0 * (double)s->d;
}

static double flops_once(const struct iso_loop_shape *s)
{
    return has_matrix(s) ? 2.0 * (double)s->d * (double)s->d : 0;
}

static float exp_of(float x)
{
    return (float)iso_exp((double)x);
}

static float softplus(float x)
{
    return x > 20 ? x : (float)iso_log1p(iso_exp((double)x));
}

static double decay_of(const float *const *w, size_t channel)
{
    return iso_exp(-(double)softplus(w[DELTA][channel]) * iso_exp((double)w[LOG_A][channel]));
}

static double decay_mean(const struct iso_loop_set *sets, const struct iso_loop_shape *s)
{
    double sum = 0;
    for (int i = 0; i < s->sets; i++)
        for (size_t c = 0; c < s->d; c++)
            sum += decay_of(sets[i].w, c);
    return sum / ((double)s->sets * (double)s->d);
}

static double decay_max(const struct iso_loop_set *sets, const struct iso_loop_shape *s)
{
    double max = 0;
    for (int i = 0; i < s->sets; i++)
        for (size_t c = 0; c < s->d; c++)
            max = fmax(max, decay_of(sets[i].w, c));
    return max;
}

static void start_set(struct iso_loop_pass *p, int i)
{
    struct saved v = saved_of(p, i);
    const struct iso_loop_set *set = iso_loop_set(p, i);
    for (size_t c = 0; c < p->shape.d; c++) {
        v.gain[c] = softplus(set->w[DELTA][c]);
        v.decay[c] = exp_of(-v.gain[c] * exp_of(set->w[LOG_A][c]));
    }
    p->kern->fill(v.ddecay, 0, 2 * p->shape.d); /* and dgain behind it */
}

static void start(struct iso_loop_pass *p, float *S, const float *e)
{
    struct saved v = saved_of(p, 0);
    size_t d = p->shape.d, n = p->rows * d;
    for (int i = 0; i < p->shape.sets; i++)
        start_set(p, i);
    p->kern->fill(v.dBe, 0, n);
    if (has_matrix(&p->shape))
        p->kern->gemm(v.Be, d, e, d, false, &p->set->forward[B_MATRIX], p->rows, NULL, p->ws);
    else
        p->kern->copy(v.Be, e, n);
    iso_loop_start_copy(p, S, e);
}

static void inject(struct iso_loop_pass *p, float *u, const float *e, const float *S, int i)
{
    (void)e;
    struct saved v = saved_of(p, i);
    size_t d = p->shape.d;
    p->kern->fill(u, 0, p->rows * d);
    p->kern->mul_rows(u, v.decay, S, p->rows, d);
    p->kern->mul_rows(u, v.gain, v.Be, p->rows, d);
}

static void inject_bwd(struct iso_loop_pass *p, float *de, float *dS, const float *du,
                       const float *e, const float *S, int i)
{
    (void)de, (void)e;
    struct saved v = saved_of(p, i);
    size_t d = p->shape.d;
    p->kern->mul_rows(dS, v.decay, du, p->rows, d);
    p->kern->mul_rows(v.dBe, v.gain, du, p->rows, d);
    p->kern->mul_rows_bwd(v.ddecay, du, S, p->rows, d);
    p->kern->mul_rows_bwd(v.dgain, du, v.Be, p->rows, d);
}

/* d(decay)/da = −ΔA·decay;  d(decay)/dΔ = −A·decay;  dΔ/dδ = 1/(1+exp(−δ)). */
static void vector_grads(struct iso_loop_pass *p, int i)
{
    struct saved v = saved_of(p, i);
    const struct iso_loop_set *set = iso_loop_set(p, i);
    for (size_t c = 0; c < p->shape.d; c++) {
        float A = exp_of(set->w[LOG_A][c]), slope = -A * v.decay[c] * v.ddecay[c];
        set->dw[LOG_A][c] += slope * v.gain[c];
        set->dw[DELTA][c] += (v.dgain[c] + slope) / (1 + exp_of(-set->w[DELTA][c]));
    }
}

static void end_bwd(struct iso_loop_pass *p, float *de, const float *e)
{
    struct saved v = saved_of(p, 0);
    size_t d = p->shape.d;
    for (int i = 0; i < p->shape.sets; i++)
        vector_grads(p, i);
    if (!has_matrix(&p->shape)) {
        p->kern->add(de, v.dBe, p->rows * d);
        return;
    }
    p->kern->weight_grad(p->set->dw[B_MATRIX], v.dBe, e, p->packed_scratch, p->rows, d, d, p->ws);
    p->kern->gemm(de, d, v.dBe, d, false, &p->set->reverse[B_MATRIX], p->rows, de, p->ws);
}

const struct iso_loop_ops iso_loop_diagonal = {
    .name = "diagonal",
    .help = "a learned decay of the state per channel, plus the prelude's output",
    .option = {{"matrix", "1: a learned d x d map of the prelude's output, 0: none", 0, 1, 0}},
    .param = {{"inject.a", ISO_GROUP_SCALAR, iso_loop_per_channel, iso_loop_zeros},
              {"inject.delta", ISO_GROUP_SCALAR, iso_loop_per_channel, iso_loop_zeros},
              {"inject.B", ISO_GROUP_MATRIX, matrix_shape, matrix_init}},
    .once = {[B_MATRIX] = true},
    .gauge = {{"decay_mean", decay_mean}, {"decay_max", decay_max}},
    .looped = true,
    .any_depth = true,
    .n_inject = n_inject,
    .flops_iteration = flops_iteration,
    .flops_once = flops_once,
    .lanes = iso_loop_one_lane,
    .saved_floats = saved_floats,
    .start = start,
    .inject = inject,
    .start_bwd = iso_loop_start_copy_bwd,
    .inject_bwd = inject_bwd,
    .end_bwd = end_bwd,
};
