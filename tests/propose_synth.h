/* Models that could be trained, for the tests of fit/propose.h: ten executed layers, T = 128,
 * V = 2048, counted as spec section 2 does and on purpose apart from src/plan; all at 50 GFLOP/s.
 */
#ifndef ISO_TESTS_PROPOSE_SYNTH_H
#define ISO_TESTS_PROPOSE_SYNTH_H

#include "fit/propose.h"

enum { N_R = 4, N_WIDTHS = 128 };

static inline void synth_candidates(struct iso_candidate *out)
{
    static const double recurrences[N_R] = {1, 2, 4, 8};
    for (size_t k = 0; k < N_R; k++)
        for (size_t i = 0; i < N_WIDTHS; i++) {
            const double r = recurrences[k], d = 8 * (double)(i + 1), block = 12 * d * d;
            struct iso_candidate *m = &out[k * N_WIDTHS + i];
            *m = (struct iso_candidate){.r = r, .d_model = d, .n_embed = 2 * 2048 * d};
            m->n_once = r == 1 ? 10 * block : 2 * block;
            m->n_rec = r == 1 ? 0 : 8 / r * block;
            m->n_inject = r == 1 ? 0 : 2 * d * d;
            m->flops =
                6 * m->n_once + 6 * r * (m->n_rec + m->n_inject) + 12 * d * 128 * 10 + 6 * d * 2048;
            m->seconds = m->flops / 50e9;
        }
}

/* Two runs at once for some hours. */
static inline struct iso_propose_need synth_need(const struct iso_candidate *candidates,
                                                 const struct iso_power_options *law, double hours,
                                                 double tokens)
{
    return (struct iso_propose_need){.law = law,
                                     .candidate = candidates,
                                     .n_candidate = N_R * N_WIDTHS,
                                     .hours = hours,
                                     .at_once = 2,
                                     .tokens = tokens,
                                     .validation_tokens = 75e3,
                                     .seq_len = 128};
}

#endif
