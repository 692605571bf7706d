/* Synthetic studies for the tests of src/fit: the paper's grid with losses from a known law.
 *
 * FLOPs per token are written out here from spec section 2, on purpose apart from src/plan. */
#ifndef ISO_TESTS_FIT_SYNTH_H
#define ISO_TESTS_FIT_SYNTH_H

#include "base/rng.h"
#include "fit/runs.h"

#include <math.h>
#include <stdlib.h>

struct synth_law {
    double A, alpha, B, beta, E, phi;
};

/* Rounded coefficients of the paper's joint fit. */
static const struct synth_law synth_paper = {28.0, 0.199, 900.0, 0.369, 1.57, 0.46};

struct synth {
    struct synth_law law;
    double run_noise, cell_noise; /* sd of ln L */
    uint64_t seed;
    int n_budgets;      /* of the paper's six, from the lowest */
    bool looped_only;   /* leave out r = 1 */
    double flops_share; /* of the recurrent part (below 1: truncated backpropagation) */
    int repeats;        /* seeds of every point; 0 means 1 */
    double wider;       /* factor on the paper's widths; 0 means 1 */
};

static const double synth_budget[6] = {4.64e17, 1e18, 2.15e18, 4.64e18, 1e19, 2.15e19};
static const int synth_width[6][7] = {{6, 8, 10, 12, 0},       {6, 8, 10, 12, 14, 0},
                                      {8, 10, 12, 14, 16, 0},  {10, 12, 14, 16, 18, 20, 0},
                                      {12, 16, 18, 20, 24, 0}, {18, 24, 28, 34, 0}};

static inline double synth_flops(double d, int r, double share)
{
    const double block = 12 * d * d;
    const double once = r == 1 ? 20 * block : 4 * block, rec = r == 1 ? 0 : 16.0 / r * block;
    const double inject = r == 1 ? 0 : 2 * d * d;
    return 6 * once + share * 6 * r * (rec + inject) + 12 * d * 2048 * 20 + 6 * d * 32064;
}

/* Loss of the law at width d, recurrences r and tokens. */
static inline double synth_loss(const struct synth_law *law, double d, int r, double tokens)
{
    const double block = 12 * d * d;
    const double n_eff =
        r == 1 ? 20 * block : 4 * block + 2 * d * d + pow(r, law->phi) * 16.0 / r * block;
    return law->E + law->A * pow(n_eff, -law->alpha) + law->B * pow(tokens, -law->beta);
}

static inline void synth_rows(struct iso_str *csv, const struct synth *s)
{
    static const int recurrences[4] = {1, 2, 4, 8};
    iso_str_puts(csv, "budget,s,r,d_model,n_once,n_rec,n_inject,tokens,loss,seed\n");
    struct iso_rng rng = {s->seed, iso_rng_stream("synth", 0), 0};
    for (int b = 0; b < (s->n_budgets ? s->n_budgets : 6); b++)
        for (int k = s->looped_only; k < 4; k++) {
            const double cell = s->cell_noise * iso_rng_normal(&rng);
            for (int i = 0; synth_width[b][i]; i++) {
                const int r = recurrences[k];
                const int width = (int)(64 * synth_width[b][i] * (s->wider > 0 ? s->wider : 1));
                const double d = width, block = 12 * d * d;
                const double once = r == 1 ? 20 * block : 4 * block;
                const double rec = r == 1 ? 0 : 16.0 / r * block, inject = r == 1 ? 0 : 2 * d * d;
                const double share = s->flops_share > 0 ? s->flops_share : 1;
                const double tokens = floor(synth_budget[b] / synth_flops(d, r, share));
                const double loss = synth_loss(&s->law, d, r, tokens);
                for (int seed = 0; seed < (s->repeats ? s->repeats : 1); seed++) {
                    const double noise = cell + s->run_noise * iso_rng_normal(&rng);
                    iso_str_printf(csv, "%.17g,%d,%d,%d,%.17g,%.17g,%.17g,%.17g,%.17g,%d\n",
                                   synth_budget[b], synth_width[b][i], r, width, once, rec, inject,
                                   tokens, loss * exp(noise), seed);
                }
            }
        }
}

/* Fills an empty table. */
static inline void synth_runs(struct iso_runs *runs, const struct synth *s)
{
    struct iso_str csv = {0};
    struct iso_err err;
    *runs = (struct iso_runs){0};
    synth_rows(&csv, s);
    if (iso_runs_add(runs, csv.text, csv.len, "synthetic", NULL, &err) != ISO_OK ||
        iso_runs_finish(runs, &err) != ISO_OK)
        abort();
    iso_str_release(&csv);
}

#endif
