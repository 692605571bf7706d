/* Comparing recipes: see compare.h.
 *
 * All recipes of a call are cut to the budgets where each of them has looped runs, and one set of
 * r = 1 runs serves all: that of the base, or where it has none there, that of the first variant
 * that has some (the paper's protocol).  The base is fitted once, so that its phi is the same
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

static bool has_plain(const struct iso_runs *runs, const struct recipes *all)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->at[i].r == 1 && is_shared(all, runs->at[i].budget))
            return true;
    return false;
}

/* The recipe whose r = 1 runs serve all, with its number: 0 is the base. */
static const struct iso_runs *find_plain(size_t *number, const struct recipes *all)
{
    *number = 0;
    if (has_plain(all->base, all))
        return all->base;
    for (size_t i = 0; i < all->n_variants; i++)
        if (has_plain(&all->variant[i], all)) {
            *number = i + 1;
            return &all->variant[i];
        }
    return all->base;
}

/* A recipe's looped runs and the r = 1 runs of `plain`, on the shared budgets. */
static void take_runs(struct iso_runs *out, const struct iso_runs *own,
                      const struct iso_runs *plain, const struct recipes *all)
{
    for (size_t i = 0; i < own->n; i++)
        if (own->at[i].r > 1 && is_shared(all, own->at[i].budget))
            *ISO_PUSH(out->at, out->n, out->room) = own->at[i];
    for (size_t i = 0; i < plain->n; i++)
        if (plain->at[i].r == 1 && is_shared(all, plain->at[i].budget))
            *ISO_PUSH(out->at, out->n, out->room) = plain->at[i];
    iso_runs_sort(out);
}

static size_t count_runs(const struct iso_runs *runs, bool looped)
{
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        n += (runs->at[i].r > 1) == looped;
    return n;
}

static const struct iso_runs *keep(const struct iso_runs *runs)
{
    struct iso_runs *kept = ISO_NEW(struct iso_runs);
    *kept = *runs;
    return kept;
}

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
                            "%s: no budget has looped runs (r above 1) here and in the base",
                            names[i + 1]);
    return iso_fail(err, ISO_BAD_INPUT,
                    "no budget has looped runs (r above 1) in the base and in every variant; "
                    "compare fewer variants at a time");
}

static enum iso_status fit_recipe(struct iso_fit *fit, const struct iso_runs *runs,
                                  const char *name, const struct iso_fit_options *o,
                                  struct iso_err *err)
{
    enum iso_status st = iso_fit_run(fit, runs, o, err);
    if (st != ISO_OK)
        return iso_fail_in(err, st, "%s", name);
    if (iso_runs_undetermined(runs))
        fit->phi = NAN; /* where the fit ended means nothing */
    return ISO_OK;
}

static enum iso_status take_base(struct iso_compare *out, const struct recipes *all,
                                 const struct iso_runs *plain, const char *const *names,
                                 const struct iso_fit_options *o, struct iso_err *err)
{
    struct iso_runs runs = {0};
    double *budget;
    take_runs(&runs, all->base, plain, all);
    out->base_runs = keep(&runs);
    out->n_budgets = iso_runs_budgets(&budget, &out->arena, &runs);
    out->n_base = count_runs(&runs, true);
    out->n_plain = count_runs(&runs, false);
    if (out->n_budgets == 0)
        return fail_unshared(all, names, err);
    return fit_recipe(&out->base_fit, &runs, out->base_name, o, err);
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

static enum iso_status compare_one(struct iso_variant *v, struct iso_compare *out,
                                   const struct iso_fit_options *o, struct iso_err *err)
{
    enum iso_status st = fit_recipe(&v->fit, v->runs, v->name, o, err);
    v->undetermined = iso_runs_undetermined(out->base_runs);
    if (v->undetermined)
        give_up(v);
    else if (st == ISO_OK)
        st = iso_delta_run(v, &out->arena, out->base_runs, &out->base_fit, o, err);
    if (st == ISO_OK)
        iso_verdict_run(v, &out->arena);
    return st;
}

enum iso_status iso_compare_run(struct iso_compare *out, const struct iso_runs *base,
                                const struct iso_runs *variants, size_t n_variants,
                                const char *const *names, const struct iso_compare_options *options,
                                struct iso_err *err)
{
    *out = (struct iso_compare){0};
    const struct recipes all = {base, variants, n_variants};
    struct iso_fit_options o = options->fit;
    o.law = &iso_law_joint; /* delta phi is that of the joint law */
    o.n_fixed = 0;
    size_t plain_number;
    const struct iso_runs *plain = find_plain(&plain_number, &all);
    out->base_name = iso_arena_strdup(&out->arena, names[0]);
    out->plain_from = iso_arena_strdup(&out->arena, names[plain_number]);
    out->variant = iso_arena_alloc(&out->arena, n_variants + 1, sizeof *out->variant);
    enum iso_status st = iso_runs_check_rates(base, err);
    for (size_t i = 0; st == ISO_OK && i < n_variants; i++)
        st = iso_runs_check_rates(&variants[i], err);
    if (st == ISO_OK)
        st = take_base(out, &all, plain, names, &o, err);
    for (size_t i = 0; st == ISO_OK && i < n_variants; i++) {
        struct iso_variant *v = &out->variant[out->n++];
        struct iso_runs runs = {0};
        take_runs(&runs, &variants[i], plain, &all);
        v->name = iso_arena_strdup(&out->arena, names[i + 1]);
        v->runs = keep(&runs);
        v->n_runs = count_runs(v->runs, true);
        v->n_left = count_pair_budgets(&all, i) - out->n_budgets;
        for (size_t k = 0; plain != &variants[i] && k < variants[i].n; k++)
            v->n_ignored += variants[i].at[k].r == 1 && is_shared(&all, variants[i].at[k].budget);
        st = compare_one(v, out, &o, err);
    }
    return st;
}

static void release_runs(const struct iso_runs *kept)
{
    struct iso_runs *owned = (struct iso_runs *)kept;
    if (owned)
        iso_runs_release(owned);
    free(owned);
}

void iso_compare_release(struct iso_compare *compare)
{
    release_runs(compare->base_runs);
    for (size_t i = 0; i < compare->n; i++)
        release_runs(compare->variant[i].runs);
    iso_arena_release(&compare->arena);
    *compare = (struct iso_compare){0};
}
