/* Bootstrap over blocks: see interval.h.
 *
 * A block that is drawn k times counts k times in the objective, so a resample is a set of
 * weights and runs that were not drawn cost nothing. */
#include "fit/interval.h"

#include "base/hash.h"
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

static const char *const block_names[ISO_N_BLOCKS] = {"cell", "run", "budget", "point", "cluster"};

const char *iso_block_name(enum iso_block block)
{
    return block_names[block];
}

enum iso_block iso_runs_unit(const struct iso_runs *runs)
{
    return runs->clustered ? ISO_BLOCK_CLUSTER : ISO_BLOCK_CELL;
}

static bool same_block(const struct iso_run *a, const struct iso_run *b, enum iso_block block)
{
    switch (block) {
    case ISO_BLOCK_BUDGET:
        return a->budget == b->budget;
    case ISO_BLOCK_CELL:
        return iso_same_cell(a, b);
    case ISO_BLOCK_POINT:
        return iso_same_cell(a, b) && a->n_once == b->n_once && a->n_rec == b->n_rec &&
               a->n_inject == b->n_inject && a->tokens == b->tokens;
    case ISO_BLOCK_CLUSTER:
        return iso_str_eq(a->cluster, b->cluster);
    default:
        return false;
    }
}

void iso_blocks_init(struct iso_blocks *b, const struct iso_runs *runs, enum iso_block block)
{
    *b = (struct iso_blocks){.n_runs = runs->n, .of_run = ISO_NEW_N(size_t, runs->n + 1)};
    for (size_t i = 0; i < runs->n; i++) {
        /* The table is sorted, so the runs of a block are together; those of a cluster need not. */
        size_t twin = i;
        while (twin > 0 && !same_block(&runs->at[i], &runs->at[twin - 1], block))
            twin = block == ISO_BLOCK_CLUSTER ? twin - 1 : 0;
        b->of_run[i] = twin > 0 ? b->of_run[twin - 1] : b->n++;
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

/* A refit on one budget or one r ends anywhere, and would pass for the spread of phi. */
static bool tells_phi(const struct iso_design *x, const struct iso_runs *runs)
{
    if (x->phi == ISO_NO_PARAM || x->lower[x->phi] == x->upper[x->phi])
        return true;
    struct iso_runs drawn = {0};
    for (size_t i = 0; i < x->n; i++)
        if (x->run[i] != SIZE_MAX)
            *ISO_PUSH(drawn.at, drawn.n, drawn.room) = runs->at[x->run[i]];
    const bool determined = !iso_runs_undetermined(&drawn);
    iso_runs_release(&drawn);
    return determined;
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

enum { BLOCK = 200 }; /* refits until the ends, or whether to stop, are looked at again */

struct job {
    const struct iso_design *x;
    const struct iso_runs *runs;
    const struct iso_fit_options *options;
    const struct iso_blocks *blocks;
    enum iso_block block;
    double *param;      /* [resamples * n_param] */
    uint64_t *drawn;    /* [resamples] identifies the blocks that were drawn */
    size_t *slot;       /* [slots] where to find it: 1 + its number, 0 where there is none */
    size_t slots;       /* a power of 2, at least twice the resamples */
    size_t like[BLOCK]; /* of each resample of this block, the first one with the same draw */
    size_t todo[BLOCK]; /* resamples to refit */
    size_t first;       /* resample of this block */
    atomic_size_t redrawn, done;
    struct iso_progress *progress;
};

/* Resample number i: drawn until it determines phi.  Returns the attempts it took; *drawn
 * identifies it. */
static size_t draw(struct iso_design *resampled, uint64_t *drawn, const struct job *job, size_t i)
{
    enum { MOST = 100 };
    const size_t n = job->blocks->n_runs;
    unsigned *count = ISO_NEW_N(unsigned, n + 1);
    struct iso_rng rng = {job->options->seed, iso_rng_stream(iso_block_name(job->block), i), 0};
    size_t attempt = 0;
    for (;; attempt++) {
        iso_blocks_draw(count, job->blocks, &rng);
        iso_design_resample(resampled, job->x, count);
        if (iso_resample_usable(resampled, job->runs) || attempt == MOST)
            break;
        iso_design_release(resampled);
    }
    *drawn = iso_xxh64(count, n * sizeof *count, 0);
    free(count);
    return attempt;
}

static void run_draw(void *ctx, size_t number, int worker)
{
    struct job *job = ctx;
    struct iso_design resampled;
    (void)worker;
    const size_t i = job->first + number;
    atomic_fetch_add(&job->redrawn, draw(&resampled, &job->drawn[i], job, i));
    iso_design_release(&resampled);
}

static void run_refit(void *ctx, size_t number, int worker)
{
    struct job *job = ctx;
    const size_t i = job->todo[number];
    if (iso_progress_stopped(job->progress))
        return;
    const struct iso_design *x = job->x;
    struct iso_design resampled;
    struct iso_solution s;
    uint64_t drawn;
    (void)draw(&resampled, &drawn, job, i);
    iso_refit(&s, &resampled, job->options, iso_rng_stream("resample", i));
    memcpy(job->param + i * x->n_param, s.param, x->n_param * sizeof(double));
    iso_design_release(&resampled);
    const size_t done = atomic_fetch_add(&job->done, 1) + 1;
    if (worker == 0)
        iso_progress_update(job->progress, (double)done, NULL);
}

/* The first resample with the same blocks as number i, which may be i itself. */
static size_t first_like(struct job *job, size_t i)
{
    size_t at = job->drawn[i] & (job->slots - 1);
    while (job->slot[at] && job->drawn[job->slot[at] - 1] != job->drawn[i])
        at = (at + 1) & (job->slots - 1);
    if (!job->slot[at])
        job->slot[at] = i + 1;
    return job->slot[at] - 1;
}

/* The next n refits.  Six budgets make 462 different resamples: what was drawn before is not
 * fitted again. */
static void refit_block(struct job *job, size_t n)
{
    const size_t n_param = job->x->n_param;
    size_t n_todo = 0;
    iso_parallel_for(n, job->options->threads, run_draw, job);
    for (size_t k = 0; k < n; k++) {
        job->like[k] = first_like(job, job->first + k);
        if (job->like[k] == job->first + k)
            job->todo[n_todo++] = job->first + k;
    }
    job->done = job->first + n - n_todo;
    iso_parallel_for(n_todo, job->options->threads, run_refit, job);
    for (size_t k = 0; k < n; k++)
        if (job->like[k] != job->first + k)
            memcpy(job->param + (job->first + k) * n_param, job->param + job->like[k] * n_param,
                   n_param * sizeof *job->param);
}

/* A percentile of sorted refits and its standard error: the number of refits below a true
 * percentile is binomial, so a deviation of it is a step in rank. */
static double percentile(double *error, const double *sorted, size_t n, double q)
{
    const double step = sqrt(q * (1 - q) / (double)n);
    *error = 0.5 * (iso_percentile(sorted, n, fmin(q + step, 1)) -
                    iso_percentile(sorted, n, fmax(q - step, 0)));
    return iso_percentile(sorted, n, q);
}

/* The interval of phi by the refits so far. */
static void find_ends(struct iso_bootstrap *out, const struct iso_design *x)
{
    const size_t n = out->n_resamples;
    const double tail = (1 - out->level) / 2;
    for (size_t i = 0; i < n; i++)
        out->phi[i] = x->phi == ISO_NO_PARAM ? NAN : out->param[i * x->n_param + x->phi];
    iso_sort_doubles(out->phi, n);
    out->low = percentile(&out->mc_low, out->phi, n, tail);
    out->high = percentile(&out->mc_high, out->phi, n, 1 - tail);
}

static bool ends_are_stable(const struct iso_bootstrap *b)
{
    return !(fmax(b->mc_low, b->mc_high) > 0.02 * (b->high - b->low));
}

/* The distance of an end from the median in normal ones, by the quartile on its side; what differs
 * by rounding alone has no tail, and no quartile to measure one by. */
static double tail_of(const struct iso_bootstrap *b, double end, double quartile)
{
    const double rounding = 1e-6, median = iso_percentile(b->phi, b->n_resamples, 0.5);
    if (fabs(end - median) < rounding)
        return 0;
    const double quartiles = iso_normal_quantile(b->level) / iso_normal_quantile(0.5);
    const double half = fabs(iso_percentile(b->phi, b->n_resamples, quartile) - median);
    return fabs(end - median) / (quartiles * fmax(half, rounding));
}

static void weigh_tails(struct iso_bootstrap *out)
{
    out->tail_low = tail_of(out, out->low, 0.25);
    out->tail_high = tail_of(out, out->high, 0.75);
    out->heavy_tail = fmax(out->tail_low, out->tail_high) > 2.5 ||
                      (double)out->at_bound > 0.01 * (double)out->n_resamples;
}

static void summarise(struct iso_bootstrap *out, const struct iso_design *x)
{
    const size_t n = out->n_resamples;
    const double tail = (1 - out->level) / 2;
    double *column = ISO_NEW_N(double, n + 1);
    for (size_t p = 0; p < x->n_param; p++) {
        for (size_t i = 0; i < n; i++)
            column[i] = out->param[i * x->n_param + p];
        iso_sort_doubles(column, n);
        out->param_low[p] = iso_percentile(column, n, tail);
        out->param_high[p] = iso_percentile(column, n, 1 - tail);
    }
    free(column);
    size_t below = 0, above = 0;
    for (size_t i = 0; i < n; i++) {
        const double phi = out->phi[i];
        out->mean += phi / (double)n;
        below += phi <= 0;
        above += phi >= 1;
        out->at_bound +=
            x->phi != ISO_NO_PARAM && (phi <= x->lower[x->phi] || phi >= x->upper[x->phi]);
    }
    for (size_t i = 0; i < n; i++)
        out->sd +=
            (out->phi[i] - out->mean) * (out->phi[i] - out->mean) / (double)(n > 1 ? n - 1 : 1);
    out->sd = sqrt(out->sd);
    out->below_0 = (double)below / (double)n;
    out->above_1 = (double)above / (double)n;
    if (x->phi != ISO_NO_PARAM)
        weigh_tails(out);
}

/* Blocks of refits until the ends are stable, or just as many as were asked for; whether it was
 * stopped. */
static bool resample(struct iso_bootstrap *out, struct job *job, size_t resamples)
{
    const bool automatic = resamples == ISO_RESAMPLES_AUTO;
    const size_t most = automatic ? ISO_MAX_RESAMPLES : resamples;
    iso_progress_begin(job->progress, "bootstrap", (double)most);
    do {
        const size_t left = most - out->n_resamples, n = left < BLOCK ? left : BLOCK;
        job->first = out->n_resamples;
        refit_block(job, n);
        out->n_resamples += n;
        if (automatic)
            find_ends(out, job->x);
    } while (out->n_resamples < most && !(automatic && ends_are_stable(out)) &&
             !iso_progress_stopped(job->progress));
    if (!automatic)
        find_ends(out, job->x);
    iso_progress_end(job->progress);
    return iso_progress_stopped(job->progress);
}

enum iso_status iso_bootstrap_run(struct iso_bootstrap *out, struct iso_arena *arena,
                                  const struct iso_runs *runs, const struct iso_fit *best,
                                  const struct iso_fit_options *options, enum iso_block block,
                                  size_t resamples, struct iso_err *err)
{
    struct iso_design x;
    *out = (struct iso_bootstrap){.block = block, .level = options->level};
    enum iso_status st = iso_design_init(&x, runs, options, err);
    if (st == ISO_OK) {
        const size_t most = resamples == ISO_RESAMPLES_AUTO ? ISO_MAX_RESAMPLES : resamples;
        struct iso_blocks blocks;
        struct iso_progress progress;
        size_t slots = 2;
        while (slots < 2 * most)
            slots *= 2;
        iso_blocks_init(&blocks, runs, block);
        iso_design_give_start(&x, best->param);
        out->n_blocks = blocks.n;
        out->param = iso_arena_alloc(arena, most * x.n_param + 1, sizeof *out->param);
        out->phi = iso_arena_alloc(arena, most + 1, sizeof *out->phi);
        struct job job = {.x = &x,
                          .runs = runs,
                          .options = options,
                          .blocks = &blocks,
                          .block = block,
                          .param = out->param,
                          .drawn = ISO_NEW_N(uint64_t, most + 1),
                          .slot = ISO_NEW_N(size_t, slots),
                          .slots = slots,
                          .progress = &progress};
        if (resample(out, &job, resamples))
            st = iso_fail(err, ISO_STOPPED, "stopped");
        summarise(out, &x);
        out->redrawn = job.redrawn;
        free(job.drawn);
        free(job.slot);
        iso_blocks_release(&blocks);
    }
    iso_design_release(&x);
    return st;
}

/* Skewness of the influence of the cells, a sixth of it: how the error changes with phi. */
static double acceleration(const double *without, size_t n)
{
    double mean = 0, squares = 0, cubes = 0;
    for (size_t i = 0; i < n; i++)
        mean += without[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double d = mean - without[i];
        squares += d * d;
        cubes += d * d * d;
    }
    return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

/* The share of refits below the end that lies z normal deviations from phi. */
static double share_at(double bias, double z, double a)
{
    const double shifted = bias + (bias + z) / (1 - a * (bias + z));
    return 0.5 * erfc(-shifted / sqrt(2));
}

/* z with P(Z < z) = share. */
static double normal_point(double share)
{
    const double z = iso_normal_quantile(fabs(2 * share - 1));
    return share < 0.5 ? -z : z;
}

void iso_bootstrap_bca(struct iso_interval *out, const struct iso_bootstrap *b, double phi,
                       const double *without, size_t n_without)
{
    const double z = iso_normal_quantile(b->level), a = acceleration(without, n_without);
    const double n = (double)b->n_resamples;
    double below = 0.5;
    for (size_t i = 0; i < b->n_resamples; i++)
        below += b->phi[i] < phi;
    const double share = below / (n + 1), bias = normal_point(share);
    /* The bias is itself known up to the draw of the refits. */
    const double shift = sqrt(share * (1 - share) / n) * sqrt(2 * M_PI) * exp(bias * bias / 2);
    double *end[2] = {&out->low, &out->high}, *error[2] = {&out->mc_low, &out->mc_high};
    for (int i = 0; i < 2; i++) {
        const double side = i ? z : -z;
        *end[i] = percentile(error[i], b->phi, b->n_resamples, share_at(bias, side, a));
        const double by_bias =
            0.5 * (iso_percentile(b->phi, b->n_resamples, share_at(bias + shift, side, a)) -
                   iso_percentile(b->phi, b->n_resamples, share_at(bias - shift, side, a)));
        *error[i] = hypot(*error[i], by_bias);
    }
    out->method = "bca";
}

void iso_bootstrap_worth(double out[2], const struct iso_bootstrap *b, const struct iso_fit *fit,
                         double r)
{
    double *blocks = ISO_NEW_N(double, b->n_resamples + 1);
    for (size_t i = 0; i < b->n_resamples; i++)
        blocks[i] = iso_fit_worth_at(fit, b->param + i * fit->n_param, r, 0);
    iso_sort_doubles(blocks, b->n_resamples);
    out[0] = iso_percentile(blocks, b->n_resamples, (1 - b->level) / 2);
    out[1] = iso_percentile(blocks, b->n_resamples, (1 + b->level) / 2);
    free(blocks);
}
