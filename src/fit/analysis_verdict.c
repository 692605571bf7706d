/* The result in words, the same ones wherever it is shown: see analysis.h. */
#include "fit/analysis.h"

#include <math.h>

const char *iso_analysis_undetermined(const struct iso_analysis *s)
{
    return s->checks.trust == ISO_TRUST_UNDETERMINED ? iso_checks_worst(&s->checks)->message : NULL;
}

static void write_law(struct iso_str *out, const struct iso_analysis *s, const char *bold,
                      const char *plain)
{
    const struct iso_fit *f = &s->fit;
    iso_str_printf(out, "%sL = %.4g + %.4g N^-%.4f + %.4g D^-%.4f%s", bold, f->E, f->A, f->alpha,
                   f->B, f->beta, plain);
    if (!isnan(s->r))
        iso_str_printf(out, "   (r = %g)", s->r);
}

static void write_interval(struct iso_str *out, const struct iso_analysis *s)
{
    iso_str_puts(out, "   ");
    iso_analysis_write_interval(out, s);
}

static void write_phi(struct iso_str *out, const struct iso_analysis *s, const char *bold,
                      const char *plain)
{
    double interval[2];
    iso_analysis_phi_interval(interval, s);
    if (iso_analysis_undetermined(s)) {
        iso_str_printf(out, "%sphi is not determined%s", bold, plain);
        return;
    }
    iso_str_printf(out, "%sphi = %.3f%s", bold, s->fit.phi, plain);
    if (iso_fit_phi_per_r(&s->fit))
        iso_str_puts(out, " for the smallest r");
    if (!iso_fit_phi_is_free(&s->fit))
        iso_str_puts(out, "   (held fixed)");
    else if (isnan(interval[0]))
        iso_str_puts(out, "   (no interval was computed)");
    else
        write_interval(out, s);
}

void iso_analysis_write_headline(struct iso_str *out, const struct iso_analysis *s, bool colour)
{
    const char *bold = colour ? "\033[1m" : "", *plain = colour ? "\033[0m" : "";
    if (isnan(s->fit.phi))
        write_law(out, s, bold, plain);
    else
        write_phi(out, s, bold, plain);
    iso_str_printf(out, "   trust: %s%s%s", bold, iso_trust_name(s->checks.trust), plain);
    if (!s->checks.resampled && s->checks.trust != ISO_TRUST_UNDETERMINED)
        iso_str_puts(out, " as far as it was checked");
}

static const char *const about_ends[] = {
    [ISO_PHI_ANYWHERE] = "The interval contains both φ = 0 and φ = 1: these runs do not decide "
                         "what a recurrence is worth.",
    [ISO_PHI_BELOW_0] = "The interval lies below φ = 0: a looped block is worth less than the same "
                        "block run once.",
    [ISO_PHI_BELOW_1] = "The interval excludes φ = 1, so a loop is worth less than unique blocks; "
                        "it does not exclude φ = 0, where looping adds nothing.",
    [ISO_PHI_BETWEEN] = "The interval excludes both φ = 0 (looping adds nothing to the parameters "
                        "it reuses) and φ = 1 (a loop is as good as unique blocks).",
    [ISO_PHI_ABOVE_0] = "The interval excludes φ = 0, so looping adds capacity; it does not "
                        "exclude φ = 1, where a loop is as good as unique blocks.",
    [ISO_PHI_ABOVE_1] = "The interval lies above φ = 1: a loop is worth more than unique blocks.",
};

/* The recurrence that the verdict speaks of: 4 as in the paper, else the largest. */
static double example_r(const struct iso_runs *runs)
{
    double best = 1;
    for (size_t i = 0; i < runs->n; i++)
        if (best != 4)
            best = runs->at[i].r == 4 ? 4 : fmax(best, runs->at[i].r);
    return best;
}

/* On which side of x the interval lies is left open by the draw of the refits. */
static void write_borderline(struct iso_str *out, const struct iso_interval *v, double x)
{
    const double other = 1 - x;
    iso_str_printf(out,
                   "An end of the interval lies within its Monte Carlo error of φ = %g: whether it "
                   "excludes φ = %g is borderline.",
                   x, x);
    if (!iso_interval_borderline(v, other))
        iso_str_printf(out, " It %s φ = %g.",
                       v->low <= other && other <= v->high ? "contains" : "excludes", other);
}

static void write_ends(struct iso_str *out, const struct iso_analysis *s, const double interval[2])
{
    const struct iso_interval *v = &s->intervals.headline;
    if (iso_interval_borderline(v, 0))
        write_borderline(out, v, 0);
    else if (iso_interval_borderline(v, 1))
        write_borderline(out, v, 1);
    else
        iso_str_puts(out, about_ends[iso_phi_place(interval)]);
}

static void write_undetermined(struct iso_str *out, const struct iso_analysis *s)
{
    const char *before = "";
    iso_str_printf(out, "These runs do not determine %s (", isnan(s->fit.phi) ? "the law" : "φ");
    for (size_t i = 0; i < s->checks.n; i++)
        if (s->checks.at[i].level == ISO_LEVEL_FAIL) {
            iso_str_printf(out, "%s%s", before, s->checks.at[i].check->name);
            before = ", ";
        }
    iso_str_puts(out, ").");
    if (!isnan(s->fit.phi))
        iso_str_printf(out, " The fit ended at %.3f, which means nothing.", s->fit.phi);
}

void iso_analysis_write_verdict(struct iso_str *out, const struct iso_analysis *s)
{
    if (iso_analysis_undetermined(s)) {
        write_undetermined(out, s);
        return;
    }
    const size_t before = out->len;
    iso_analysis_write_worth(out, s, example_r(s->runs));
    iso_str_puts(out, out->len > before ? " " : "");
    if (isnan(s->fit.phi)) {
        iso_str_printf(out, "The law %s was fitted to %zu runs with R2 = %.4f; it has no φ.",
                       s->fit.law->name, s->fit.n_runs, s->fit.r2);
        return;
    }
    double interval[2];
    iso_analysis_phi_interval(interval, s);
    if (iso_fit_phi_per_r(&s->fit))
        iso_str_puts(out, "Each r has its own φ; what follows is about that of the smallest. ");
    if (!iso_fit_phi_is_free(&s->fit))
        iso_str_puts(out, "φ was given, not measured.");
    else if (isnan(interval[0]))
        iso_str_puts(out, "No interval was computed, so this number has no error bar.");
    else if (iso_fit_phi_spans(&s->fit) || iso_fit_phi_per_r(&s->fit))
        write_ends(out, s, interval);
}
