/* AdamW without weight decay (Loshchilov & Hutter, 2019), β = 0.8/0.95, eps 1e-10:
 *
 *   m ← β₁m + (1−β₁)g;  v ← β₂v + (1−β₂)g²;  w ← w − η m̂/(√v̂ + eps)
 *   with m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ), t from 1. */
#include "optim/optim.h"

#include "base/fmath.h"

#define BETA1 0.8
#define BETA2 0.95
#define EPS   1e-10f

static void step(const struct iso_update *u)
{
    double t = (double)u->t + 1, c1 = 1 / (1 - iso_pow(BETA1, t)), c2 = 1 / (1 - iso_pow(BETA2, t));
    u->kern->adamw(u->w, u->state[0], u->state[1], u->g, u->n, (float)u->rate, (float)BETA1,
                   (float)BETA2, EPS, (float)c1, (float)c2);
}

const struct iso_optimiser iso_optimiser_adamw = {
    .name = "adamw",
    .state = {{.name = "m1"}, {.name = "m2"}},
    .step = step,
};
