/* The token, capacity and width channels of a change of recipe.
 *
 * Write L(phi, d, D) for the loss of the joint model at width d, and F_b, F_v for the training
 * FLOPs per token of base and variant at a width.  At budget C the base is best at d_b, the
 * variant at d_v.  The way from one optimum to the other is walked in three steps:
 *     token     L(phi_b, d_b, C/F_v(d_b)) - L(phi_b, d_b, C/F_b(d_b))   cheaper tokens
 *     capacity  L(phi_v, d_b, C/F_v(d_b)) - L(phi_b, d_b, C/F_v(d_b))   worth of a recurrence
 *     width     L(phi_v, d_v, C/F_v(d_v)) - L(phi_v, d_b, C/F_v(d_b))   moving to the new optimum
 * They add up to the change of the optimal loss, and the last one is never positive.  In the
 * capacity step the variant's parameters take the place of the base's (they differ when the
 * mechanism has another injection).
 *
 * A generated token costs 2 (N_once + r (N_rec + N_inject)) FLOPs plus attention and output
 * layer, which grow with d alone: a third of the part of the r = 1 runs' training FLOPs that grows
 * with sqrt(N), because non-looped runs always train with full backpropagation. */
#include "fit/channel.h"

#include <math.h>

/* What the walk needs for one r. */
struct pair {
    const struct iso_fit *fit;
    struct iso_flops_curve base, variant;
    double per_width; /* inference FLOPs per unit of width beside the parameters; 0: unknown */
};

/* The variant's size at the width where the base has n parameters. */
static double same_width(const struct pair *p, double n)
{
    const double ratio = p->base.width / p->variant.width;
    return isnan(ratio) ? n : n * ratio * ratio;
}

static double inference(const struct iso_run *run, const struct pair *p)
{
    const double width = isnan(run->d_model) ? 0 : run->d_model;
    return 2 * (run->n_once + run->r * (run->n_rec + run->n_inject)) + p->per_width * width;
}

/* The point of `label`'s curve with the lowest loss. */
static struct iso_run best_run(const struct pair *p, const struct iso_flops_curve *curve,
                               size_t label, double budget)
{
    const struct iso_frontier_point best = iso_frontier_at_label(p->fit, curve, budget, label);
    struct iso_run run = iso_flops_curve_run(curve, best.n_opt, budget);
    run.label = label;
    return run;
}

static struct iso_channel walk(const struct pair *p, double budget)
{
    const struct iso_run from = best_run(p, &p->base, 0, budget);
    const struct iso_run to = best_run(p, &p->variant, 1, budget);
    const double n_b = iso_run_params(&from);
    struct iso_run moved = iso_flops_curve_run(&p->variant, same_width(p, n_b), budget);
    struct iso_run cheaper = from;
    moved.label = 1;
    cheaper.tokens = moved.tokens;
    const double start = iso_fit_loss(p->fit, &from), end = iso_fit_loss(p->fit, &to);
    const double after_tokens = iso_fit_loss(p->fit, &cheaper);
    const double after_capacity = iso_fit_loss(p->fit, &moved);
    return (struct iso_channel){.budget = budget,
                                .r = from.r,
                                .base_loss = start,
                                .variant_loss = end,
                                .change = end - start,
                                .token = after_tokens - start,
                                .capacity = after_capacity - after_tokens,
                                .width = end - after_capacity,
                                .base_n = n_b,
                                .variant_n = iso_run_params(&to),
                                .base_d_model = from.d_model,
                                .variant_d_model = to.d_model,
                                .base_inference = inference(&from, p),
                                .variant_inference = inference(&to, p)};
}

static bool contains(const double *list, size_t n, double x)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == x)
            return true;
    return false;
}

void iso_channels_run(struct iso_variant *v, struct iso_arena *arena, const struct iso_runs *base,
                      const struct iso_runs *variant)
{
    double *budget, *r, *other_r, per_width = 0;
    const size_t n_budgets = iso_runs_budgets(&budget, arena, base);
    const size_t n_r = iso_runs_recurrences(&r, arena, base);
    const size_t n_other = iso_runs_recurrences(&other_r, arena, variant);
    if (n_r > 0 && r[0] == 1) {
        const struct iso_flops_curve plain = iso_flops_curve_of(arena, base, 1);
        per_width = isnan(plain.width) ? 0 : plain.root / plain.width / 3;
    }
    v->channel = iso_arena_alloc(arena, n_budgets * n_r + 1, sizeof *v->channel);
    for (size_t k = 0; k < n_r; k++) {
        if (r[k] <= 1 || !contains(other_r, n_other, r[k]))
            continue;
        const struct pair pair = {&v->joint, iso_flops_curve_of(arena, base, r[k]),
                                  iso_flops_curve_of(arena, variant, r[k]), per_width};
        for (size_t b = 0; b < n_budgets; b++)
            v->channel[v->n_channels++] = walk(&pair, budget[b]);
    }
}
