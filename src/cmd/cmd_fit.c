/* isodepth fit: a table of runs goes in, phi comes out. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/progress.h"
#include "cmd/choices.h"
#include "cmd/fit_args.h"
#include "fit/analyses.h"
#include "plot/report.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct fit_args {
    struct iso_fit_args fit;
    struct iso_interval_args interval;
    struct iso_runs_how how;
    struct iso_hold_args hold;
    const char *law, *out;
    bool json, latex, laws;
};

static const struct fit_args defaults = {.out = ""};

#define AT(field) offsetof(struct fit_args, field)
static const struct iso_opt options[] = {
    {.kind = ISO_OPT_TABLE, .offset = AT(law), .table = &iso_law_options},
    {"laws", .kind = ISO_OPT_FLAG, .offset = AT(laws), .help = "also compare all laws"},
    {"by", .kind = ISO_OPT_STRING, .offset = AT(how.part), .arg = "COLUMN",
     .help = "fit once for each value of this column"},
    {.kind = ISO_OPT_TABLE, .offset = AT(hold), .table = &iso_hold_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_table_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_anchor_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_cluster_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(fit), .table = &iso_fit_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(interval), .table = &iso_interval_options},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json),
     .help = "print everything as JSON, at full precision"},
    {"latex", .kind = ISO_OPT_FLAG, .offset = AT(latex),
     .help = "print the tables as LaTeX (booktabs)"},
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "DIR",
     .help = "also write fit.json, runs.csv, tables/*.tex and figures here"},
    {0},
};

/* What is printed and written: one analysis, or (--by) one for each value of a column. */
struct result {
    bool by;
    struct iso_analysis one;
    struct iso_analyses all;
};

static void write_json(struct iso_str *out, const struct result *result)
{
    struct iso_json_out w = {out, 2, 0, false};
    if (result->by)
        iso_analyses_write_json(&w, &result->all);
    else
        iso_analysis_write_json(&w, NULL, &result->one);
    iso_str_putc(out, '\n');
}

static void build(struct iso_table *t, const struct result *result,
                  const struct iso_analysis_table *row)
{
    if (result->by)
        iso_analyses_table(t, &result->all, row);
    else
        row->build(t, &result->one);
}

/* Writes and releases a table; nothing where it is empty. */
static void put_latex(struct iso_str *out, const char *title, struct iso_table *t)
{
    if (t->n_cell > t->n_col) {
        iso_str_printf(out, "%% %s\n", title);
        iso_table_write(out, t, ISO_TABLE_LATEX, false);
        iso_str_putc(out, '\n');
    }
    iso_table_release(t);
}

static void write_latex(struct iso_str *out, const struct result *result)
{
    struct iso_table t;
    if (result->by) {
        iso_analyses_summary(&t, &result->all);
        put_latex(out, "One fit for each value", &t);
    }
    for (const struct iso_analysis_table *row = iso_analysis_tables; row->name; row++) {
        build(&t, result, row);
        put_latex(out, row->title, &t);
    }
}

static void write_page(struct iso_str *out, const struct result *result, bool colour)
{
    if (result->by) {
        iso_analyses_write_page(out, &result->all, colour);
        return;
    }
    iso_analysis_write_page(out, &result->one, colour);
    iso_str_printf(out,
                   "\nMore, cell by cell (jackknife, frontier, optima): --out DIR, or --json. "
                   "%.1f s.\n",
                   result->one.seconds);
}

/* Writes the text and empties it. */
static enum iso_status write_file(struct iso_path path, struct iso_str *text, struct iso_err *err)
{
    const enum iso_status st = iso_file_write(path.text, iso_str_text(text), text->len, err);
    iso_str_clear(text);
    return st;
}

/* The folder of a part: "r4", or its value with _ for what a name of a file should not have. */
static struct iso_path folder_of(const char *dir, const struct iso_analysis *analysis)
{
    struct iso_str name = {0};
    for (const char *p = analysis->part; *p; p++)
        iso_str_putc(&name, isalnum((unsigned char)*p) || strchr("+-.", *p) ? *p : '_');
    const struct iso_path path =
        iso_path_in(dir, isnan(analysis->r) ? "by-%s" : "r%s", iso_str_text(&name));
    iso_str_release(&name);
    return path;
}

/* DIR/figures; with --by those of each value in a folder of its own, such as DIR/r4/figures. */
static enum iso_status draw(const char *dir, const struct result *result, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    if (!result->by)
        return iso_report_draw(&result->one, dir, err);
    for (size_t i = 0; i < result->all.n && st == ISO_OK; i++) {
        const struct iso_analysis *analysis = &result->all.analysis[i];
        st = iso_report_draw(analysis, folder_of(dir, analysis).text, err);
    }
    return st;
}

/* DIR/tables/NAME.tex; releases the table. */
static enum iso_status write_table(const char *dir, const char *name, struct iso_table *t,
                                   struct iso_err *err)
{
    struct iso_str text = {0};
    enum iso_status st = ISO_OK;
    iso_table_write(&text, t, ISO_TABLE_LATEX, false);
    if (t->n_cell > t->n_col)
        st = write_file(iso_path_in(dir, "tables/%s.tex", name), &text, err);
    iso_table_release(t);
    iso_str_release(&text);
    return st;
}

static enum iso_status write_tables(const char *dir, const struct result *result,
                                    struct iso_err *err)
{
    struct iso_table t;
    enum iso_status st = iso_dir_make(iso_path_in(dir, "tables").text, err);
    if (st == ISO_OK && result->by) {
        iso_analyses_summary(&t, &result->all);
        st = write_table(dir, "by", &t, err);
    }
    for (const struct iso_analysis_table *row = iso_analysis_tables; st == ISO_OK && row->name;
         row++) {
        build(&t, result, row);
        st = write_table(dir, row->name, &t, err);
    }
    return st;
}

static enum iso_status write_dir(const char *dir, const struct result *result,
                                 const struct iso_runs *runs, struct iso_err *err)
{
    struct iso_str text = {0};
    enum iso_status st = write_tables(dir, result, err);
    if (st == ISO_OK) {
        write_json(&text, result);
        st = write_file(iso_path_in(dir, "fit.json"), &text, err);
    }
    if (st == ISO_OK) {
        iso_runs_write_csv(&text, runs);
        st = write_file(iso_path_in(dir, "runs.csv"), &text, err);
    }
    if (st == ISO_OK)
        st = draw(dir, result, err);
    iso_str_release(&text);
    return st;
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
    return iso_fit_args_hold(&out->fit, arena, &a->hold, err);
}

static enum iso_status analyse(struct result *result, const struct iso_runs *runs,
                               const struct iso_analysis_options *o, struct iso_err *err)
{
    if (!result->by)
        return iso_analysis_run(&result->one, runs, o, err);
    if (runs->part_is_r && iso_law_shapes(o->fit.law) > 0 && isnan(iso_fit_fixed(&o->fit, "phi")))
        return iso_fail(err, ISO_USAGE,
                        "--by %s: phi compares different r; use --law chinchilla for one fit per r",
                        runs->part_column);
    return iso_analyses_run(&result->all, runs, o, err);
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct fit_args *a = args;
    struct iso_analysis_options o;
    struct iso_arena arena = {0};
    struct iso_runs runs = {0};
    struct result result = {.by = a->how.part};
    enum iso_status st = analysis_options(&o, &arena, a, err);
    if (st == ISO_OK && *a->out)
        st = iso_fit_check_overwrite(a->out, (const char *const *)ops.at, ops.n, err);
    if (st == ISO_OK)
        st = iso_runs_read(&runs, (const char *const *)ops.at, ops.n, &a->how, err);
    if (st == ISO_OK)
        st = iso_fit_args_check(&a->fit, &runs, err);
    if (st == ISO_OK)
        st = analyse(&result, &runs, &o, err);
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
        if (a->json)
            fputs(iso_str_text(&text), ops.json);
        else
            iso_print_page(iso_str_text(&text));
        iso_str_release(&text);
    }
    iso_analysis_release(&result.one);
    iso_analyses_release(&result.all);
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
        "n_inject, tokens, loss. The column names of other programs are recognised, and the page "
        "says which column was taken for which. Rows without a usable loss are left out and "
        "listed. The first line says how far to trust the result: good, caution or undetermined; "
        "the checks below it say why. docs/fitting.md explains them.",
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
