/* The fit of a study directory: see study_fit.h. */
#include "cmd/study_fit.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "fit/analysis.h"
#include "fit/study_rows.h"
#include "plot/adaptions.h"
#include "plot/evals.h"
#include "plot/rates.h"
#include "plot/report.h"

#include <math.h>
#include <stdio.h>

static enum iso_status fit(struct iso_analysis *analysis, struct iso_runs *runs, const char *dir,
                           bool intervals, struct iso_err *err)
{
    struct iso_analysis_options o = iso_analysis_defaults();
    o.fit.threads = iso_cpu_count();
    if (!intervals)
        o.resamples = 0;
    enum iso_status st = iso_runs_read(runs, &dir, 1, NULL, err);
    return st == ISO_OK ? iso_analysis_run(analysis, runs, &o, err) : st;
}

static enum iso_status write_report(const struct iso_analysis *analysis, const char *dir,
                                    const char *title, struct iso_err *err)
{
    const struct iso_path table = iso_path_in(dir, "runs.csv"), to = iso_path_in(dir, "report");
    struct iso_str text = {0}, command = {0};
    struct iso_evals evals;
    struct iso_adaptions adaptions = {0};
    struct iso_section extra[2];
    size_t n_extra = 0;
    iso_str_puts(&command, "isodepth report ");
    iso_str_put_word(&command, dir);
    iso_str_puts(&command, " --out ");
    iso_str_put_word(&command, to.text);
    enum iso_status st = iso_evals_read(&evals, dir, err);
    if (st == ISO_OK)
        st = iso_adaptions_read(&adaptions, dir, err);
    if (st == ISO_OK)
        st = iso_file_read_regular(&text, table.text, err);
    struct iso_report_input input = {.path = table.text,
                                     .checksum = iso_xxh64(iso_str_text(&text), text.len, 0),
                                     .bytes = text.len};
    if (st == ISO_OK)
        iso_evals_join(&evals, analysis->runs);
    if (adaptions.n > 0)
        extra[n_extra++] = iso_adaptions_section(&adaptions);
    if (evals.n_model > 0)
        extra[n_extra++] = iso_evals_section(&evals);
    struct iso_report report = {.analysis = analysis,
                                .title = title,
                                .command = command.text,
                                .input = &input,
                                .n_input = 1,
                                .extra = extra,
                                .n_extra = n_extra};
    if (st == ISO_OK)
        st = iso_report_write(&report, to.text, err);
    iso_str_release(&text);
    iso_str_release(&command);
    iso_evals_release(&evals);
    iso_adaptions_release(&adaptions);
    return st;
}

static void write_phi(struct iso_str *out, const struct iso_analysis *analysis)
{
    iso_analysis_write_headline(out, analysis, false);
    iso_str_printf(out, "   (%zu runs, R2 = %.4f)\n", analysis->fit.n_runs, analysis->fit.r2);
    iso_analysis_write_verdict(out, analysis);
    iso_str_putc(out, '\n');
    iso_checks_write_text(out, &analysis->checks, false);
}

enum iso_status iso_study_fit_report(struct iso_str *out, const char *study_dir, const char *title,
                                     struct iso_err *err)
{
    struct iso_analysis analysis = {0};
    struct iso_runs runs = {0};
    struct iso_err why;
    enum iso_status st = fit(&analysis, &runs, study_dir, true, &why);
    if (st == ISO_BAD_INPUT) {
        iso_str_printf(out, ISO_STUDY_NO_FIT "%s\n", why.msg);
        st = ISO_OK;
    } else if (st == ISO_OK) {
        write_phi(out, &analysis);
        st = write_report(&analysis, study_dir, title, err);
    } else {
        *err = why;
    }
    iso_analysis_release(&analysis);
    iso_runs_release(&runs);
    return st;
}

/* The rate itself where the sweep ran it, else none in particular. */
static double rate_among(const struct iso_runs *runs, double rate)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->at[i].lr_base == rate)
            return rate;
    return NAN;
}

enum iso_status iso_study_rates_report(struct iso_str *out, const char *study_dir,
                                       const char *title, double rate, struct iso_err *err)
{
    struct iso_runs runs = {0};
    struct iso_regret regret = {0};
    const struct iso_path to = iso_path_in(study_dir, "report");
    const struct iso_runs_how all = {.anchor = "both"};
    enum iso_status st = iso_runs_read(&runs, &study_dir, 1, &all, err);
    if (st == ISO_OK)
        st = iso_regret_run(&regret, &runs, rate_among(&runs, rate), err);
    if (st == ISO_OK)
        st = iso_rates_write(&regret, title, to.text, err);
    if (st == ISO_OK) {
        iso_regret_verdict(out, &regret);
        iso_str_putc(out, '\n');
    }
    iso_regret_release(&regret);
    iso_runs_release(&runs);
    return st;
}

enum iso_status iso_study_check(const char *study_dir, struct iso_err *err)
{
    const struct iso_path table = iso_path_in(study_dir, "runs.csv");
    struct iso_sheet sheet;
    struct iso_runs runs = {0};
    bool found;
    enum iso_status st = iso_file_find_regular(&found, table.text, err);
    if (!found)
        return st;
    st = iso_sheet_read(&sheet, table.text, err);
    if (st == ISO_OK)
        st = iso_study_rows_check(&runs, &sheet, study_dir, err);
    iso_sheet_release(&sheet);
    iso_runs_release(&runs);
    return st;
}

bool iso_study_phi_so_far(struct iso_str *out, const char *study_dir)
{
    struct iso_analysis analysis = {0};
    struct iso_runs runs = {0};
    struct iso_err why;
    bool fitted = fit(&analysis, &runs, study_dir, false, &why) == ISO_OK;
    if (fitted) {
        if (iso_analysis_undetermined(&analysis))
            iso_str_puts(out, "phi is not determined");
        else
            iso_str_printf(out, "phi = %.3f", analysis.fit.phi);
        iso_str_printf(out, "   (%zu runs, R2 = %.4f; interval and trust: isodepth fit ",
                       analysis.fit.n_runs, analysis.fit.r2);
        iso_str_put_word(out, study_dir);
        iso_str_putc(out, ')');
    }
    iso_analysis_release(&analysis);
    iso_runs_release(&runs);
    return fitted;
}
