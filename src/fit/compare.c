/* Comparing recipes: see compare.h.
 *
 * 1. Base and variant are cut to the budgets that both have; the r = 1 runs of the base serve
 *    both (the paper's protocol); where it has none there, those of the variant do.
 * 2. One law is fitted to all of it, with a phi of its own for each recipe.  Its difference is
 *    much less noisy than that of two separate fits, which share no exponents.
 * 3. The bootstrap is paired: a resample draws (budget, r) cells, and both recipes' runs of a cell
 *    come along together. */
#include "fit/compare.h"

#include "base/parallel.h"
#include "base/progress.h"
#include "fit/channel.h"
#include "fit/multistart.h"
#include "fit/regret.h"
#include "fit/resample.h"
#include "fit/stats.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const verdict_names[] = {
    [ISO_VERDICT_CAPACITY] = "capacity gain",
    [ISO_VERDICT_TOKENS] = "token gain only",
    [ISO_VERDICT_BOTH] = "capacity and token gain",
    [ISO_VERDICT_TRADE] = "token gain, capacity loss",
    [ISO_VERDICT_LOSS] = "capacity loss",
    [ISO_VERDICT_UNDECIDED] = "undecided at this noise",
    [ISO_VERDICT_NONE] = "not judged, no interval was computed",
    [ISO_VERDICT_UNDETERMINED] = "undecided, phi is not determined",
};

const char *iso_verdict_name(enum iso_verdict verdict)
{
    return verdict_names[verdict];
}

/* The table that both recipes are fitted on together, and the part of it that one recipe is
 * fitted on alone: row i of the part is row from[i] of the whole. */
struct part {
    struct iso_runs runs;
    size_t *from;
    struct iso_design x;
};

static bool has_looped(const struct iso_runs *runs, double budget)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->at[i].budget == budget && runs->at[i].r > 1)
            return true;
    return false;
}

/* The two recipes are compared where both have looped runs. */
static bool is_shared(const struct iso_runs *base, const struct iso_runs *variant, double budget)
{
    return has_looped(base, budget) && has_looped(variant, budget);
}

static bool base_has_plain(const struct iso_runs *base, const struct iso_runs *variant)
{
    for (size_t i = 0; i < base->n; i++)
        if (base->at[i].r == 1 && is_shared(base, variant, base->at[i].budget))
            return true;
    return false;
}

static void add_run(struct iso_runs *to, const struct iso_run *run, size_t label)
{
    struct iso_run *copy = ISO_PUSH(to->at, to->n, to->room);
    *copy = *run;
    copy->label = label;
}

/* The shared r = 1 runs and the looped runs of both recipes, on the budgets that both have. */
static enum iso_status join(struct iso_runs *all, struct iso_variant *v,
                            const struct iso_runs *base, const struct iso_runs *variant,
                            struct iso_err *err)
{
    const bool of_base = base_has_plain(base, variant);
    double last = NAN;
    for (size_t i = 0; i < base->n; i++) {
        const struct iso_run *run = &base->at[i];
        if (!is_shared(base, variant, run->budget))
            continue;
        v->n_budgets += run->budget != last; /* sorted by budget */
        last = run->budget;
        add_run(all, run, 0);
        v->n_base += run->r > 1;
        v->n_shared += run->r == 1;
    }
    for (size_t i = 0; i < variant->n; i++) {
        const struct iso_run *run = &variant->at[i];
        if (!is_shared(base, variant, run->budget))
            continue;
        if (run->r == 1 && of_base) {
            v->n_ignored++;
            continue;
        }
        add_run(all, run, run->r > 1);
        v->n_own += run->r > 1;
        v->n_shared += run->r == 1;
    }
    v->plain_of_variant = !of_base && v->n_shared > 0;
    iso_runs_sort(all);
    if (v->n_budgets == 0)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: no budget has looped runs (r above 1) here and in the base", v->name);
    return ISO_OK;
}

/* The r = 1 runs and the looped runs of one recipe. */
static void take_part(struct part *part, const struct iso_runs *all, size_t label)
{
    part->from = ISO_NEW_N(size_t, all->n + 1);
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].r == 1 || all->at[i].label == label) {
            part->from[part->runs.n] = i;
            add_run(&part->runs, &all->at[i], 0);
        }
}

struct job {
    const struct iso_runs *all;
    const struct iso_design *joint;
    const struct part *part; /* [n_parts]: base, variant; none when one of them tells no phi */
    int n_parts;
    const struct iso_fit_options *options;
    const struct iso_blocks *blocks;
    double *delta, *separate; /* [n_resamples] */
    atomic_size_t done;
    struct iso_progress *progress;
};

static double phi_of(const struct iso_design *x, const struct iso_fit_options *options, size_t i)
{
    struct iso_multistart m;
    iso_multistart_run(&m, x, options, iso_rng_stream("compare", i), 1);
    return m.best.param[ISO_P_SHAPE];
}

/* The resampled runs as the joint law sees them, and as each recipe alone does. */
struct resample {
    struct iso_design joint, alone[2];
};

static void take_resample(struct resample *s, const struct job *job, const unsigned *count)
{
    unsigned *own = ISO_NEW_N(unsigned, job->blocks->n_runs + 1);
    iso_design_resample(&s->joint, job->joint, count);
    for (int k = 0; k < job->n_parts; k++) {
        for (size_t j = 0; j < job->part[k].runs.n; j++)
            own[j] = count[job->part[k].from[j]];
        iso_design_resample(&s->alone[k], &job->part[k].x, own);
    }
    free(own);
}

static bool usable(const struct resample *s, const struct job *job)
{
    bool all = iso_resample_usable(&s->joint, job->all);
    for (int k = 0; k < job->n_parts; k++)
        all = all && iso_resample_usable(&s->alone[k], &job->part[k].runs);
    return all;
}

static void release_resample(struct resample *s, int n_parts)
{
    iso_design_release(&s->joint);
    for (int k = 0; k < n_parts; k++)
        iso_design_release(&s->alone[k]);
}

/* One paired resample; drawn again while it does not determine both phi's. */
static void run_resample(void *ctx, size_t i, int worker)
{
    struct job *job = ctx;
    unsigned *count = ISO_NEW_N(unsigned, job->blocks->n_runs + 1);
    struct resample s;
    struct iso_rng rng = {job->options->seed, iso_rng_stream("pairs", i), 0};
    for (int attempt = 0;; attempt++) {
        iso_blocks_draw(count, job->blocks, &rng);
        take_resample(&s, job, count);
        if (attempt == 100 || usable(&s, job))
            break;
        release_resample(&s, job->n_parts);
    }
    struct iso_multistart m;
    iso_multistart_run(&m, &s.joint, job->options, iso_rng_stream("compare", i), 1);
    job->delta[i] = m.best.param[ISO_P_SHAPE + 1] - m.best.param[ISO_P_SHAPE];
    if (job->n_parts)
        job->separate[i] =
            phi_of(&s.alone[1], job->options, i) - phi_of(&s.alone[0], job->options, i);
    release_resample(&s, job->n_parts);
    free(count);
    const size_t done = atomic_fetch_add(&job->done, 1) + 1;
    if (worker == 0)
        iso_progress_update(job->progress, (double)done, NULL);
}

static void bootstrap(struct iso_variant *v, struct iso_arena *arena, const struct iso_runs *all,
                      const struct iso_design *joint, const struct part *parts,
                      const struct iso_compare_options *o)
{
    const size_t n = o->resamples, n_separate = isnan(v->separate_delta) ? 0 : n;
    struct iso_blocks blocks;
    struct iso_progress progress;
    v->n_resamples = n;
    v->resample = iso_arena_alloc(arena, n + 1, sizeof *v->resample);
    double *separate = iso_arena_alloc(arena, n + 1, sizeof *separate);
    iso_blocks_init(&blocks, all, ISO_BLOCK_CELL);
    struct job job = {.all = all,
                      .joint = joint,
                      .part = parts,
                      .n_parts = n_separate ? 2 : 0,
                      .options = &o->fit,
                      .blocks = &blocks,
                      .delta = v->resample,
                      .separate = separate,
                      .progress = &progress};
    iso_progress_begin(&progress, v->name, (double)n);
    iso_parallel_for(n, o->fit.threads, run_resample, &job);
    iso_progress_end(&progress);
    iso_blocks_release(&blocks);
    iso_sort_doubles(v->resample, n);
    iso_sort_doubles(separate, n_separate);
    v->delta_low = iso_percentile(v->resample, n, 0.025);
    v->delta_high = iso_percentile(v->resample, n, 0.975);
    v->separate_low = iso_percentile(separate, n_separate, 0.025);
    v->separate_high = iso_percentile(separate, n_separate, 0.975);
    size_t below = 0, above = 0;
    for (size_t i = 0; i < n; i++) {
        below += v->resample[i] < 0;
        above += v->resample[i] > 0;
    }
    v->share_below = n ? (double)below / (double)n : NAN;
    v->share_above = n ? (double)above / (double)n : NAN;
}

/* Means over the channels; a token gain is one of at least a thousandth of the loss. */
static bool sum_channels(struct iso_variant *v)
{
    double loss = 0;
    const double n = (double)v->n_channels;
    v->inference_change = n > 0 ? 0 : NAN;
    for (size_t i = 0; i < v->n_channels; i++) {
        const struct iso_channel *c = &v->channel[i];
        v->mean_change += c->change / n;
        v->mean_token += c->token / n;
        v->mean_capacity += c->capacity / n;
        v->mean_width += c->width / n;
        v->inference_change += (c->variant_inference / c->base_inference - 1) / n;
        loss += c->base_loss / n;
    }
    return v->mean_token < -1e-3 * loss;
}

static void judge(struct iso_variant *v, struct iso_arena *arena)
{
    const bool tokens = sum_channels(v), up = v->delta_low > 0, down = v->delta_high < 0;
    v->verdict = v->n_resamples == 0 ? ISO_VERDICT_NONE
                 : up && tokens      ? ISO_VERDICT_BOTH
                 : up                ? ISO_VERDICT_CAPACITY
                 : down && tokens    ? ISO_VERDICT_TRADE
                 : down              ? ISO_VERDICT_LOSS
                 : tokens            ? ISO_VERDICT_TOKENS
                                     : ISO_VERDICT_UNDECIDED;
    const char *cost =
        iso_arena_printf(arena, "inference cost of the compute-optimal model %s %.1f %%",
                         v->inference_change >= 0 ? "up" : "down", 100 * fabs(v->inference_change));
    const char *movement = up     ? "each recurrence is worth more"
                           : down ? "each recurrence is worth less"
                                  : "no change of what a recurrence is worth is shown";
    const char *interval = v->n_resamples ? iso_arena_printf(arena, " [%+.3f, %+.3f], %s,",
                                                             v->delta_low, v->delta_high, movement)
                                          : "";
    v->sentence = iso_arena_printf(
        arena, "%s: %s; phi changes by %+.3f%s and the compute-optimal loss by %+.4f nats; %s.",
        v->name, iso_verdict_name(v->verdict), v->delta_phi, interval, v->mean_change, cost);
}

/* A law that one recipe's runs determine gives the other's phi too; without one nothing does. */
static const char *why_undetermined(const struct iso_runs *all, const struct part *parts)
{
    const char *why = iso_runs_undetermined(all);
    if (!why && iso_runs_undetermined(&parts[0].runs) && iso_runs_undetermined(&parts[1].runs))
        why = "each recipe has one r, and there are no runs of r = 1 that both use";
    return why;
}

static void give_up(struct iso_variant *v, struct iso_arena *arena)
{
    v->phi_base = v->phi = v->delta_phi = v->delta_low = v->delta_high = NAN;
    v->share_below = v->share_above = NAN;
    v->separate_delta = v->separate_low = v->separate_high = NAN;
    v->mean_change = v->mean_token = v->mean_capacity = v->mean_width = NAN;
    v->inference_change = NAN;
    v->verdict = ISO_VERDICT_UNDETERMINED;
    v->sentence = iso_arena_printf(arena, "%s: %s: %s.", v->name, iso_verdict_name(v->verdict),
                                   v->undetermined);
}

static const struct iso_runs *keep(const struct iso_runs *runs)
{
    struct iso_runs *kept = ISO_NEW(struct iso_runs);
    *kept = *runs;
    return kept;
}

static enum iso_status compare_one(struct iso_variant *v, struct iso_arena *arena,
                                   const struct iso_runs *base, const struct iso_runs *variant,
                                   const struct iso_compare_options *o, struct iso_err *err)
{
    struct iso_runs all = {0};
    struct part parts[2] = {0};
    struct iso_design joint = {0};
    enum iso_status st = join(&all, v, base, variant, err);
    if (st == ISO_OK)
        st = iso_fit_run(&v->joint, &all, &o->fit, err);
    for (size_t k = 0; st == ISO_OK && k < 2; k++) {
        struct iso_fit *alone = k ? &v->separate : &v->separate_base;
        take_part(&parts[k], &all, k);
        st = iso_fit_run(alone, &parts[k].runs, &o->fit, err);
        if (st == ISO_OK && iso_runs_undetermined(&parts[k].runs))
            alone->phi = NAN; /* where the fit ended means nothing */
        if (st == ISO_OK)
            st = iso_design_init(&parts[k].x, &parts[k].runs, &o->fit, err);
    }
    if (st == ISO_OK)
        st = iso_design_init(&joint, &all, &o->fit, err);
    if (st == ISO_OK && (v->undetermined = why_undetermined(&all, parts))) {
        give_up(v, arena);
    } else if (st == ISO_OK) {
        v->phi_base = v->joint.param[ISO_P_SHAPE];
        v->phi = v->joint.param[ISO_P_SHAPE + 1];
        v->delta_phi = v->phi - v->phi_base;
        v->separate_delta = v->separate.phi - v->separate_base.phi;
        bootstrap(v, arena, &all, &joint, parts, o);
        iso_channels_run(v, arena, &parts[0].runs, &parts[1].runs);
        judge(v, arena);
    } else {
        (void)iso_fail_in(err, st, "%s", v->name);
    }
    iso_design_release(&joint);
    for (int k = 0; k < 2; k++) {
        iso_design_release(&parts[k].x);
        free(parts[k].from);
    }
    v->base_runs = keep(&parts[0].runs);
    v->runs = keep(&parts[1].runs);
    iso_runs_release(&all);
    return st;
}

enum iso_status iso_compare_run(struct iso_compare *out, const struct iso_runs *base,
                                const struct iso_runs *variants, size_t n_variants,
                                const char *const *names, const struct iso_compare_options *options,
                                struct iso_err *err)
{
    *out = (struct iso_compare){0};
    struct iso_compare_options joint = *options;
    joint.fit.law = &iso_law_joint; /* the shape parameters of no other law are the two phi's */
    joint.fit.n_fixed = 0;
    out->base_name = iso_arena_strdup(&out->arena, names[0]);
    out->variant = iso_arena_alloc(&out->arena, n_variants + 1, sizeof *out->variant);
    enum iso_status st = iso_runs_check_rates(base, err);
    for (size_t i = 0; st == ISO_OK && i < n_variants; i++)
        st = iso_runs_check_rates(&variants[i], err);
    for (size_t i = 0; st == ISO_OK && i < n_variants; i++) {
        struct iso_variant *v = &out->variant[out->n++];
        v->name = iso_arena_strdup(&out->arena, names[i + 1]);
        st = compare_one(v, &out->arena, base, &variants[i], &joint, err);
    }
    return st;
}

void iso_compare_release(struct iso_compare *compare)
{
    for (size_t i = 0; i < compare->n; i++) {
        struct iso_runs *owned[2] = {(struct iso_runs *)compare->variant[i].base_runs,
                                     (struct iso_runs *)compare->variant[i].runs};
        for (int k = 0; k < 2; k++) {
            iso_runs_release(owned[k]);
            free(owned[k]);
        }
    }
    iso_arena_release(&compare->arena);
    *compare = (struct iso_compare){0};
}
