/* The words of the report: headline, verdict, method. */
#include "plot/report.h"
#include "plot/svg.h"

#include <math.h>

static bool has_phi(const struct iso_analysis *analysis)
{
    return isfinite(analysis->fit.phi);
}

/* The recurrence that the verdict speaks of: 4 as in the paper, else the largest. */
static double example_r(const struct iso_runs *runs)
{
    double best = 1;
    for (size_t i = 0; i < runs->n; i++) {
        if (runs->at[i].r == 4)
            return 4;
        best = fmax(best, runs->at[i].r);
    }
    return best;
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

void iso_report_verdict(struct iso_str *out, const struct iso_analysis *analysis)
{
    if (!has_phi(analysis)) {
        iso_str_printf(out, "The law %s was fitted to %zu runs with R² = %.4f; it has no φ.",
                       analysis->fit.law->name, analysis->fit.n_runs, analysis->fit.r2);
        return;
    }
    if (analysis->undetermined) {
        iso_str_printf(out,
                       "These runs do not determine φ: %s. The fit ended at %.3f, which means "
                       "nothing.",
                       analysis->undetermined, analysis->fit.phi);
        return;
    }
    double interval[2];
    iso_analysis_write_worth(out, analysis, example_r(analysis->runs));
    iso_str_puts(out, out->len ? " " : "");
    if (iso_fit_phi_per_r(&analysis->fit))
        iso_str_puts(out, "Each r has its own φ; what follows is about that of the smallest. ");
    iso_analysis_phi_interval(interval, analysis);
    if (!isfinite(interval[0]))
        iso_str_puts(out, "No interval was computed, so this number has no error bar.");
    else if (iso_fit_phi_spans(&analysis->fit) || iso_fit_phi_per_r(&analysis->fit))
        iso_str_puts(out, about_ends[iso_phi_place(interval)]);
    const struct iso_intervals *v = &analysis->intervals;
    if (analysis->has_intervals && v->widest &&
        v->widest_high - v->widest_low > 1.001 * (interval[1] - interval[0]))
        iso_str_printf(out, " The widest interval, %s, is [%.3f, %.3f].", v->widest, v->widest_low,
                       v->widest_high);
    if (analysis->warning)
        iso_str_printf(out, " Warning: %s.", analysis->warning);
}

static void put_phi(struct iso_str *out, const struct iso_analysis *analysis)
{
    double interval[2];
    if (!has_phi(analysis)) {
        iso_str_printf(out,
                       "<p class=\"phi\">α = %.3f, β = %.3f <small>E = %.3f nats, law %s"
                       "</small></p>\n",
                       analysis->fit.alpha, analysis->fit.beta, analysis->fit.E,
                       analysis->fit.law->name);
        return;
    }
    if (analysis->undetermined) {
        iso_str_puts(out, "<p class=\"phi\">φ is not determined</p>\n");
        return;
    }
    iso_analysis_phi_interval(interval, analysis);
    iso_str_printf(out, "<p class=\"phi\">φ = %.3f <small>", analysis->fit.phi);
    if (iso_fit_phi_per_r(&analysis->fit))
        iso_str_puts(out, "for the smallest <i>r</i>; ");
    if (isfinite(interval[0]))
        iso_str_printf(out, "95 %% interval [%.3f, %.3f], bootstrap over (budget, <i>r</i>) cells",
                       interval[0], interval[1]);
    else
        iso_str_puts(out, "no interval computed");
    iso_str_puts(out, "</small></p>\n");
}

void iso_report_headline(struct iso_str *out, const struct iso_report *report)
{
    const struct iso_analysis *analysis = report->analysis;
    iso_str_puts(out, "<h1>");
    iso_html_put(out, report->title);
    iso_str_printf(out, " · %zu runs · %s law</h1>\n", analysis->fit.n_runs,
                   analysis->fit.law->name);
    put_phi(out, analysis);
    struct iso_str verdict = {0};
    iso_report_verdict(&verdict, analysis);
    iso_str_puts(out, "<p class=\"verdict\">");
    iso_html_put(out, iso_str_text(&verdict));
    iso_str_puts(out, "</p>\n");
    iso_str_release(&verdict);
    for (size_t i = 0; report->compare && i < report->compare->n; i++) {
        iso_str_puts(out, "<p class=\"verdict\">");
        iso_html_put(out, report->compare->variant[i].sentence);
        iso_str_puts(out, "</p>\n");
    }
}

static const char *const injection_words[] = {
    [ISO_INJECT_ONCE] = "once, with the parameters that are used once",
    [ISO_INJECT_RECURRENT] = "with the recurrent block",
    [ISO_INJECT_NONE] = "not at all",
};

void iso_report_method(struct iso_str *out, const struct iso_report *report)
{
    const struct iso_analysis *analysis = report->analysis;
    const struct iso_fit *fit = &analysis->fit;
    iso_str_puts(out, "<p>The law is <code>");
    iso_html_put(out, fit->law->formula);
    iso_str_printf(out,
                   "</code>, where <i>D</i> are the training tokens and the loss is in nats per "
                   "token. It was fitted to %zu runs by minimising the summed Huber loss "
                   "(δ&nbsp;=&nbsp;%g) of log predicted minus log measured loss, as the best of %d "
                   "starts drawn uniformly in the box of the parameters; %d of them reached the "
                   "minimum reported. The parameters of the injection layer are counted %s.</p>\n",
                   fit->n_runs, fit->delta, fit->starts, fit->starts_best,
                   injection_words[fit->injection]);
    if (analysis->has_intervals && analysis->intervals.n_bootstraps)
        iso_str_printf(
            out,
            "<p>The interval of φ resamples (budget, <i>r</i>) cells with replacement "
            "and refits, %zu times, each refit with its own starts; its ends are the "
            "2.5&nbsp;%% and 97.5&nbsp;%% points. Runs within a cell share their errors, "
            "so resampling single runs would give an interval that is too narrow.</p>\n",
            analysis->intervals.bootstrap[0].n_resamples);
    iso_str_puts(
        out,
        "<p>The empirical optimum of a cell is the minimum of a parabola in log&nbsp;<i>N</i> "
        "through its runs. The frontier minimises the fitted loss at a budget over the model size, "
        "with the real training FLOPs per token at each width.</p>\n"
        "<p>R² says little here: laws with a wrong φ reach 0.99 as well. Look at the residuals and "
        "at the intervals instead.</p>\n");
}
