/* The whole protocol: see analysis.h. */
#include "fit/analysis.h"

#include "base/file.h"
#include "fit/regret.h"

#include <math.h>

struct iso_analysis_options iso_analysis_defaults(void)
{
    return (struct iso_analysis_options){.fit = iso_fit_defaults(),
                                         .resamples = ISO_RESAMPLES_AUTO};
}

static enum iso_status run_parts(struct iso_analysis *s, struct iso_err *err)
{
    const struct iso_fit_options *o = &s->options.fit;
    enum iso_status st = iso_fit_run(&s->fit, s->runs, o, err);
    if (st != ISO_OK)
        return st;
    iso_derived_run(&s->derived, &s->arena, s->runs, &s->fit);
    const bool free_phi = iso_fit_phi_is_free(&s->fit);
    s->one_sided = free_phi && iso_runs_undetermined(s->runs);
    if (s->one_sided)
        return ISO_OK;
    if (o->law == &iso_law_joint && free_phi) {
        struct iso_fit_options zero = *o, one = *o;
        iso_fit_fix(&zero, "phi", 0);
        iso_fit_fix(&one, "phi", 1);
        st = iso_fit_run(&s->phi_0, s->runs, &zero, err);
        if (st == ISO_OK)
            st = iso_fit_run(&s->phi_1, s->runs, &one, err);
        s->has_restricted = st == ISO_OK;
    }
    if (st == ISO_OK) {
        st = iso_intervals_run(&s->intervals, &s->arena, s->runs, &s->fit, o, s->options.resamples,
                               s->options.interval, err);
        s->has_intervals = st == ISO_OK;
    }
    if (st == ISO_OK && free_phi) {
        iso_robust_run(&s->robust, &s->arena, s->runs, &s->fit, o);
        s->has_robust = true;
    }
    return st;
}

enum iso_status iso_analysis_run(struct iso_analysis *analysis, const struct iso_runs *runs,
                                 const struct iso_analysis_options *options, struct iso_err *err)
{
    const double start = iso_time_now();
    *analysis = (struct iso_analysis){.runs = runs, .options = *options, .r = NAN};
    enum iso_status st = iso_runs_check_rates(runs, err);
    if (st == ISO_OK)
        st = run_parts(analysis, err);
    if (st == ISO_OK && options->laws)
        iso_law_scores_run(&analysis->laws, &analysis->arena, runs, &options->fit);
    if (st == ISO_OK)
        iso_checks_run(&analysis->checks, &analysis->arena, runs, &analysis->fit, &options->fit,
                       analysis->has_intervals ? &analysis->intervals : NULL);
    analysis->seconds = iso_time_now() - start;
    return st;
}

void iso_analysis_release(struct iso_analysis *analysis)
{
    iso_arena_release(&analysis->arena);
}

void iso_analysis_phi_interval(double out[2], const struct iso_analysis *analysis)
{
    const bool has = analysis->has_intervals && !isnan(analysis->fit.phi);
    out[0] = has ? analysis->intervals.headline.low : NAN;
    out[1] = has ? analysis->intervals.headline.high : NAN;
}

void iso_analysis_write_interval(struct iso_str *out, const struct iso_analysis *analysis)
{
    iso_str_printf(out, "%g %% interval ", 100 * analysis->options.fit.level);
    iso_interval_write(out, &analysis->intervals.headline);
}

void iso_analysis_worth_interval(double out[2], const struct iso_analysis *analysis, double r)
{
    out[0] = out[1] = NAN;
    if (analysis->has_intervals && analysis->intervals.n_bootstraps &&
        !isnan(iso_fit_worth(&analysis->fit, r, 0)))
        iso_bootstrap_worth(out, &analysis->intervals.bootstrap[0], &analysis->fit, r);
}

void iso_analysis_write_worth(struct iso_str *out, const struct iso_analysis *analysis, double r)
{
    double interval[2];
    iso_fit_write_worth(out, &analysis->fit, r);
    iso_analysis_worth_interval(interval, analysis, r);
    if (!iso_fit_phi_spans(&analysis->fit) && r > 1 && !isnan(interval[0]))
        iso_str_printf(out, " The %g %% interval of its worth is [%.2f, %.2f] blocks.",
                       100 * analysis->options.fit.level, interval[0], interval[1]);
}

enum iso_phi_place iso_phi_place(const double interval[2])
{
    const double low = interval[0], high = interval[1];
    return high < 0              ? ISO_PHI_BELOW_0
           : low > 1             ? ISO_PHI_ABOVE_1
           : low > 0 && high < 1 ? ISO_PHI_BETWEEN
           : low > 0             ? ISO_PHI_ABOVE_0
           : high < 1            ? ISO_PHI_BELOW_1
                                 : ISO_PHI_ANYWHERE;
}
