/* What a comparison says in words: see verdict.h.
 *
 * A channel is named when it is more than its noise and at least a fifth of the change of the loss.
 * For capacity the noise is that of delta phi, and the channel must have its sign. */
#include "fit/verdict.h"

#include <math.h>

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

static enum iso_verdict judge(const struct iso_delta *d)
{
    if (isnan(d->delta_phi))
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
    return "no change of what a recurrence is worth is shown";
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
                            d->change, d->inference_change >= 0 ? "up" : "down",
                            100 * fabs(d->inference_change));
}

static const char *sentence(const struct iso_variant *v, struct iso_arena *arena)
{
    const struct iso_delta *d = v->headline;
    const char *verdict = iso_verdict_name(d->verdict);
    if (v->undetermined)
        return iso_arena_printf(arena, "%s: %s: %s.", v->name, verdict, v->undetermined);
    if (d->verdict == ISO_VERDICT_NONE)
        return iso_arena_printf(arena, "%s: %s; phi changes by %+.3f (%s)%s.", v->name, verdict,
                                d->delta_phi, reason(v, arena), consequence(d, arena));
    return iso_arena_printf(arena, "%s: %s; phi changes by %+.3f [%+.3f, %+.3f] (%s), %s%s.",
                            v->name, verdict, d->delta_phi, d->low, d->high, reason(v, arena),
                            movement(d), consequence(d, arena));
}

void iso_verdict_run(struct iso_variant *v, struct iso_arena *arena)
{
    const bool rejected = v->shared.p < significant, tells = !isnan(v->separate.delta_phi);
    const bool untested = isnan(v->shared.p);
    if (rejected && !tells && !v->undetermined)
        v->undetermined = "one law does not fit both recipes, and the variant's runs alone cannot "
                          "tell phi";
    v->headline = rejected || (untested && tells) ? &v->separate : &v->joint;
    v->joint.verdict = judge(&v->joint);
    v->separate.verdict = judge(&v->separate);
    v->sentence = sentence(v, arena);
}
