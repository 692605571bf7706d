/* What a comparison says in words: see verdict.h.
 *
 * A channel is named when it is more than its noise and at least a fifth of the change of the loss.
 * For capacity the noise is that of delta phi, and the channel must have its sign. */
#include "fit/verdict.h"

#include "fit/put.h"

#include <math.h>
#include <string.h>

static const char *const verdict_names[] = {
    [ISO_VERDICT_CAPACITY] = "capacity gain",
    [ISO_VERDICT_TOKENS] = "token gain only",
    [ISO_VERDICT_BOTH] = "capacity and token gain",
    [ISO_VERDICT_TRADE] = "token gain, capacity loss",
    [ISO_VERDICT_LOSS] = "capacity loss",
    [ISO_VERDICT_UNDECIDED] = "undecided at this noise",
    [ISO_VERDICT_NONE] = "not judged, too few cells for an interval",
    [ISO_VERDICT_UNDETERMINED] = "undecided, phi is not determined",
};

/* Below it the recipes count as sharing no law. */
static const double significant = 0.05;
/* Share of the change that a channel must have, and the least that the printed digits show. */
static const double least_share = 0.2, least_nats = 1e-4;

const char *iso_verdict_name(enum iso_verdict verdict)
{
    return verdict_names[verdict];
}

const char *iso_variant_estimator(const struct iso_variant *v)
{
    return v->headline == &v->joint ? "joint" : "separate";
}

static const struct iso_check shared_law = {
    .name = "shared_law",
    .statistic = "confidence that alpha, beta or E of the variant's looped runs differ from the "
                 "base's (F test)",
    .reason = "a twentieth of the pairs that do share a law are above 0.95",
    .advice = "look at the residuals per r before you call it capacity: the change may be on the "
              "side of the tokens, or of E",
};

static void find_shared_law(struct iso_variant *v)
{
    const double p = v->shared.p;
    struct iso_finding *found = &v->shared_finding;
    *found =
        (struct iso_finding){.check = &shared_law, .value = 1 - p, .threshold = 1 - significant};
    found->level = p < significant ? ISO_LEVEL_CAUTION : ISO_LEVEL_OK;
    found->message = isnan(p)          ? "not tested: there are too few cells"
                     : p < significant ? "one law does not fit both recipes"
                                       : "one law fits both recipes";
}

static enum iso_verdict judge(const struct iso_delta *d, const struct iso_variant *v)
{
    if (v->undetermined || isnan(d->delta_phi))
        return ISO_VERDICT_UNDETERMINED;
    if (isnan(d->low) || isnan(d->high))
        return ISO_VERDICT_NONE;
    const double least = fmax(least_share * fabs(d->change), least_nats);
    const bool tokens = -d->token > fmax(least, d->token_error);
    const bool up = d->low > 0 && !(-d->capacity < least);
    const bool down = d->high < 0 && !(d->capacity < least);
    return up && tokens     ? ISO_VERDICT_BOTH
           : up             ? ISO_VERDICT_CAPACITY
           : down && tokens ? ISO_VERDICT_TRADE
           : down           ? ISO_VERDICT_LOSS
           : tokens         ? ISO_VERDICT_TOKENS
                            : ISO_VERDICT_UNDECIDED;
}

static const char *movement(const struct iso_delta *d)
{
    const bool named = d->verdict != ISO_VERDICT_TOKENS && d->verdict != ISO_VERDICT_UNDECIDED;
    if (d->low > 0)
        return named ? "each recurrence is worth more"
                     : "each recurrence is worth more, but that is a small part of the change";
    if (d->high < 0)
        return named ? "each recurrence is worth less"
                     : "each recurrence is worth less, but that is a small part of the change";
    return "no change in the worth of a recurrence is shown";
}

/* Which estimator speaks, and why. */
static const char *reason(const struct iso_variant *v, struct iso_arena *arena)
{
    if (v->headline == &v->joint)
        return "one law for both recipes";
    if (isnan(v->shared.p))
        return "separate fits, because one law for both recipes could not be tested";
    return iso_arena_printf(
        arena, "separate fits, because one law does not fit both recipes, p = %.2g", v->shared.p);
}

/* What it means for the compute-optimal model; empty when the recipes have no r above 1 in common.
 */
static const char *consequence(const struct iso_delta *d, struct iso_arena *arena)
{
    if (d->n_channels == 0)
        return "";
    return iso_arena_printf(arena,
                            "; the compute-optimal loss changes by %+.4f nats, inference cost of "
                            "the compute-optimal model %s %.1f %%",
                            iso_plain_zero(d->change, 4), d->inference_change >= 0 ? "up" : "down",
                            100 * fabs(d->inference_change));
}

/* " base: one_phi, drift;" and so on, or nothing. */
static const char *cautions(const struct iso_recipe *recipe, struct iso_arena *arena)
{
    const char *list = "";
    for (size_t i = 0; i < recipe->checks.n; i++)
        if (recipe->checks.at[i].level != ISO_LEVEL_OK)
            list = iso_arena_printf(arena, "%s%s %s", list, *list ? "," : "",
                                    recipe->checks.at[i].check->name);
    return *list ? iso_arena_printf(arena, " %s:%s;", recipe->name, list) : "";
}

/* The word, and which checks are the reason for it. */
static const char *trust_of(const struct iso_variant *v, const struct iso_recipe *base,
                            struct iso_arena *arena)
{
    const char *word = iso_trust_name(v->trust);
    if (v->trust == ISO_TRUST_GOOD)
        return word;
    const char *list =
        iso_arena_printf(arena, "%s%s%s", cautions(base, arena), cautions(&v->own, arena),
                         v->shared_finding.level != ISO_LEVEL_OK ? " shared_law;" : "");
    return iso_arena_printf(arena, "%s (%.*s)", word, (int)strlen(list) - 2, list + 1);
}

static const char *sentence(const struct iso_variant *v, const struct iso_recipe *base,
                            struct iso_arena *arena)
{
    const struct iso_delta *d = v->headline;
    const char *verdict = iso_verdict_name(d->verdict), *trust = trust_of(v, base, arena);
    if (v->undetermined)
        return iso_arena_printf(arena, "%s: %s: %s. Trust: %s.", v->own.name, verdict,
                                v->undetermined, iso_trust_name(v->trust));
    if (d->verdict == ISO_VERDICT_NONE)
        return iso_arena_printf(arena, "%s: %s; phi changes by %+.3f (%s)%s. Trust: %s.",
                                v->own.name, verdict, iso_plain_zero(d->delta_phi, 3),
                                reason(v, arena), consequence(d, arena), trust);
    return iso_arena_printf(
        arena, "%s: %s; phi changes by %+.3f [%+.3f, %+.3f] (%s), %s%s. Trust: %s.", v->own.name,
        verdict, iso_plain_zero(d->delta_phi, 3), iso_plain_zero(d->low, 3),
        iso_plain_zero(d->high, 3), reason(v, arena), movement(d), consequence(d, arena), trust);
}

/* Why phi of the recipe cannot be believed, or NULL. */
static const char *why_undetermined(const struct iso_recipe *recipe, struct iso_arena *arena)
{
    if (recipe->checks.trust != ISO_TRUST_UNDETERMINED)
        return NULL;
    return iso_arena_printf(arena, "in %s, %s%s", recipe->name,
                            recipe->cut ? "cut to the shared budgets, " : "",
                            iso_checks_worst(&recipe->checks)->message);
}

static enum iso_trust worst_of(enum iso_trust a, enum iso_trust b)
{
    return a > b ? a : b;
}

void iso_verdict_run(struct iso_variant *v, struct iso_arena *arena, const struct iso_recipe *base)
{
    find_shared_law(v);
    v->trust = worst_of(base->checks.trust, v->own.checks.trust);
    if (v->shared_finding.level != ISO_LEVEL_OK)
        v->trust = worst_of(v->trust, ISO_TRUST_CAUTION);
    v->undetermined = why_undetermined(base, arena);
    if (!v->undetermined)
        v->undetermined = why_undetermined(&v->own, arena);
    v->headline = v->shared.p >= significant ? &v->joint : &v->separate;
    v->joint.verdict = judge(&v->joint, v);
    v->separate.verdict = judge(&v->separate, v);
    v->sentence = sentence(v, base, arena);
}
