/* AdamW without weight decay (Loshchilov & Hutter, 2019), β = 0.8/0.95, eps 1e-10:
 *
 *   m ← β₁m + (1−β₁)g;  v ← β₂v + (1−β₂)g²;  w ← w − η m̂/(√v̂ + eps)
 *   with m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ), t from 1. */
#include "optim/optim.h"

#include <math.h>

#define BETA1 0.8
#define BETA2 0.95
#define EPS   1e-10f

void iso_adamw(const struct iso_kern *kern, float *w, float *m1, float *m2, const float *g,
               size_t n, int64_t t, double rate)
{
    double c1 = 1 / (1 - pow(BETA1, (double)t + 1)), c2 = 1 / (1 - pow(BETA2, (double)t + 1));
    kern->adamw(w, m1, m2, g, n, (float)rate, (float)BETA1, (float)BETA2, EPS, (float)c1,
                (float)c2);
}
