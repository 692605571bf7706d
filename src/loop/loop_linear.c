/* Linear injection: u = W [e ‖ h], W is d x 2d and starts as [I ‖ 0], so u = e at first
 * (Geiping et al., 2025).  The default of the paper.
 *
 * Both halves share one product: [e ‖ h] is side by side in `saved`, of which only the
 * h half changes from one iteration to the next. */
#include "loop/loop.h"

static void weight_shape(size_t dims[3], const struct iso_loop_shape *s)
{
    dims[0] = s->d;
    dims[1] = 2 * s->d;
}

static void weight_init(float *w, size_t n, const struct iso_loop_shape *s)
{
    for (size_t i = 0; i < n; i++)
        w[i] = i / (2 * s->d) == i % (2 * s->d);
}

static int64_t n_inject(const struct iso_loop_shape *s)
{
    return 2 * (int64_t)s->d * (int64_t)s->d;
}

static double flops_iteration(const struct iso_loop_shape *s)
{
    return 2.0 * (double)n_inject(s);
}

/* saved: [e ‖ h] and its gradient, [rows, 2d] each. */
static size_t saved_floats(const struct iso_loop_shape *s, size_t rows)
{
    return 2 * rows * 2 * s->d;
}

static void put_half(struct iso_loop_pass *p, const float *x, size_t half)
{
    size_t d = p->shape.d;
    for (size_t m = 0; m < p->rows; m++)
        p->kern->copy(p->saved + (2 * m + half) * d, x + m * d, d);
}

static void start(struct iso_loop_pass *p, float *S, const float *e)
{
    put_half(p, e, 0);
    iso_loop_start_copy(p, S, e);
}

static void inject(struct iso_loop_pass *p, float *u, const float *e, const float *S, int i)
{
    (void)e;
    put_half(p, S, 1);
    p->kern->gemm(u, p->shape.d, p->saved, 2 * p->shape.d, false, &iso_loop_set(p, i)->forward[0],
                  p->rows, NULL, p->ws);
}

static void inject_bwd(struct iso_loop_pass *p, float *de, float *dS, const float *du,
                       const float *e, const float *S, int i)
{
    (void)e;
    const struct iso_kern *k = p->kern;
    const struct iso_loop_set *set = iso_loop_set(p, i);
    size_t d = p->shape.d;
    float *both = p->saved, *dboth = p->saved + p->rows * 2 * d;
    put_half(p, S, 1);

    k->weight_grad(set->dw[0], du, both, p->packed_scratch, p->rows, d, 2 * d, p->ws);
    k->gemm(dboth, 2 * d, du, d, false, &set->reverse[0], p->rows, NULL, p->ws);
    for (size_t m = 0; m < p->rows; m++) {
        k->add(de + m * d, dboth + 2 * m * d, d);
        k->add(dS + m * d, dboth + (2 * m + 1) * d, d);
    }
}

const struct iso_loop_ops iso_loop_linear = {
    .name = "linear",
    .help = "a learned linear map of [prelude output, state] before every iteration",
    .param = {{"inject.weight", ISO_GROUP_MATRIX, weight_shape, weight_init}},
    .looped = true,
    .any_depth = true,
    .n_inject = n_inject,
    .flops_iteration = flops_iteration,
    .flops_once = iso_loop_no_flops,
    .lanes = iso_loop_one_lane,
    .saved_floats = saved_floats,
    .start = start,
    .inject = inject,
    .start_bwd = iso_loop_start_copy_bwd,
    .inject_bwd = inject_bwd,
};
