/* The public functions: see include/isodepth.h. */
#include "isodepth.h"

#include "base/parallel.h"
#include "fit/analysis.h"
#include "plan/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *isodepth_version(void)
{
    return ISODEPTH_VERSION;
}

static void pass_on(char *message, size_t size, const struct iso_err *err)
{
    if (message && size)
        snprintf(message, size, "%s", err->msg);
}

char *isodepth_plan_csv(const char *grid_path, char *message, size_t message_size)
{
    struct iso_arena arena = {0};
    struct iso_err err = {""};
    struct iso_grid grid;
    struct iso_plan_run *runs;
    struct iso_str csv = {0};
    size_t n;
    enum iso_status st = iso_grid_read(&grid, &arena, grid_path, &err);
    if (st == ISO_OK)
        st = iso_grid_plan(&runs, &n, &grid, &arena, &err);
    if (st == ISO_OK) {
        struct iso_table t;
        iso_plan_table(&t, runs, n);
        iso_table_write(&csv, &t, ISO_TABLE_CSV, false);
        iso_table_release(&t);
    } else {
        pass_on(message, message_size, &err);
    }
    iso_arena_release(&arena);
    return csv.text;
}

struct isodepth_fit {
    struct iso_runs runs;
    struct iso_analysis analysis;
};

void isodepth_fit_defaults(struct isodepth_fit_options *options)
{
    struct iso_analysis_options paper = iso_analysis_defaults();
    *options = (struct isodepth_fit_options){
        .law = paper.fit.law->name,
        .injection = iso_injection_name(paper.fit.injection),
        .starts = paper.fit.starts,
        .resamples = paper.resamples == ISO_RESAMPLES_AUTO ? -1 : (int)paper.resamples,
        .seed = paper.fit.seed,
        .threads = iso_cpu_count(),
    };
}

static enum iso_status translate(struct iso_analysis_options *out,
                                 const struct isodepth_fit_options *options, struct iso_err *err)
{
    *out = iso_analysis_defaults();
    out->fit.law = iso_law_find(options->law);
    if (!out->fit.law)
        return iso_fail(err, ISO_USAGE, "there is no law \"%s\"", options->law);
    if (!iso_injection_parse(&out->fit.injection, options->injection))
        return iso_fail(err, ISO_USAGE, "there is no way \"%s\" to count the injection",
                        options->injection);
    const bool resamples_ok = options->resamples <= 0 || options->resamples >= ISO_MIN_RESAMPLES;
    if (options->starts < 1 || !resamples_ok || options->threads < 1)
        return iso_fail(err, ISO_USAGE,
                        "starts and threads must be positive, resamples 0 or at least %d",
                        ISO_MIN_RESAMPLES);
    out->fit.starts = options->starts;
    out->fit.seed = options->seed;
    out->fit.threads = options->threads;
    out->resamples = options->resamples < 0 ? ISO_RESAMPLES_AUTO : (size_t)options->resamples;
    return ISO_OK;
}

struct isodepth_fit *isodepth_fit_new(const char *csv, size_t len,
                                      const struct isodepth_fit_options *options, char *message,
                                      size_t message_size)
{
    struct iso_err err = {""};
    struct iso_analysis_options o;
    struct isodepth_fit *fit = ISO_NEW(struct isodepth_fit);
    enum iso_status st = translate(&o, options, &err);
    if (st == ISO_OK)
        st = iso_runs_add(&fit->runs, csv, len, "table", NULL, &err);
    if (st == ISO_OK)
        st = iso_runs_finish(&fit->runs, &err);
    if (st == ISO_OK)
        st = iso_analysis_run(&fit->analysis, &fit->runs, &o, &err);
    if (st == ISO_OK)
        return fit;
    pass_on(message, message_size, &err);
    isodepth_fit_free(fit);
    return NULL;
}

double isodepth_fit_value(const struct isodepth_fit *fit, const char *name)
{
    const struct iso_fit *f = &fit->analysis.fit;
    double interval[2];
    iso_analysis_phi_interval(interval, &fit->analysis);
    const struct {
        const char *name;
        double value;
    } values[] = {{"phi", f->phi},
                  {"phi_low", interval[0]},
                  {"phi_high", interval[1]},
                  {"A", f->A},
                  {"alpha", f->alpha},
                  {"B", f->B},
                  {"beta", f->beta},
                  {"E", f->E},
                  {"r2", f->r2},
                  {"huber_sum", f->huber_sum},
                  {"n_runs", (double)f->n_runs}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (iso_str_eq(values[i].name, name))
            return values[i].value;
    return NAN;
}

double isodepth_fit_predict(const struct isodepth_fit *fit, double n_once, double n_rec, double r,
                            double tokens)
{
    const struct iso_run run = {.n_once = n_once, .n_rec = n_rec, .r = r, .tokens = tokens};
    const struct iso_fit *law = &fit->analysis.fit;
    return iso_fit_missing(law, r) ? NAN : iso_fit_loss(law, &run);
}

char *isodepth_fit_json(const struct isodepth_fit *fit)
{
    struct iso_str text = {0};
    struct iso_json_out w = {&text, 2, 0, false};
    iso_analysis_write_json(&w, NULL, &fit->analysis);
    return text.text;
}

void isodepth_fit_free(struct isodepth_fit *fit)
{
    if (!fit)
        return;
    iso_analysis_release(&fit->analysis);
    iso_runs_release(&fit->runs);
    free(fit);
}
