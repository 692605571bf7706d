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
    size_t resamples; /* 200 */
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
    ISO_VERDICT_CAPACITY,  /* delta phi above 0 */
    ISO_VERDICT_TOKENS,    /* lower loss, but delta phi below 0 or about 0 */
    ISO_VERDICT_BOTH,      /* delta phi above 0, and a token gain */
    ISO_VERDICT_LOSS,      /* delta phi below 0 and no lower loss */
    ISO_VERDICT_UNDECIDED, /* the interval contains 0 and the loss does not move enough */
};

struct iso_variant {
    const char *name;
    const struct iso_runs *runs; /* shared budgets, with the r = 1 runs of the base */
    size_t n_budgets;
    double phi_base, phi; /* from the joint model with one phi per recipe */
    double delta_phi, delta_low, delta_high;
    double share_below, share_above; /* of resamples with delta phi below or above 0 */
    double *resample;                /* [n_resamples] delta phi, sorted */
    size_t n_resamples;
    struct iso_fit separate_base, separate; /* two separate fits on the shared budgets */
    double separate_delta, separate_low, separate_high; /* paired bootstrap of their difference */
    size_t n_channels;
    struct iso_channel *channel;
    double inference_change; /* mean relative change of FLOPs per generated token, r > 1 */
    enum iso_verdict verdict;
    const char *sentence;
};

struct iso_compare {
    struct iso_arena arena;
    const char *base_name;
    struct iso_fit joint; /* the last joint model: all recipes at once */
    size_t n;
    struct iso_variant *variant;
};

/* `base` and each of `variants` are tables; `names` has 1 + n_variants entries, base first. */
enum iso_status iso_compare_run(struct iso_compare *out, const struct iso_runs *base,
                                const struct iso_runs *variants, size_t n_variants,
                                const char *const *names, const struct iso_compare_options *options,
                                struct iso_err *err);
void iso_compare_release(struct iso_compare *compare);
void iso_compare_write_page(struct iso_str *out, const struct iso_compare *compare, bool colour);
void iso_compare_write_json(struct iso_json_out *w, const struct iso_compare *compare);
const char *iso_verdict_name(enum iso_verdict verdict); /* "capacity gain", ... */

#endif
