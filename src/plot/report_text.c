/* The words of the report: headline and method. */
#include "plot/report.h"
#include "plot/svg.h"

#include <math.h>

static bool has_phi(const struct iso_analysis *analysis)
{
    return isfinite(analysis->fit.phi);
}

static void put_phi(struct iso_str *out, const struct iso_analysis *analysis)
{
    double interval[2];
    if (!has_phi(analysis)) {
        iso_str_printf(out,
                       "<p class=\"phi\">α = %.3f, β = %.3f <small>E = %.3f nats, law %s; trust: "
                       "<b>%s</b></small></p>\n",
                       analysis->fit.alpha, analysis->fit.beta, analysis->fit.E,
                       analysis->fit.law->name, iso_trust_name(analysis->checks.trust));
        return;
    }
    if (iso_analysis_undetermined(analysis)) {
        iso_str_printf(out, "<p class=\"phi\">φ is not determined <small>trust: %s</small></p>\n",
                       iso_trust_name(analysis->checks.trust));
        return;
    }
    iso_analysis_phi_interval(interval, analysis);
    iso_str_printf(out, "<p class=\"phi\">φ = %.3f <small>", analysis->fit.phi);
    if (iso_fit_phi_per_r(&analysis->fit))
        iso_str_puts(out, "for the smallest <i>r</i>; ");
    if (isfinite(interval[0]))
        iso_analysis_write_interval(out, analysis);
    else
        iso_str_puts(out, "no interval computed");
    iso_str_printf(out, "; trust: <b>%s</b>%s</small></p>\n",
                   iso_trust_name(analysis->checks.trust),
                   analysis->checks.resampled ? "" : " as far as it was checked");
}

static void put_paragraph(struct iso_str *out, const char *text)
{
    iso_str_puts(out, "<p class=\"verdict\">");
    iso_html_put(out, text);
    iso_str_puts(out, "</p>\n");
}

void iso_report_headline(struct iso_str *out, const struct iso_report *report)
{
    const struct iso_analysis *analysis = report->analysis;
    iso_str_puts(out, "<h1>");
    iso_html_put(out, report->title);
    iso_str_printf(out, " · %zu runs · %s law</h1>\n", analysis->fit.n_runs,
                   analysis->fit.law->name);
    put_phi(out, analysis);
    struct iso_str text = {0};
    iso_analysis_write_verdict(&text, analysis);
    put_paragraph(out, iso_str_text(&text));
    for (size_t i = 0; i < analysis->checks.n; i++)
        if (analysis->checks.at[i].level != ISO_LEVEL_OK) {
            iso_str_clear(&text);
            iso_finding_write(&text, &analysis->checks.at[i], false);
            put_paragraph(out, iso_str_text(&text));
        }
    iso_str_release(&text);
    for (size_t i = 0; report->compare && i < report->compare->n; i++)
        put_paragraph(out, report->compare->variant[i].sentence);
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
