/* Comparing recipes: see compare.h.
 *
 * All recipes of a call are cut to the budgets where each of them has looped runs, and one set of
 * r = 1 runs serves all: that of the base, or where it has none there, that of the first variant
 * that has some (the paper's protocol).  The base's anchor decides for all: where it uses the
 * unshared control, each recipe has its own, the baseline that is modified the same way, or where
 * it has none there, that of the base.  The base is fitted once, so that its phi is the same
 * beside every variant. */
#include "fit/compare.h"

#include "fit/delta.h"
#include "fit/regret.h"
#include "fit/verdict.h"

#include <math.h>
#include <stdlib.h>

static bool has_looped(const struct iso_runs *runs, double budget)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->at[i].budget == budget && runs->at[i].r > 1)
            return true;
    return false;
}

/* The recipes of a call: the base, then the variants. */
struct recipes {
    const struct iso_runs *base, *variant;
    size_t n_variants;
};

static bool is_shared(const struct recipes *all, double budget)
{
    bool shared = has_looped(all->base, budget);
    for (size_t i = 0; i < all->n_variants; i++)
        shared = shared && has_looped(&all->variant[i], budget);
    return shared;
}

/* Runs with r = 1 that the base's anchor wants: plain ones, or those of the control. */
static bool is_plain(const struct iso_run *run, const struct recipes *all)
{
    return run->r == 1 && run->unshared == 0 && all->base->anchor != ISO_ANCHOR_UNSHARED &&
           is_shared(all, run->budget);
}

static bool is_control(const struct iso_run *run, const struct recipes *all)
{
    return run->unshared > 0 && all->base->anchor != ISO_ANCHOR_PLAIN &&
           is_shared(all, run->budget);
}

static bool has_any(const struct iso_runs *runs, const struct recipes *all,
                    bool (*is)(const struct iso_run *run, const struct recipes *all))
{
    for (size_t i = 0; i < runs->n; i++)
        if (is(&runs->at[i], all))
            return true;
    return false;
}

/* The recipe whose r = 1 runs serve all, with its number: 0 is the base. */
static const struct iso_runs *find_plain(size_t *number, const struct recipes *all)
{
    *number = 0;
    if (has_any(all->base, all, is_plain))
        return all->base;
    for (size_t i = 0; i < all->n_variants; i++)
        if (has_any(&all->variant[i], all, is_plain)) {
            *number = i + 1;
            return &all->variant[i];
        }
    return all->base;
}

/* Everything that the functions below have in common. */
struct job {
    struct iso_compare *out;
    struct recipes all;
    const struct iso_runs *plain; /* whose r = 1 runs serve all */
    struct iso_compare_options options;
    const char *const *names;
};

/* Budgets that the base shares with a variant, whatever the others have. */
static size_t count_pair_budgets(const struct recipes *all, size_t variant)
{
    const struct recipes pair = {all->base, &all->variant[variant], 1};
    size_t n = 0;
    for (size_t i = 0; i < all->base->n; i++) { /* sorted by budget */
        const double budget = all->base->at[i].budget;
        n += (i == 0 || budget != all->base->at[i - 1].budget) && is_shared(&pair, budget);
    }
    return n;
}

/* Every budget of the base is missing somewhere: names a variant that shares none, if there is
 * one. */
static enum iso_status fail_unshared(const struct recipes *all, const char *const *names,
                                     struct iso_err *err)
{
    for (size_t i = 0; i < all->n_variants; i++)
        if (count_pair_budgets(all, i) == 0)
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: no budget has looped runs (r above 1) here and in the base; round "
                            "FLOPs as counted to nominal budgets",
                            names[i + 1]);
    return iso_fail(err, ISO_BAD_INPUT,
                    "no budget has looped runs (r above 1) in the base and in every variant; "
                    "compare fewer variants at a time");
}

/* The runs of a table for which is() holds, behind those of `runs`; gives their number. */
static size_t add_runs(struct iso_runs *runs, const struct iso_runs *from,
                       const struct recipes *all,
                       bool (*is)(const struct iso_run *run, const struct recipes *all))
{
    const size_t before = runs->n;
    for (size_t i = 0; i < from->n; i++)
        if (is(&from->at[i], all))
            *ISO_PUSH(runs->at, runs->n, runs->room) = from->at[i];
    return runs->n - before;
}

static bool is_looped(const struct iso_run *run, const struct recipes *all)
{
    return run->r > 1 && is_shared(all, run->budget);
}

/* On the shared budgets: the recipe's looped runs, the r = 1 runs of `plain`, its control. */
static void take_runs(struct iso_recipe *out, const struct iso_runs *own, const char *name,
                      const struct job *job)
{
    struct iso_runs *runs = ISO_NEW(struct iso_runs);
    runs->clustered = own->clustered;
    runs->data = job->all.base->n ? job->all.base->at[0].data : NULL; /* the variants', too */
    for (size_t i = 0; i < own->n; i++)
        out->cut |= !is_shared(&job->all, own->at[i].budget);
    out->own_control = has_any(own, &job->all, is_control);
    out->n_looped = add_runs(runs, own, &job->all, is_looped);
    add_runs(runs, job->plain, &job->all, is_plain);
    out->n_control = add_runs(runs, out->own_control ? own : job->all.base, &job->all, is_control);
    iso_runs_sort(runs);
    out->runs = runs;
    out->name = iso_arena_strdup(&job->out->arena, name);
}

static void release_runs(const struct iso_recipe *recipe)
{
    struct iso_runs *owned = (struct iso_runs *)recipe->runs;
    if (owned)
        iso_runs_release(owned);
    free(owned);
}

/* Of the checks, two read the bootstrap over cells. */
static enum iso_status check_recipe(struct iso_recipe *recipe, const struct job *job,
                                    struct iso_err *err)
{
    struct iso_arena *arena = &job->out->arena;
    const struct iso_compare_options *o = &job->options;
    struct iso_intervals *intervals = NULL;
    enum iso_status st = ISO_OK;
    if (o->resamples > 0 && !iso_runs_undetermined(recipe->runs)) {
        intervals = ISO_ARENA_NEW(arena, struct iso_intervals);
        intervals->n_bootstraps = 1;
        st = iso_bootstrap_run(&intervals->bootstrap[0], arena, recipe->runs, &recipe->fit, &o->fit,
                               iso_runs_unit(recipe->runs), o->resamples, err);
    }
    if (st == ISO_OK)
        iso_checks_run(&recipe->checks, arena, recipe->runs, &recipe->fit, &o->fit, intervals);
    return st;
}

static enum iso_status fit_recipe(struct iso_recipe *recipe, const struct job *job,
                                  struct iso_err *err)
{
    enum iso_status st = iso_fit_run(&recipe->fit, recipe->runs, &job->options.fit, err);
    if (st == ISO_OK)
        st = check_recipe(recipe, job, err);
    if (st != ISO_OK)
        return iso_fail_in(err, st, "%s", recipe->name);
    if (iso_runs_undetermined(recipe->runs))
        recipe->fit.phi = NAN; /* where the fit ended means nothing */
    return ISO_OK;
}

static enum iso_status run_base(struct job *job, struct iso_err *err)
{
    struct iso_compare *out = job->out;
    double *budget;
    take_runs(&out->base, job->all.base, job->names[0], job);
    out->n_other_anchor = job->all.base->n_other_anchor;
    out->n_budgets = iso_runs_budgets(&budget, &out->arena, out->base.runs);
    out->n_plain = out->base.runs->n - out->base.n_looped - out->base.n_control;
    if (out->n_budgets == 0)
        return fail_unshared(&job->all, job->names, err);
    return fit_recipe(&out->base, job, err);
}

/* No number is given. */
static void give_up(struct iso_variant *v)
{
    const struct iso_delta none = {.phi_base = NAN,
                                   .phi = NAN,
                                   .delta_phi = NAN,
                                   .error = NAN,
                                   .df = NAN,
                                   .low = NAN,
                                   .high = NAN,
                                   .r2 = NAN,
                                   .change = NAN,
                                   .token = NAN,
                                   .capacity = NAN,
                                   .width = NAN,
                                   .token_error = NAN,
                                   .inference_change = NAN};
    v->joint = v->separate = none;
    v->shared = (struct iso_shared_law){NAN, NAN, NAN, NAN};
}

static enum iso_status run_variant(struct job *job, size_t number, struct iso_err *err)
{
    struct iso_compare *out = job->out;
    struct iso_variant *v = &out->variant[number];
    const struct iso_runs *runs = &job->all.variant[number];
    take_runs(&v->own, runs, job->names[number + 1], job);
    v->n_left = count_pair_budgets(&job->all, number) - out->n_budgets;
    v->n_ignored = runs->n_other_anchor;
    for (size_t i = 0; i < runs->n; i++)
        v->n_ignored += runs->at[i].r == 1 && is_shared(&job->all, runs->at[i].budget) &&
                        !is_control(&runs->at[i], &job->all) &&
                        !(job->plain == runs && is_plain(&runs->at[i], &job->all));
    enum iso_status st = fit_recipe(&v->own, job, err);
    if (st == ISO_OK && isnan(out->base.fit.phi))
        give_up(v);
    else if (st == ISO_OK)
        st = iso_delta_run(v, &out->arena, &out->base, &job->options.fit, err);
    if (st == ISO_OK)
        iso_verdict_run(v, &out->arena, &out->base);
    return st;
}

enum iso_status iso_compare_run(struct iso_compare *out, const struct iso_runs *base,
                                const struct iso_runs *variants, size_t n_variants,
                                const char *const *names, const struct iso_compare_options *options,
                                struct iso_err *err)
{
    *out = (struct iso_compare){0};
    struct job job = {
        .out = out, .all = {base, variants, n_variants}, .options = *options, .names = names};
    size_t plain_number;
    job.plain = find_plain(&plain_number, &job.all);
    job.options.fit.law = &iso_law_joint; /* delta phi is that of the joint law */
    job.options.fit.n_fixed = 0;
    out->level = options->fit.level;
    out->plain_from = iso_arena_strdup(&out->arena, names[plain_number]);
    out->variant = iso_arena_alloc(&out->arena, n_variants + 1, sizeof *out->variant);
    out->table = ISO_ARENA_NEW_N(&out->arena, const struct iso_runs *, n_variants + 1);
    out->n_tables = n_variants + 1;
    for (size_t i = 0; i <= n_variants; i++)
        out->table[i] = i == 0 ? base : &variants[i - 1];
    enum iso_status st = iso_runs_check_rates(base, err);
    for (size_t i = 0; st == ISO_OK && i < n_variants; i++)
        st = iso_runs_check_rates(&variants[i], err);
    if (st == ISO_OK)
        st = run_base(&job, err);
    for (size_t i = 0; st == ISO_OK && i < n_variants; i++) {
        out->n++;
        st = run_variant(&job, i, err);
    }
    return st;
}

void iso_compare_set_table(struct iso_compare *compare, const struct iso_runs *table)
{
    compare->table[0] = table;
    compare->n_tables = 1;
}

void iso_compare_release(struct iso_compare *compare)
{
    release_runs(&compare->base);
    for (size_t i = 0; i < compare->n; i++)
        release_runs(&compare->variant[i].own);
    iso_arena_release(&compare->arena);
    *compare = (struct iso_compare){0};
}
