/* Checks of a fit, one row of a table each: what would make its phi wrong without showing in the
 * interval.  One word sums them up:
 *     any fail -> undetermined, else any caution -> caution, else good.
 * docs/fitting.md has every statistic with its threshold, and how often each raises its voice over
 * simulated studies with and without a fault. */
#ifndef ISO_FIT_CHECK_H
#define ISO_FIT_CHECK_H

#include "base/json.h"
#include "fit/interval.h"

enum iso_level { ISO_LEVEL_OK, ISO_LEVEL_CAUTION, ISO_LEVEL_FAIL };
const char *iso_level_name(enum iso_level level); /* "ok", "caution", "fail" */

enum iso_trust { ISO_TRUST_GOOD, ISO_TRUST_CAUTION, ISO_TRUST_UNDETERMINED };
const char *iso_trust_name(enum iso_trust trust); /* "good", "caution", "undetermined" */

/* What one check found. */
struct iso_finding {
    const struct iso_check *check;
    enum iso_level level;
    double value, threshold; /* a caution begins above the threshold; NaN when not tested */
    const char *message;     /* a sentence, without its full stop */
};

struct iso_check_input; /* check_input.h */
struct iso_check {
    const char *name;
    const char *statistic; /* what is measured */
    const char *reason;    /* where the threshold is, and why there */
    const char *advice;    /* what to do about it, a sentence without its full stop */
    bool phi_only;         /* left out where the law has no phi, or phi is held fixed */
    bool may_fail;         /* else a caution is the worst that it says */
    bool reads_refits;     /* it says less, or nothing, where nothing was resampled */
    void (*run)(struct iso_finding *out, const struct iso_check_input *in);
};
/* All checks, ended by a row without a name. */
extern const struct iso_check iso_check_table[];

enum { ISO_MAX_CHECKS = 24 };
struct iso_checks {
    size_t n;
    struct iso_finding at[ISO_MAX_CHECKS];
    enum iso_trust trust;
    bool resampled; /* else those that read refits are not complete */
};

/* Runs the checks on a fit to `runs`.  Cannot fail: what the table does not allow to test says so.
 * Those that read resampling results are left out when `intervals` is NULL; the rest needs some
 * refits with few starts.  Texts live in `arena`. */
void iso_checks_run(struct iso_checks *out, struct iso_arena *arena, const struct iso_runs *runs,
                    const struct iso_fit *fit, const struct iso_fit_options *options,
                    const struct iso_intervals *intervals);
/* What a check of this name found, or NULL when it was left out. */
const struct iso_finding *iso_checks_find(const struct iso_checks *checks, const char *name);
/* The first finding of the worst level: the reason for the word. */
const struct iso_finding *iso_checks_worst(const struct iso_checks *checks);

/* An object {name, level, value, threshold, message, advice}; `recipe`, whose fit it is about, may
 * be NULL. */
void iso_finding_write_json(struct iso_json_out *w, const struct iso_finding *found,
                            const char *recipe);
/* Members "trust", "checks": [{name, level, value, threshold, message, advice}] and "unchecked":
 * the names of those that need refits where there are none. */
void iso_checks_write_json(struct iso_json_out *w, const struct iso_checks *checks);
/* "Caution, one_phi: ... What to do: ..." without an end of line. */
void iso_finding_write(struct iso_str *out, const struct iso_finding *found, bool colour);
void iso_checks_put_unchecked(struct iso_json_out *w, const struct iso_checks *checks);
/* "bounds, heavy_tail": the checks that nothing was resampled for; nothing when it was. */
void iso_checks_write_unchecked(struct iso_str *out, const struct iso_checks *checks);
/* A line for each check that is not ok, or one line that says that all are; a line for those that
 * were not checked. */
void iso_checks_write_text(struct iso_str *out, const struct iso_checks *checks, bool colour);

#endif
