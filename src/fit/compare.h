/* The change of phi between recipes, with the interval of the difference, and where each
 * variant's change of loss comes from. */
#ifndef ISO_FIT_COMPARE_H
#define ISO_FIT_COMPARE_H

#include "base/json.h"
#include "base/table.h"
#include "fit/derived.h"
#include "fit/fit.h"

struct iso_compare_options {
    struct iso_fit_options fit;
    size_t resamples; /* 200; with 0 there is no interval and no verdict */
};

/* Change of the compute-optimal loss at one (budget, r), variant minus base, in nats, and its
 * parts, which add up to it: see docs/fitting.md. */
struct iso_channel {
    double budget, r;
    double base_loss, variant_loss, change;
    double token, capacity, width;
    double base_n, variant_n;                 /* compute-optimal unique parameters */
    double base_d_model, variant_d_model;     /* NaN when unknown */
    double base_inference, variant_inference; /* FLOPs per generated token at the optimum */
};

enum iso_verdict {
    ISO_VERDICT_CAPACITY,     /* delta phi above 0 */
    ISO_VERDICT_TOKENS,       /* more tokens for the budget, and no change of phi shown */
    ISO_VERDICT_BOTH,         /* delta phi above 0, and more tokens */
    ISO_VERDICT_TRADE,        /* delta phi below 0, and more tokens */
    ISO_VERDICT_LOSS,         /* delta phi below 0, and no more tokens */
    ISO_VERDICT_UNDECIDED,    /* the interval contains 0, and no more tokens */
    ISO_VERDICT_NONE,         /* no interval was asked for */
    ISO_VERDICT_UNDETERMINED, /* these runs cannot tell phi */
};

struct iso_variant {
    const char *name;
    size_t n_budgets, n_base, n_own; /* shared budgets; looped runs of the base and its own */
    size_t n_shared;                 /* r = 1 runs that both use */
    bool plain_of_variant;           /* they are the variant's, because the base has none there */
    size_t n_ignored;                /* r = 1 runs of the variant that are not used */
    const struct iso_runs *base_runs, *runs; /* on the shared budgets, r = 1 included; owned */
    struct iso_fit joint; /* one law, phi_0 of the base and phi_1 of the variant */
    const char
        *undetermined;    /* why the runs cannot tell phi, and every number below is NaN; or NULL */
    double phi_base, phi; /* of that model */
    double delta_phi, delta_low, delta_high;
    double share_below, share_above; /* of resamples with delta phi below or above 0 */
    double *resample;                /* [n_resamples] delta phi, sorted */
    size_t n_resamples;
    struct iso_fit separate_base, separate; /* two separate fits on the shared budgets */
    double separate_delta, separate_low, separate_high; /* paired bootstrap of their difference;
                                                           NaN when a recipe alone tells no phi */
    size_t n_channels;
    struct iso_channel *channel;
    double mean_change, mean_token, mean_capacity, mean_width; /* over the channels */
    double inference_change; /* mean relative change of FLOPs per generated token */
    enum iso_verdict verdict;
    const char *sentence;
};

struct iso_compare {
    struct iso_arena arena;
    const char *base_name;
    size_t n;
    struct iso_variant *variant;
};

/* Fits the joint law, whatever law the options name.  `base` and each of `variants` are tables;
 * `names` has 1 + n_variants entries, base first.
 * Release also after a failure; the tables must outlive the result. */
enum iso_status iso_compare_run(struct iso_compare *out, const struct iso_runs *base,
                                const struct iso_runs *variants, size_t n_variants,
                                const char *const *names, const struct iso_compare_options *options,
                                struct iso_err *err);
void iso_compare_release(struct iso_compare *compare);
const char *iso_verdict_name(enum iso_verdict verdict); /* "capacity gain", ... */

void iso_compare_write_page(struct iso_str *out, const struct iso_compare *compare, bool colour);
void iso_compare_write_json(struct iso_json_out *w, const struct iso_compare *compare);
/* One row per variant; one row per (variant, budget, r). The caller releases them. */
void iso_compare_summary_table(struct iso_table *t, const struct iso_compare *compare);
void iso_compare_channel_table(struct iso_table *t, const struct iso_compare *compare);

#endif
