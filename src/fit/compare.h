/* The change of phi between recipes, with its error, and where each variant's change of loss comes
 * from. */
#ifndef ISO_FIT_COMPARE_H
#define ISO_FIT_COMPARE_H

#include "base/json.h"
#include "base/table.h"
#include "fit/check.h"
#include "fit/derived.h"
#include "fit/fit.h"

struct iso_compare_options {
    struct iso_fit_options fit;
    size_t resamples; /* of each recipe, for the checks that read a bootstrap; 0: without them */
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
    struct iso_run best, cheaper; /* the base's optimum, alone and with the variant's tokens */
};

enum iso_verdict {
    ISO_VERDICT_CAPACITY,     /* delta phi above 0 */
    ISO_VERDICT_TOKENS,       /* more tokens for the budget, and no change of phi shown */
    ISO_VERDICT_BOTH,         /* delta phi above 0, and more tokens */
    ISO_VERDICT_TRADE,        /* delta phi below 0, and more tokens */
    ISO_VERDICT_LOSS,         /* delta phi below 0, and no more tokens */
    ISO_VERDICT_UNDECIDED,    /* the interval contains 0, and no more tokens */
    ISO_VERDICT_NONE,         /* too few cells for an interval */
    ISO_VERDICT_UNDETERMINED, /* these runs do not determine phi */
};

/* What one estimator says.  Every number is NaN when the runs do not determine it. */
struct iso_delta {
    double phi_base, phi, delta_phi;
    double error, df; /* standard error of delta phi, and its degrees of freedom */
    double low, high; /* interval at the level of the options */
    double r2;        /* of both recipes' runs, on raw nats */
    size_t n_channels;
    struct iso_channel *channel;
    double change, token, capacity, width; /* means over the channels, in nats */
    double token_error;                    /* half of the interval of `token` */
    double inference_change;               /* mean relative change of FLOPs per generated token */
    enum iso_verdict verdict;
};

/* Whether the variant's looped runs have the alpha, beta and E of the base: Hotelling's T^2 as F
 * with (df, df_error) degrees of freedom. */
struct iso_shared_law {
    double statistic, df, df_error, p; /* NaN when there are too few cells */
};

/* One recipe on the budgets that all recipes of a call share. */
struct iso_recipe {
    const char *name;
    const struct iso_runs *runs; /* the r = 1 runs that all use, its control, its looped; owned */
    size_t n_looped;
    size_t n_control; /* runs of the unshared control: its own, or the base's */
    bool own_control;
    bool cut;           /* it has runs on other budgets, which are not used */
    struct iso_fit fit; /* of these runs alone */
    struct iso_checks checks;
};

struct iso_variant {
    struct iso_recipe own;
    size_t n_ignored;             /* its r = 1 runs that are not used */
    size_t n_left;                /* budgets shared with the base, but not with all variants */
    struct iso_delta joint;       /* the base's law, with a phi of its own for the variant */
    struct iso_delta separate;    /* two fits */
    struct iso_shared_law shared; /* the test of what `joint` assumes */
    struct iso_finding shared_finding;
    const struct iso_delta *headline; /* the one of the two that the test allows */
    enum iso_trust trust;             /* the worst of base, variant and shared law */
    const char *undetermined;         /* why the runs do not determine delta phi, or NULL */
    const char *sentence;             /* the headline in words */
};

struct iso_compare {
    struct iso_arena arena;
    double level;           /* of every interval: 0.95 */
    struct iso_recipe base; /* fitted once: every variant is compared with it */
    size_t n_budgets;       /* that all recipes share */
    size_t n_plain;         /* plain r = 1 runs, which all recipes use */
    const char *plain_from; /* whose they are */
    size_t n_other_anchor;  /* of the base: r = 1 runs that the anchor left out */
    size_t n;
    struct iso_variant *variant;
    size_t n_tables;
    const struct iso_runs **table; /* as read: what was understood, and which rows were left out */
};

/* Fits the joint law, whatever law the options name.  `base` and each of `variants` are tables;
 * `names` has 1 + n_variants entries, base first.
 * Release also after a failure; the tables must outlive the result. */
enum iso_status iso_compare_run(struct iso_compare *out, const struct iso_runs *base,
                                const struct iso_runs *variants, size_t n_variants,
                                const char *const *names, const struct iso_compare_options *options,
                                struct iso_err *err);
/* All recipes come from one table. */
void iso_compare_set_table(struct iso_compare *compare, const struct iso_runs *table);
void iso_compare_release(struct iso_compare *compare);

const char *iso_verdict_name(enum iso_verdict verdict); /* "capacity gain", ... */
/* "joint" or "separate". */
const char *iso_variant_estimator(const struct iso_variant *variant);

void iso_compare_write_page(struct iso_str *out, const struct iso_compare *compare, bool colour);
void iso_compare_write_json(struct iso_json_out *w, const struct iso_compare *compare);
/* Two rows per variant; one row per (variant, budget, r). The caller releases them. */
void iso_compare_summary_table(struct iso_table *t, const struct iso_compare *compare);
void iso_compare_channel_table(struct iso_table *t, const struct iso_compare *compare);
/* One row per check that is not ok. */
void iso_compare_check_table(struct iso_table *t, const struct iso_compare *compare);

#endif
