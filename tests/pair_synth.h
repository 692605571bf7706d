/* Simulated pairs of recipes for the tests of compare: the paper's grid and its first case study
 * (truncated backpropagation, which buys about 30 % more tokens) on the four lower budgets, with
 * losses from known laws.  The variant has no r = 1 runs of its own.
 *
 * Widths and FLOPs are those of grids/paper.yaml and grids/paper_truncated.yaml, written out here
 * on purpose apart from src/plan. */
#ifndef ISO_TESTS_PAIR_SYNTH_H
#define ISO_TESTS_PAIR_SYNTH_H

#include "base/parallel.h"
#include "fit/compare.h"
#include "fit_synth.h"

struct pair_synth {
    struct synth_law base, variant;
    double run_noise, cell_noise; /* sd in nats */
    bool common_cells;            /* a cell's error is the same in both recipes */
    bool same_tokens;             /* the variant has the base's FLOPs */
    uint64_t seed;
};

enum { PAIR_BUDGETS = 4 };
static const int pair_width[PAIR_BUDGETS][8] = {{6, 8, 10, 12, 0},
                                                {6, 8, 10, 12, 14, 16, 0},
                                                {8, 10, 12, 14, 16, 18, 0},
                                                {10, 12, 14, 16, 18, 20, 22, 0}};

/* Training FLOPs per token with backpropagation through the last half of the iterations. */
static inline double pair_flops(double d, int r)
{
    const int kept = (r + 1) / 2;
    const double block = 12 * d * d, layers = 16.0 / r, attention = d * 2048;
    return 6 * 4 * block + (2 * (r - kept) + 6 * kept) * (layers * block + 2 * d * d) +
           12 * attention * (4 + kept * layers) + 4 * attention * (r - kept) * layers +
           6 * d * 32064;
}

static inline void pair_row(struct iso_str *csv, double budget, int width, int r, double flops,
                            const struct synth_law *law, double noise)
{
    const double d = 64 * width, block = 12 * d * d, tokens = floor(budget / flops);
    iso_str_printf(csv, "%.17g,%d,%d,%g,%.17g,%.17g,%.17g,%.17g,%.17g\n", budget, width, r, d,
                   r == 1 ? 20 * block : 4 * block, r == 1 ? 0 : 16.0 / r * block,
                   r == 1 ? 0 : 2 * d * d, tokens, synth_loss(law, d, r, tokens) + noise);
}

static inline void pair_read(struct iso_runs *runs, struct iso_str *csv)
{
    struct iso_err err;
    *runs = (struct iso_runs){0};
    if (iso_runs_add(runs, csv->text, csv->len, "pair", NULL, &err) != ISO_OK ||
        iso_runs_finish(runs, &err) != ISO_OK)
        abort();
    iso_str_release(csv);
}

/* Fills two empty tables: base, variant. */
static inline void pair_runs(struct iso_runs table[2], const struct pair_synth *p)
{
    static const char head[] = "budget,s,r,d_model,n_once,n_rec,n_inject,tokens,loss\n";
    struct iso_str base = {0}, variant = {0};
    struct iso_rng rng = {p->seed, iso_rng_stream("pair", 0), 0};
    iso_str_puts(&base, head);
    iso_str_puts(&variant, head);
    for (int b = 0; b < PAIR_BUDGETS; b++)
        for (int r = 1; r <= 8; r *= 2) {
            const double budget = synth_budget[b], cell = p->cell_noise * iso_rng_normal(&rng);
            const double other = p->cell_noise * iso_rng_normal(&rng);
            for (int i = 0; synth_width[b][i]; i++) {
                const int width = synth_width[b][i];
                pair_row(&base, budget, width, r, synth_flops(64 * width, r, 1), &p->base,
                         cell + p->run_noise * iso_rng_normal(&rng));
            }
            for (int i = 0; r > 1 && pair_width[b][i]; i++) {
                const double d = 64 * pair_width[b][i];
                pair_row(&variant, budget, pair_width[b][i], r,
                         p->same_tokens ? synth_flops(d, r, 1) : pair_flops(d, r), &p->variant,
                         (p->common_cells ? cell : other) + p->run_noise * iso_rng_normal(&rng));
            }
        }
    pair_read(&table[0], &base);
    pair_read(&table[1], &variant);
}

/* The paper's law for both recipes but for phi, and noise of 0.005 nats from run to run. */
static inline struct pair_synth pair_of(double delta_phi, double cell_noise, bool common)
{
    struct pair_synth p = {.base = synth_paper,
                           .variant = synth_paper,
                           .run_noise = 5e-3,
                           .cell_noise = cell_noise,
                           .common_cells = common};
    p.variant.phi += delta_phi;
    return p;
}

/* What many studies of one kind came to. */
struct pair_counts {
    int wrong;           /* verdicts that name a capacity that is not there, or its other sign */
    int found;           /* verdicts that name the right capacity */
    int joint, separate; /* intervals that cover the truth */
    int headline;        /* likewise */
    int rejected;        /* studies where one law does not fit both */
    int undetermined;    /* studies that are not believed */
};

struct pair_job {
    const struct pair_synth *pair;
    size_t resamples;
    struct pair_counts *of; /* one per study */
};

static inline bool pair_covers(const struct iso_delta *d, double truth)
{
    return d->low <= truth && truth <= d->high;
}

static inline struct pair_counts pair_judge(const struct iso_variant *v, double truth)
{
    const enum iso_verdict verdict = v->headline->verdict;
    const bool gain = verdict == ISO_VERDICT_CAPACITY || verdict == ISO_VERDICT_BOTH;
    const bool loss = verdict == ISO_VERDICT_LOSS || verdict == ISO_VERDICT_TRADE;
    return (struct pair_counts){.wrong = (gain && truth <= 0) || (loss && truth >= 0),
                                .found = (gain && truth > 0) || (loss && truth < 0),
                                .joint = pair_covers(&v->joint, truth),
                                .separate = pair_covers(&v->separate, truth),
                                .headline = pair_covers(v->headline, truth),
                                .rejected = v->shared.p < 0.05,
                                .undetermined = v->trust == ISO_TRUST_UNDETERMINED};
}

/* Few starts are enough: nearly all of them reach the best minimum. */
static inline void pair_run_one(void *ctx, size_t i, int worker)
{
    static const char *const names[] = {"base", "variant"};
    const struct pair_job *job = ctx;
    struct pair_synth pair = *job->pair;
    struct iso_compare_options o = {.fit = iso_fit_defaults(), .resamples = job->resamples};
    struct iso_runs table[2];
    struct iso_compare c;
    (void)worker;
    pair.seed = 1 + i;
    o.fit.starts = 20;
    pair_runs(table, &pair);
    if (iso_compare_run(&c, &table[0], &table[1], 1, names, &o, NULL) != ISO_OK)
        abort();
    job->of[i] = pair_judge(&c.variant[0], pair.variant.phi - pair.base.phi);
    iso_compare_release(&c);
    iso_runs_release(&table[0]);
    iso_runs_release(&table[1]);
}

/* Simulates and compares n pairs with the seeds from 1; the number of resamples is that of the
 * checks. */
static inline struct pair_counts pair_study(const struct pair_synth *pair, size_t n,
                                            size_t resamples)
{
    struct pair_job job = {pair, resamples, ISO_NEW_N(struct pair_counts, n)};
    struct pair_counts sum = {0};
    iso_parallel_for(n, iso_cpu_count(), pair_run_one, &job);
    for (size_t i = 0; i < n; i++) {
        sum.wrong += job.of[i].wrong;
        sum.found += job.of[i].found;
        sum.joint += job.of[i].joint;
        sum.separate += job.of[i].separate;
        sum.headline += job.of[i].headline;
        sum.rejected += job.of[i].rejected;
        sum.undetermined += job.of[i].undetermined;
    }
    free(job.of);
    return sum;
}

#endif
