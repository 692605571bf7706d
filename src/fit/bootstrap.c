/* Bootstrap over blocks: see interval.h.
 *
 * A block that is drawn k times counts k times in the objective, so a resample is a set of
 * weights and runs that were not drawn cost nothing. */
#include "fit/interval.h"

#include "base/parallel.h"
#include "base/progress.h"
#include "base/rng.h"
#include "fit/multistart.h"
#include "fit/resample.h"
#include "fit/stats.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const block_names[ISO_N_BLOCKS] = {"cell", "run", "budget", "point"};

const char *iso_block_name(enum iso_block block)
{
    return block_names[block];
}

static bool same_block(const struct iso_run *a, const struct iso_run *b, enum iso_block block)
{
    switch (block) {
    case ISO_BLOCK_BUDGET:
        return a->budget == b->budget;
    case ISO_BLOCK_CELL:
        return a->budget == b->budget && a->r == b->r;
    case ISO_BLOCK_POINT:
        return a->budget == b->budget && a->r == b->r && a->n_once == b->n_once &&
               a->n_rec == b->n_rec && a->n_inject == b->n_inject && a->tokens == b->tokens;
    default:
        return false;
    }
}

void iso_blocks_init(struct iso_blocks *b, const struct iso_runs *runs, enum iso_block block)
{
    /* The table is sorted, so that the runs of any block stand together. */
    *b = (struct iso_blocks){.n_runs = runs->n, .of_run = ISO_NEW_N(size_t, runs->n + 1)};
    for (size_t i = 0; i < runs->n; i++) {
        if (i == 0 || !same_block(&runs->at[i], &runs->at[i - 1], block))
            b->n++;
        b->of_run[i] = b->n - 1;
    }
}

void iso_blocks_release(struct iso_blocks *b)
{
    free(b->of_run);
    *b = (struct iso_blocks){0};
}

void iso_blocks_draw(unsigned *count, const struct iso_blocks *b, struct iso_rng *rng)
{
    unsigned *times = ISO_NEW_N(unsigned, b->n + 1);
    for (size_t i = 0; i < b->n; i++)
        times[iso_rng_below(rng, b->n)]++;
    for (size_t i = 0; i < b->n_runs; i++)
        count[i] = times[b->of_run[i]];
    free(times);
}

/* A refit on one budget or one r ends anywhere, and would be taken for the spread of phi. */
static bool tells_phi(const struct iso_design *x, const struct iso_runs *runs)
{
    if (x->phi == ISO_NO_PARAM || x->lower[x->phi] == x->upper[x->phi])
        return true;
    struct iso_runs drawn = {0};
    for (size_t i = 0; i < x->n; i++)
        if (x->run[i] != SIZE_MAX)
            *ISO_PUSH(drawn.at, drawn.n, drawn.room) = runs->at[x->run[i]];
    const bool tells = !iso_runs_undetermined(&drawn);
    iso_runs_release(&drawn);
    return tells;
}

bool iso_resample_usable(const struct iso_design *x, const struct iso_runs *runs)
{
    size_t rows = 0;
    bool seen[ISO_MAX_PARAM] = {0};
    for (size_t i = 0; i < x->n; i++)
        rows += x->weight[i] > 0;
    for (size_t g = 0; g < x->n_group; g++) {
        for (size_t i = 0; i < x->n_shape; i++)
            if (x->group[g].shape[i] != ISO_NO_PARAM && x->group[g].r > 1)
                seen[x->group[g].shape[i]] = true;
        if (x->group[g].offset != ISO_NO_PARAM)
            seen[x->group[g].offset] = true;
    }
    for (size_t p = ISO_P_SHAPE; p < x->n_param; p++)
        if (x->lower[p] < x->upper[p] && !seen[p])
            return false;
    return iso_design_looped(x) >= iso_design_looped_needed(x) &&
           rows >= iso_design_free_params(x) && tells_phi(x, runs);
}

struct job {
    const struct iso_design *x;
    const struct iso_runs *runs;
    const struct iso_fit_options *options;
    const struct iso_blocks *blocks;
    enum iso_block block;
    double *param; /* [n_resamples * n_param] */
    atomic_size_t redrawn, done;
    struct iso_progress *progress;
};

static void run_resample(void *ctx, size_t i, int worker)
{
    struct job *job = ctx;
    if (iso_progress_stopped(job->progress))
        return;
    const struct iso_design *x = job->x;
    unsigned *count = ISO_NEW_N(unsigned, job->blocks->n_runs + 1);
    struct iso_design resampled;
    struct iso_rng rng = {job->options->seed, iso_rng_stream(iso_block_name(job->block), i), 0};
    for (int attempt = 0;; attempt++) {
        iso_blocks_draw(count, job->blocks, &rng);
        iso_design_resample(&resampled, x, count);
        if (iso_resample_usable(&resampled, job->runs) || attempt == 100)
            break;
        iso_design_release(&resampled);
        atomic_fetch_add(&job->redrawn, 1);
    }
    struct iso_multistart m;
    iso_multistart_run(&m, &resampled, job->options, iso_rng_stream("resample", i), 1);
    memcpy(job->param + i * x->n_param, m.best.param, x->n_param * sizeof(double));
    iso_design_release(&resampled);
    free(count);
    const size_t done = atomic_fetch_add(&job->done, 1) + 1;
    if (worker == 0)
        iso_progress_update(job->progress, (double)done, NULL);
}

static void summarise(struct iso_bootstrap *out, const struct iso_design *x)
{
    const size_t n = out->n_resamples;
    const double *param = out->param;
    double *column = ISO_NEW_N(double, n);
    for (size_t p = 0; p < x->n_param; p++) {
        for (size_t i = 0; i < n; i++)
            column[i] = param[i * x->n_param + p];
        iso_sort_doubles(column, n);
        out->param_low[p] = iso_percentile(column, n, 0.025);
        out->param_high[p] = iso_percentile(column, n, 0.975);
    }
    free(column);
    const bool has_phi = x->phi != ISO_NO_PARAM;
    size_t below = 0, above = 0;
    for (size_t i = 0; i < n; i++) {
        const double phi = has_phi ? param[i * x->n_param + x->phi] : NAN;
        out->phi[i] = phi;
        out->mean += phi / (double)n;
        below += phi <= 0;
        above += phi >= 1;
        out->at_bound += has_phi && (phi <= x->lower[x->phi] || phi >= x->upper[x->phi]);
    }
    for (size_t i = 0; i < n; i++)
        out->sd +=
            (out->phi[i] - out->mean) * (out->phi[i] - out->mean) / (double)(n > 1 ? n - 1 : 1);
    out->sd = sqrt(out->sd);
    out->below_0 = (double)below / (double)n;
    out->above_1 = (double)above / (double)n;
    iso_sort_doubles(out->phi, n);
    out->low = iso_percentile(out->phi, n, 0.025);
    out->high = iso_percentile(out->phi, n, 0.975);
}

enum iso_status iso_bootstrap_run(struct iso_bootstrap *out, struct iso_arena *arena,
                                  const struct iso_runs *runs,
                                  const struct iso_fit_options *options, enum iso_block block,
                                  size_t resamples, struct iso_err *err)
{
    struct iso_design x;
    *out = (struct iso_bootstrap){.block = block, .n_resamples = resamples};
    enum iso_status st = iso_design_init(&x, runs, options, err);
    if (st == ISO_OK) {
        struct iso_blocks blocks;
        struct iso_progress progress;
        iso_blocks_init(&blocks, runs, block);
        struct job job = {.x = &x,
                          .runs = runs,
                          .options = options,
                          .blocks = &blocks,
                          .block = block,
                          .param =
                              iso_arena_alloc(arena, resamples * x.n_param + 1, sizeof(double)),
                          .progress = &progress};
        iso_progress_begin(&progress, "bootstrap", (double)resamples);
        iso_parallel_for(resamples, options->threads, run_resample, &job);
        iso_progress_end(&progress);
        if (iso_progress_stopped(&progress))
            st = iso_fail(err, ISO_STOPPED, "stopped");
        out->n_blocks = blocks.n;
        out->redrawn = job.redrawn;
        out->phi = iso_arena_alloc(arena, resamples + 1, sizeof *out->phi);
        out->param = job.param;
        summarise(out, &x);
        iso_blocks_release(&blocks);
    }
    iso_design_release(&x);
    return st;
}

void iso_bootstrap_worth(double out[2], const struct iso_bootstrap *b, const struct iso_fit *fit,
                         double r)
{
    double *blocks = ISO_NEW_N(double, b->n_resamples + 1);
    for (size_t i = 0; i < b->n_resamples; i++)
        blocks[i] = iso_fit_worth_at(fit, b->param + i * fit->n_param, r, 0);
    iso_sort_doubles(blocks, b->n_resamples);
    out[0] = iso_percentile(blocks, b->n_resamples, 0.025);
    out[1] = iso_percentile(blocks, b->n_resamples, 0.975);
    free(blocks);
}
