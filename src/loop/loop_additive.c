/* Additive injection: u = h + e with h = 0 at the start, so the first iteration sees e. */
#include "loop/loop.h"

static void start(struct iso_loop_pass *p, float *S, const float *e)
{
    (void)e;
    p->kern->fill(S, 0, p->rows * p->shape.d);
}

static void start_bwd(struct iso_loop_pass *p, float *de, const float *dS)
{
    (void)p, (void)de, (void)dS; /* the start is a constant */
}

static void inject(struct iso_loop_pass *p, float *u, const float *e, const float *S, int i)
{
    (void)i;
    p->kern->copy(u, S, p->rows * p->shape.d);
    p->kern->add(u, e, p->rows * p->shape.d);
}

static void inject_bwd(struct iso_loop_pass *p, float *de, float *dS, const float *du,
                       const float *e, const float *S, int i)
{
    (void)e, (void)S, (void)i;
    p->kern->add(de, du, p->rows * p->shape.d);
    p->kern->add(dS, du, p->rows * p->shape.d);
}

const struct iso_loop_ops iso_loop_additive = {
    .name = "additive",
    .help = "the prelude's output is added before every iteration",
    .looped = true,
    .any_depth = true,
    .n_inject = iso_loop_no_params,
    .flops_iteration = iso_loop_no_flops,
    .flops_once = iso_loop_no_flops,
    .lanes = iso_loop_one_lane,
    .start = start,
    .inject = inject,
    .start_bwd = start_bwd,
    .inject_bwd = inject_bwd,
};
