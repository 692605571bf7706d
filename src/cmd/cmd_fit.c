/* isodepth fit: a table of runs goes in, phi comes out. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "cmd/choices.h"
#include "cmd/fit_args.h"
#include "fit/analysis.h"
#include "plot/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct fit_args {
    struct iso_fit_args fit;
    struct iso_interval_args interval;
    struct iso_runs_how how;
    const char *law, *by, *out;
    double phi;
    struct iso_strings fix;
    bool json, latex, laws;
};

static const struct fit_args defaults = {.out = "", .phi = NAN};

static const char *by_name(size_t i)
{
    return i == 0 ? "r" : NULL;
}

static const struct iso_choice by_names = {"Fits", by_name, NULL};

#define AT(field) offsetof(struct fit_args, field)
static const struct iso_opt options[] = {
    {.kind = ISO_OPT_TABLE, .offset = AT(law), .table = &iso_law_options},
    {"laws", .kind = ISO_OPT_FLAG, .offset = AT(laws), .help = "also compare all laws"},
    {"by", .kind = ISO_OPT_CHOICE, .offset = AT(by), .arg = "COLUMN",
     .help = "fit once for each value of a column", .choice = &by_names},
    {"fix", .kind = ISO_OPT_LIST, .offset = AT(fix), .arg = "NAME=X",
     .help = "hold a parameter at this value: E=1.69, alpha=0.35, phi=0"},
    {"phi", .kind = ISO_OPT_NUMBER, .offset = AT(phi), .help = "the same for phi", .min = -3,
     .max = 3},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_table_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_anchor_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(fit), .table = &iso_fit_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(interval), .table = &iso_interval_options},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json),
     .help = "print everything as JSON, in full precision"},
    {"latex", .kind = ISO_OPT_FLAG, .offset = AT(latex),
     .help = "print the tables as LaTeX (booktabs)"},
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "DIR",
     .help = "also write fit.json, runs.csv, tables/*.tex and figures here"},
    {0},
};

/* What is printed and written: one study, or one for each r. */
struct result {
    struct iso_analyses all;
    bool by_r;
};

static void write_json(struct iso_str *out, const struct result *result)
{
    struct iso_json_out w = {out, 2, 0, false};
    if (!result->by_r) {
        iso_analysis_write_json(&w, NULL, &result->all.analysis[0]);
    } else {
        iso_json_begin(&w, NULL, '{');
        iso_json_begin(&w, "fits", '[');
        for (size_t i = 0; i < result->all.n; i++)
            iso_analysis_write_json(&w, NULL, &result->all.analysis[i]);
        iso_json_end(&w, ']');
        iso_json_end(&w, '}');
    }
    iso_str_putc(out, '\n');
}

/* A table of every study, one below the other. */
static void build(struct iso_table *t, const struct result *result,
                  const struct iso_analysis_table *row)
{
    row->build(t, &result->all.analysis[0]);
    for (size_t i = 1; i < result->all.n; i++) {
        struct iso_table more;
        row->build(&more, &result->all.analysis[i]);
        for (size_t k = more.n_col; k < more.n_cell; k++)
            iso_table_put(t, more.cell[k]);
        iso_table_release(&more);
    }
}

static void write_latex(struct iso_str *out, const struct result *result)
{
    for (const struct iso_analysis_table *row = iso_analysis_tables; row->name; row++) {
        struct iso_table t;
        build(&t, result, row);
        if (t.n_cell > t.n_col) {
            iso_str_printf(out, "%% %s\n", row->title);
            iso_table_write(out, &t, ISO_TABLE_LATEX, false);
            iso_str_putc(out, '\n');
        }
        iso_table_release(&t);
    }
}

static void write_page(struct iso_str *out, const struct result *result, bool colour)
{
    if (!result->by_r) {
        iso_analysis_write_page(out, &result->all.analysis[0], colour);
        iso_str_printf(out,
                       "\nMore, cell by cell (jackknife, frontier, optima): --out DIR, or --json. "
                       "%.1f s.\n",
                       result->all.analysis[0].seconds);
        return;
    }
    for (const struct iso_analysis_table *row = iso_analysis_tables; row->name; row++) {
        struct iso_table t;
        build(&t, result, row);
        if (t.n_cell > t.n_col) {
            iso_str_printf(out, colour ? "\033[1m%s\033[0m\n" : "%s\n", row->title);
            iso_table_write(out, &t, ISO_TABLE_TEXT, colour);
            iso_str_putc(out, '\n');
        }
        iso_table_release(&t);
    }
}

/* Writes the text and empties it. */
static enum iso_status write_file(struct iso_path path, struct iso_str *text, struct iso_err *err)
{
    const enum iso_status st = iso_file_write(path.text, iso_str_text(text), text->len, err);
    iso_str_clear(text);
    return st;
}

/* DIR/figures; with --by r those of each r in DIR/r4/figures. */
static enum iso_status draw(const char *dir, const struct result *result, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    if (!result->by_r)
        return iso_report_draw(&result->all.analysis[0], dir, err);
    for (size_t i = 0; i < result->all.n && st == ISO_OK; i++) {
        const struct iso_analysis *analysis = &result->all.analysis[i];
        st = iso_report_draw(analysis, iso_path_in(dir, "r%g", analysis->r).text, err);
    }
    return st;
}

static enum iso_status write_dir(const char *dir, const struct result *result,
                                 const struct iso_runs *runs, struct iso_err *err)
{
    struct iso_str text = {0};
    enum iso_status st = iso_dir_make(iso_path_in(dir, "tables").text, err);
    if (st == ISO_OK) {
        write_json(&text, result);
        st = write_file(iso_path_in(dir, "fit.json"), &text, err);
    }
    if (st == ISO_OK) {
        iso_runs_write_csv(&text, runs);
        st = write_file(iso_path_in(dir, "runs.csv"), &text, err);
    }
    for (const struct iso_analysis_table *row = iso_analysis_tables; st == ISO_OK && row->name;
         row++) {
        struct iso_table t;
        build(&t, result, row);
        iso_table_write(&text, &t, ISO_TABLE_LATEX, false);
        if (t.n_cell > t.n_col)
            st = write_file(iso_path_in(dir, "tables/%s.tex", row->name), &text, err);
        iso_str_clear(&text);
        iso_table_release(&t);
    }
    if (st == ISO_OK)
        st = draw(dir, result, err);
    iso_str_release(&text);
    return st;
}

/* --fix NAME=X; the names live in the arena. */
static enum iso_status hold_parameters(struct iso_fit_options *out, struct iso_arena *arena,
                                       const struct fit_args *a, struct iso_err *err)
{
    if (!isnan(a->phi))
        iso_fit_fix(out, "phi", a->phi);
    if (a->fix.n >= ISO_MAX_FIXED)
        return iso_fail(err, ISO_USAGE, "--fix: at most %d parameters", ISO_MAX_FIXED - 1);
    for (size_t i = 0; i < a->fix.n; i++) {
        const char *equals = strchr(a->fix.at[i], '=');
        double x;
        if (!equals || !iso_parse_double(equals + 1, &x))
            return iso_fail(err, ISO_USAGE, "--fix: expected NAME=NUMBER, found \"%s\"",
                            a->fix.at[i]);
        iso_fit_fix(out, iso_arena_strndup(arena, a->fix.at[i], (size_t)(equals - a->fix.at[i])),
                    x);
    }
    return ISO_OK;
}

static enum iso_status analysis_options(struct iso_analysis_options *out, struct iso_arena *arena,
                                        const struct fit_args *a, struct iso_err *err)
{
    enum iso_status st = iso_fit_args_analysis(out, &a->fit, &a->interval, err);
    if (st == ISO_OK)
        st = iso_fit_args_format(a->json, a->latex, err);
    if (st != ISO_OK)
        return st;
    out->fit.law = iso_law_find(a->law);
    out->laws = a->laws;
    st = hold_parameters(&out->fit, arena, a, err);
    if (st != ISO_OK)
        return st;
    if (a->by && iso_law_shapes(out->fit.law) > 0 && isnan(iso_fit_fixed(&out->fit, "phi")))
        return iso_fail(err, ISO_USAGE,
                        "--by r: phi compares different r; use --law chinchilla for one fit per r");
    if (!isnan(a->phi) && !iso_law_param(out->fit.law, "phi"))
        return iso_fail(err, ISO_USAGE, "--phi: law %s has no phi", a->law);
    return ISO_OK;
}

static enum iso_status run_studies(struct result *result, const struct iso_runs *runs,
                                   const struct iso_analysis_options *o, struct iso_err *err)
{
    if (result->by_r)
        return iso_analyses_by_r(&result->all, runs, o, err);
    result->all.analysis = ISO_NEW(struct iso_analysis);
    result->all.table = ISO_NEW(struct iso_runs);
    result->all.n = 1;
    return iso_analysis_run(&result->all.analysis[0], runs, o, err);
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct fit_args *a = args;
    struct iso_analysis_options o;
    struct iso_arena arena = {0};
    struct iso_runs runs = {0};
    struct result result = {.by_r = a->by};
    enum iso_status st = analysis_options(&o, &arena, a, err);
    if (st == ISO_OK && *a->out)
        st = iso_fit_check_overwrite(a->out, (const char *const *)ops.at, ops.n, err);
    if (st == ISO_OK)
        st = iso_runs_read(&runs, (const char *const *)ops.at, ops.n, &a->how, err);
    if (st == ISO_OK)
        st = iso_fit_args_check(&a->fit, &runs, err);
    if (st == ISO_OK)
        st = run_studies(&result, &runs, &o, err);
    if (st == ISO_OK && *a->out)
        st = write_dir(a->out, &result, &runs, err);
    if (st == ISO_OK) {
        struct iso_str text = {0};
        if (a->json)
            write_json(&text, &result);
        else if (a->latex)
            write_latex(&text, &result);
        else
            write_page(&text, &result, iso_colour_wanted(stdout));
        fputs(iso_str_text(&text), a->json ? ops.json : stdout);
        iso_str_release(&text);
    }
    iso_analyses_free(&result.all);
    iso_runs_release(&runs);
    iso_arena_release(&arena);
    return st;
}

const struct iso_cmd iso_cmd_fit = {
    .name = "fit",
    .operands = "RUNS...",
    .summary = "measure phi: fit a scaling law to a table of runs",
    .details =
        "RUNS are tables with one row per run (CSV, JSON lines or columns, Parquet; compressed or "
        "not), study directories, or - for standard input. Columns: budget, r, n_once, n_rec, "
        "n_inject, tokens, loss; the names of other programs are understood, and what was "
        "understood is printed. Rows without a usable loss are left out and listed. The first line "
        "says how far to trust the result: good, caution or undetermined; the checks that say so "
        "are listed below "
        "it. docs/fitting.md explains them.",
    .group = "Analysis",
    .min_operands = 1,
    .max_operands = 1000,
    .callable = true,
    .lists = (const struct iso_choice *const[]){&iso_choice_laws, &iso_choice_solvers,
                                                &iso_choice_checks, NULL},
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct fit_args),
    .run = run,
};
