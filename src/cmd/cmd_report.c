/* isodepth report: a study (and a comparison of recipes) as one page with figures and tables. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/hash.h"
#include "cmd/fit_args.h"
#include "cmd/recipe_args.h"
#include "fit/anchor.h"
#include "plot/adaptions.h"
#include "plot/paper.h"
#include "plot/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct report_args {
    struct iso_fit_args fit;
    struct iso_interval_args interval;
    struct iso_runs_how how;
    struct iso_recipe_args recipes;
    struct iso_hold_args hold;
    bool json, laws, paper;
    const char *out, *law;
    struct iso_strings compare, rates, beyond;
};

#define AT(field) offsetof(struct report_args, field)
static const struct iso_opt options[] = {
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "DIR",
     .help = "directory to write into (required)"},
    {"compare", .letter = 'c', .kind = ISO_OPT_LIST, .offset = AT(compare), .arg = "[NAME=]TABLE",
     .help = "table of another recipe to compare with RUNS"},
    {.kind = ISO_OPT_TABLE, .offset = AT(recipes), .table = &iso_recipe_options},
    {"rates", .kind = ISO_OPT_LIST, .offset = AT(rates), .arg = "RUNS",
     .help = "a learning-rate sweep to add as a section"},
    {"beyond", .kind = ISO_OPT_LIST, .offset = AT(beyond), .arg = "RUNS",
     .help = "runs beyond the grid, to predict but not to fit (with --paper)"},
    {"paper", .kind = ISO_OPT_FLAG, .offset = AT(paper),
     .help = "also write the figures and tables of a paper, and DIR/paper/all.tex"},
    {.kind = ISO_OPT_TABLE, .offset = AT(law), .table = &iso_law_options},
    {"laws", .kind = ISO_OPT_FLAG, .offset = AT(laws), .help = "also compare all laws"},
    {.kind = ISO_OPT_TABLE, .offset = AT(hold), .table = &iso_hold_options},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json),
     .help = "print the files that were written, and the fit, as JSON"},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_table_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_anchor_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_cluster_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(fit), .table = &iso_fit_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(interval), .table = &iso_interval_options},
    {0},
};

static enum iso_status analysis_options(struct iso_analysis_options *o, struct iso_arena *arena,
                                        const struct report_args *a, struct iso_err *err)
{
    enum iso_status st = iso_fit_args_analysis(o, &a->fit, &a->interval, err);
    o->fit.law = iso_law_find(a->law);
    o->laws = a->laws;
    return st == ISO_OK ? iso_fit_args_hold(&o->fit, arena, &a->hold, err) : st;
}

static enum iso_status checksum(struct iso_report_input *in, struct iso_arena *arena,
                                const char *path, struct iso_err *err)
{
    path = iso_fit_table_of(arena, path);
    *in = (struct iso_report_input){.path = path};
    if (iso_str_eq(path, "-"))
        return ISO_OK; /* it has been read already and cannot be read again */
    struct iso_str text = {0};
    enum iso_status st = iso_file_read(&text, path, err);
    in->bytes = text.len;
    in->checksum = iso_xxh64(iso_str_text(&text), text.len, 0);
    iso_str_release(&text);
    return st;
}

/* The command as typed, or called, so that it can be typed again. */
static void command_line(struct iso_str *out, struct iso_operands ops)
{
    iso_str_puts(out, "isodepth report");
    for (size_t i = 0; i < ops.n_words; i++) {
        iso_str_putc(out, ' ');
        iso_str_put_word(out, ops.words[i]);
    }
}

/* Everything that one report needs, released together. */
struct job {
    struct iso_arena arena;
    struct iso_recipes recipes; /* of --group */
    struct iso_runs base, *variant;
    size_t n_variant;
    const char **tables; /* of the variants */
    const char **names;  /* of the base and the variants */
    struct iso_analysis analysis;
    struct iso_compare compare;
    /* Of the first table and of the first beyond the grid, where they are studies that have them.
     */
    struct iso_evals evals, beyond_evals;
    struct iso_adaptions adaptions; /* of the first table, likewise */
    struct iso_runs rate_runs, beyond;
    struct iso_regret rates; /* of --rates */
    bool has_analysis, has_compare, has_rates;
};

static void release(struct job *job)
{
    if (job->has_compare)
        iso_compare_release(&job->compare);
    if (job->has_analysis)
        iso_analysis_release(&job->analysis);
    iso_evals_release(&job->evals);
    iso_evals_release(&job->beyond_evals);
    iso_adaptions_release(&job->adaptions);
    iso_regret_release(&job->rates);
    iso_runs_release(&job->rate_runs);
    iso_runs_release(&job->beyond);
    for (size_t i = 0; i < job->n_variant; i++)
        iso_runs_release(&job->variant[i]);
    iso_runs_release(&job->base);
    iso_recipes_release(&job->recipes);
    iso_arena_release(&job->arena);
}

/* With --group: the base and the variants are parts of RUNS. */
static enum iso_status read_group(struct job *job, struct iso_operands ops,
                                  const struct report_args *a, struct iso_err *err)
{
    enum iso_status st = iso_recipes_read(&job->recipes, ops, &a->how, &a->recipes, err);
    if (st != ISO_OK)
        return st;
    struct iso_recipes *from = &job->recipes;
    job->n_variant = from->n - 1;
    job->variant = ISO_ARENA_NEW_N(&job->arena, struct iso_runs, from->n);
    job->names = from->name;
    job->base = from->table[0];
    memcpy(job->variant, from->table + 1, job->n_variant * sizeof *job->variant);
    memset(from->table, 0, from->n * sizeof *from->table); /* they are the job's now */
    return ISO_OK;
}

/* Every other table is read with the anchor of the base. */
static struct iso_runs_how how_base(const struct job *job, const struct report_args *a)
{
    struct iso_runs_how how = a->how;
    how.anchor = iso_anchor_name(job->base.anchor);
    return how;
}

static enum iso_status read_recipes(struct job *job, struct iso_operands ops,
                                    const struct report_args *a, struct iso_err *err)
{
    const size_t n = a->compare.n;
    if (a->recipes.group)
        return read_group(job, ops, a, err);
    job->variant = ISO_ARENA_NEW_N(&job->arena, struct iso_runs, n + 1);
    enum iso_status st =
        iso_runs_read(&job->base, (const char *const *)ops.at, ops.n, &a->how, err);
    const struct iso_runs_how how = how_base(job, a);
    for (size_t i = 0; i < n && st == ISO_OK; i++) {
        st = iso_runs_read(&job->variant[i], &job->tables[i], 1, &how, err);
        job->n_variant = i + 1;
    }
    return st;
}

static enum iso_status read_tables(struct job *job, struct iso_operands ops,
                                   const struct report_args *a, struct iso_err *err)
{
    enum iso_status st = read_recipes(job, ops, a, err);
    const struct iso_runs_how how = how_base(job, a);
    if (st == ISO_OK)
        st = iso_fit_args_check(&a->fit, &job->base, err);
    if (st == ISO_OK && a->beyond.n > 0)
        st = iso_runs_read(&job->beyond, a->beyond.at, a->beyond.n, &how, err);
    if (st == ISO_OK && a->beyond.n > 0)
        st = iso_evals_read(&job->beyond_evals, a->beyond.at[0], err);
    if (st == ISO_OK && a->beyond.n > 0)
        iso_evals_join(&job->beyond_evals, &job->beyond);
    for (size_t i = 0; i < job->n_variant && st == ISO_OK; i++)
        st = iso_fit_args_check(&a->fit, &job->variant[i], err);
    return st;
}

/* The end of the name of NAME=TABLE, or NULL; a folder has no name before it. */
static const char *end_of_name(const char *text)
{
    const char *at = text + strcspn(text, "=/");
    return *at == '=' && at > text ? at : NULL;
}

/* The base is called after the first of its tables, a variant by its name or after its table. */
static void name_tables(struct job *job, struct iso_operands ops, const struct report_args *a)
{
    const char **paths = ISO_ARENA_NEW_N(&job->arena, const char *, a->compare.n + 1);
    paths[0] = ops.at[0];
    job->tables = paths + 1;
    for (size_t i = 0; i < a->compare.n; i++) {
        const char *end = end_of_name(a->compare.at[i]);
        paths[i + 1] = end ? end + 1 : a->compare.at[i];
    }
    job->names = iso_fit_names(&job->arena, paths, a->compare.n + 1);
    for (size_t i = 0; i < a->compare.n; i++) {
        const char *text = a->compare.at[i], *end = end_of_name(text);
        if (end)
            job->names[i + 1] = iso_arena_strndup(&job->arena, text, (size_t)(end - text));
    }
}

static enum iso_status judge_rates(struct job *job, const struct iso_strings *tables,
                                   struct iso_err *err)
{
    if (tables->n == 0)
        return ISO_OK;
    enum iso_status st = iso_runs_read(&job->rate_runs, tables->at, tables->n,
                                       &(const struct iso_runs_how){.anchor = "both"}, err);
    if (st == ISO_OK)
        st = iso_regret_run(&job->rates, &job->rate_runs, NAN, err);
    job->has_rates = st == ISO_OK;
    return st == ISO_OK ? st : iso_fail_in(err, st, "--rates");
}

static enum iso_status compute(struct job *job, const struct iso_analysis_options *o,
                               struct iso_err *err)
{
    job->has_analysis = true;
    enum iso_status st = iso_analysis_run(&job->analysis, &job->base, o, err);
    if (st != ISO_OK || job->n_variant == 0)
        return st;
    struct iso_compare_options compare = {.fit = o->fit, .resamples = o->resamples};
    job->has_compare = true;
    st = iso_compare_run(&job->compare, &job->base, job->variant, job->n_variant, job->names,
                         &compare, err);
    if (st == ISO_OK && job->recipes.n)
        iso_compare_set_table(&job->compare, &job->recipes.whole);
    return st;
}

static enum iso_status write_report(struct job *job, struct iso_operands ops,
                                    const struct report_args *a, struct iso_err *err)
{
    const struct {
        const char *const *at;
        size_t n;
    } tables[] = {{(const char *const *)ops.at, ops.n},
                  {job->tables, a->compare.n},
                  {a->rates.at, a->rates.n},
                  {a->beyond.at, a->beyond.n}};
    struct iso_report_input *input = ISO_ARENA_NEW_N(
        &job->arena, struct iso_report_input, ops.n + a->compare.n + a->rates.n + a->beyond.n);
    size_t n = 0;
    enum iso_status st = ISO_OK;
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        for (size_t i = 0; i < tables[k].n && st == ISO_OK; i++)
            st = checksum(&input[n++], &job->arena, tables[k].at[i], err);
    struct iso_str command = {0};
    command_line(&command, ops);
    const struct iso_fig_rates rates = {&job->rates, &job->base};
    struct iso_section extra[3];
    size_t n_extra = 0;
    if (job->adaptions.n > 0)
        extra[n_extra++] = iso_adaptions_section(&job->adaptions);
    if (job->evals.n_model > 0)
        extra[n_extra++] = iso_evals_section(&job->evals);
    if (job->has_rates)
        extra[n_extra++] =
            (struct iso_section){"rates", "Learning rates", iso_report_build_rates, &rates};
    struct iso_report report = {.analysis = &job->analysis,
                                .compare = job->has_compare ? &job->compare : NULL,
                                .title = job->names[0],
                                .command = iso_str_text(&command),
                                .input = input,
                                .n_input = n,
                                .extra = extra,
                                .n_extra = n_extra};
    if (st == ISO_OK)
        st = iso_report_write(&report, a->out, err);
    iso_str_release(&command);
    return st;
}

static enum iso_status write_paper(const struct job *job, const char *dir, struct iso_err *err)
{
    const struct iso_paper paper = {.analysis = &job->analysis,
                                    .compare = job->has_compare ? &job->compare : NULL,
                                    .evals = job->evals.n_model > 0 ? &job->evals : NULL,
                                    .rates = job->has_rates ? &job->rates : NULL,
                                    .beyond = &job->beyond,
                                    .beyond_evals = &job->beyond_evals};
    return iso_paper_write(paper, iso_path_in(dir, "paper").text, err);
}

/* The files in `dir`, or in the folder `below` it, and in their folders. */
static enum iso_status put_files(struct iso_json_out *w, const char *dir, const char *below,
                                 struct iso_err *err)
{
    const struct iso_path path = iso_path_in(dir, "%s", below ? below : ".");
    char **names;
    size_t n;
    enum iso_status st = iso_dir_list(&names, &n, path.text, err);
    for (size_t i = 0; st == ISO_OK && i < n; i++) {
        const struct iso_path deeper = iso_path_in(below ? below : ".", "%s", names[i]);
        const char *inside = below ? deeper.text : names[i];
        const struct iso_path whole = iso_path_in(dir, "%s", inside);
        if (!iso_dir_exists(whole.text))
            iso_json_put_string(w, NULL, inside);
        else
            st = put_files(w, dir, inside, err);
    }
    if (st == ISO_OK)
        iso_dir_list_free(names, n);
    return st;
}

/* What was written, and the fit. */
static enum iso_status print_json(FILE *f, const struct job *job, const char *dir,
                                  struct iso_err *err)
{
    struct iso_str text = {0};
    struct iso_json_out w = {&text, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "out", dir);
    iso_json_begin(&w, "files", '[');
    enum iso_status st = put_files(&w, dir, NULL, err);
    iso_json_end(&w, ']');
    iso_analysis_write_json(&w, "fit", &job->analysis);
    iso_json_end(&w, '}');
    if (st == ISO_OK)
        fprintf(f, "%s\n", text.text);
    iso_str_release(&text);
    return st;
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct report_args *a = args;
    struct iso_analysis_options o;
    if (!a->out)
        return iso_fail(err, ISO_USAGE,
                        "--out DIR is missing: the folder to write the report into");
    if (a->beyond.n > 0 && !a->paper)
        return iso_fail(err, ISO_USAGE, "--beyond is for the tables of --paper; add --paper");
    if (a->recipes.group && a->compare.n > 0)
        return iso_fail(err, ISO_USAGE, "--group and --compare exclude each other");
    if (a->recipes.base && !a->recipes.group)
        return iso_fail(err, ISO_USAGE, "--base is for --group; RUNS are the base of --compare");
    struct job job = {0};
    name_tables(&job, ops, a);
    enum iso_status st = analysis_options(&o, &job.arena, a, err);
    if (st == ISO_OK)
        st = iso_dir_make(a->out, err); /* better to know now that a place cannot be written */
    if (st == ISO_OK)
        st = iso_fit_check_overwrite(a->out, (const char *const *)ops.at, ops.n, err);
    if (st == ISO_OK)
        st = iso_fit_check_overwrite(a->out, job.tables, a->compare.n, err);
    if (st == ISO_OK)
        st = iso_fit_check_overwrite(a->out, a->rates.at, a->rates.n, err);
    if (st == ISO_OK)
        st = iso_fit_check_overwrite(a->out, a->beyond.at, a->beyond.n, err);
    if (st == ISO_OK)
        st = read_tables(&job, ops, a, err);
    if (st == ISO_OK)
        st = iso_evals_read(&job.evals, ops.at[0], err);
    if (st == ISO_OK)
        st = iso_adaptions_read(&job.adaptions, ops.at[0], err);
    if (st == ISO_OK)
        iso_evals_join(&job.evals, &job.base);
    if (st == ISO_OK)
        st = judge_rates(&job, &a->rates, err);
    if (st == ISO_OK)
        st = compute(&job, &o, err);
    if (st == ISO_OK)
        st = write_report(&job, ops, a, err);
    if (st == ISO_OK && a->paper)
        st = write_paper(&job, a->out, err);
    if (st == ISO_OK && a->json)
        st = print_json(ops.json, &job, a->out, err);
    else if (st == ISO_OK)
        printf("%s/report.html\n", a->out);
    release(&job);
    return st;
}

const struct iso_cmd iso_cmd_report = {
    .name = "report",
    .operands = "RUNS...",
    .summary = "fit a table of runs and write a page with figures and tables",
    .details =
        "Fits RUNS, which may be whatever isodepth fit reads, and writes into DIR: report.html, "
        "which needs no network; figures/*.svg and *.pdf; tables/*.tex; fit.json; runs.csv. Each "
        "--compare TABLE adds the change of phi between RUNS and that table under the joint law, "
        "and compare.json; with --group COLUMN the values of a column of RUNS are the recipes. A "
        "study with scores (isodepth eval STUDY) gets a section on its tasks, and --rates adds "
        "one on learning rates. --paper writes figures and tables under the labels of the paper "
        "into DIR/paper, with an all.tex that includes them.\n\n"
        "The figures need gnuplot (package gnuplot-nox). Without it the report has only tables, "
        "and says so.",
    .group = "Analysis",
    .min_operands = 1,
    .max_operands = 1000,
    .callable = true,
    .opts = options,
    .size = sizeof(struct report_args),
    .run = run,
};
