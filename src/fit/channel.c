/* The token, capacity and width channels of a change of recipe.
 *
 * Write L_b(d, D) and L_v(d, D) for the losses that the laws of base and variant give at width d,
 * and F_b, F_v for the training FLOPs per token at a width.  At budget C the base is best at d_b,
 * the variant at d_v.  The way from one optimum to the other has three steps:
 *     token     L_b(d_b, C/F_v(d_b)) - L_b(d_b, C/F_b(d_b))   cheaper tokens
 *     capacity  L_v(d_b, C/F_v(d_b)) - L_b(d_b, C/F_v(d_b))   worth of a recurrence
 *     width     L_v(d_v, C/F_v(d_v)) - L_v(d_b, C/F_v(d_b))   moving to the new optimum
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
    const struct iso_fit *base_fit, *variant_fit;
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

/* The point of a curve with the lowest loss. */
static struct iso_run best_run(const struct iso_fit *fit, const struct iso_flops_curve *curve,
                               double budget)
{
    return iso_flops_curve_run(curve, iso_frontier_at(fit, curve, budget).n_opt, budget);
}

static struct iso_channel walk(const struct pair *p, double budget)
{
    const struct iso_run from = best_run(p->base_fit, &p->base, budget);
    const struct iso_run to = best_run(p->variant_fit, &p->variant, budget);
    const double n_b = iso_run_params(&from);
    const struct iso_run moved = iso_flops_curve_run(&p->variant, same_width(p, n_b), budget);
    struct iso_run cheaper = from;
    cheaper.tokens = moved.tokens;
    const double start = iso_fit_loss(p->base_fit, &from), end = iso_fit_loss(p->variant_fit, &to);
    const double after_tokens = iso_fit_loss(p->base_fit, &cheaper);
    const double after_capacity = iso_fit_loss(p->variant_fit, &moved);
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
                                .variant_inference = inference(&to, p),
                                .best = from,
                                .cheaper = cheaper};
}

static bool contains(const double *list, size_t n, double x)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == x)
            return true;
    return false;
}

/* The mean over budgets and recurrences; NaN when there is none. */
static void take_means(struct iso_delta *d)
{
    const double n = (double)d->n_channels;
    d->change = d->token = d->capacity = d->width = d->inference_change = n > 0 ? 0 : NAN;
    for (size_t i = 0; i < d->n_channels; i++) {
        const struct iso_channel *c = &d->channel[i];
        d->change += c->change / n;
        d->token += c->token / n;
        d->capacity += c->capacity / n;
        d->width += c->width / n;
        d->inference_change += (c->variant_inference / c->base_inference - 1) / n;
    }
}

void iso_channels_run(struct iso_delta *d, struct iso_arena *arena, const struct iso_runs *base,
                      const struct iso_runs *variant, const struct iso_fit *base_fit,
                      const struct iso_fit *variant_fit)
{
    double *budget, *r, *other_r, per_width = 0;
    const size_t n_budgets = iso_runs_budgets(&budget, arena, base);
    const size_t n_r = iso_runs_recurrences(&r, arena, base);
    const size_t n_other = iso_runs_recurrences(&other_r, arena, variant);
    if (n_r > 0 && r[0] == 1) {
        const struct iso_flops_curve plain = iso_flops_curve_of(arena, base, 1);
        per_width = isnan(plain.width) ? 0 : plain.root / plain.width / 3;
    }
    d->channel = iso_arena_alloc(arena, n_budgets * n_r + 1, sizeof *d->channel);
    for (size_t k = 0; k < n_r && !isnan(variant_fit->phi); k++) {
        if (r[k] <= 1 || !contains(other_r, n_other, r[k]))
            continue;
        const struct pair pair = {base_fit, variant_fit, iso_flops_curve_of(arena, base, r[k]),
                                  iso_flops_curve_of(arena, variant, r[k]), per_width};
        for (size_t b = 0; b < n_budgets; b++)
            d->channel[d->n_channels++] = walk(&pair, budget[b]);
    }
    take_means(d);
}

double iso_channels_token(const struct iso_delta *d, const struct iso_fit *base_fit)
{
    double sum = 0;
    for (size_t i = 0; i < d->n_channels; i++)
        sum += iso_fit_loss(base_fit, &d->channel[i].cheaper) -
               iso_fit_loss(base_fit, &d->channel[i].best);
    return sum / (double)d->n_channels;
}
