/* Learning rates and their transfer over width, batch and training horizon (HyperP and muP):
 *
 *     matrix           base · (B/B_ref)^b · (D/D_ref)^t
 *     embed, head      base · (B/B_ref)^b · (d/d_ref)^w
 *     norm, scalar     base · (d/d_ref)^w
 *
 * with b = 0.558, t = −0.32, w = −0.5.  D_ref = tokens_per_param x the executed parameters of a
 * reference model of width d_ref: the plain stack for r = 1, the linear loop with looped_r
 * iterations for every looped model.  The reference has the depth of the model and is only counted,
 * not built, so looped_r need not divide its layers, nor the head its width. */
#ifndef ISO_PLAN_RATES_H
#define ISO_PLAN_RATES_H

#include "base/settings.h"
#include "plan/arch.h"

/* A rate for each group; iso_rates_keys[group].name is the group's name. */
struct iso_rates {
    double of[ISO_N_GROUP];
};

struct iso_transfer {
    int64_t width, batch_tokens, looped_r;
    double tokens_per_param;
    double batch_exponent, data_exponent, width_exponent;
};

extern const struct iso_key iso_rates_keys[], iso_transfer_keys[];
extern const struct iso_rates iso_rates_paper;       /* the paper's base rates */
extern const struct iso_transfer iso_transfer_paper; /* and its reference */

/* D_ref for a model like `a`, which is built: of its depth, prelude and coda. */
double iso_transfer_tokens(const struct iso_transfer *t, const struct iso_arch *a);
/* The rates of a run of `tokens` tokens in batches of `batch`. */
struct iso_rates iso_rates_transfer(const struct iso_rates *base, const struct iso_transfer *t,
                                    const struct iso_arch *a, double batch, double tokens);

#endif
