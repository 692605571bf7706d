/* Passthrough: u = h, nothing is injected; the state starts as the prelude's output.  The first
 * iteration is the prelude's only way to the loss, hence full BPTT only.  With one iteration of all
 * layers this is the plain stack, the `none` row. */
#include "loop/loop.h"

static void inject(struct iso_loop_pass *p, float *u, const float *e, const float *S, int i)
{
    (void)e, (void)i;
    p->kern->copy(u, S, p->rows * p->shape.d);
}

static void inject_bwd(struct iso_loop_pass *p, float *de, float *dS, const float *du,
                       const float *e, const float *S, int i)
{
    (void)de, (void)e, (void)S, (void)i;
    p->kern->add(dS, du, p->rows * p->shape.d);
}

const struct iso_loop_ops iso_loop_passthrough = {
    .name = "passthrough",
    .help = "no injection: the block's output is its next input",
    .looped = true,
    .full_bptt_only = true,
    .any_depth = true,
    .n_inject = iso_loop_no_params,
    .flops_iteration = iso_loop_no_flops,
    .flops_once = iso_loop_no_flops,
    .lanes = iso_loop_one_lane,
    .start = iso_loop_start_copy,
    .inject = inject,
    .start_bwd = iso_loop_start_copy_bwd,
    .inject_bwd = inject_bwd,
};

const struct iso_loop_ops iso_loop_none = {
    .name = "none",
    .help = "the plain stack: one iteration of unshared layers (r = 1)",
    .looped = false,
    .n_inject = iso_loop_no_params,
    .flops_iteration = iso_loop_no_flops,
    .flops_once = iso_loop_no_flops,
    .lanes = iso_loop_one_lane,
    .start = iso_loop_start_copy,
    .inject = inject,
    .start_bwd = iso_loop_start_copy_bwd,
    .inject_bwd = inject_bwd,
};
