/* isodepth compare: what a change of recipe does to phi. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/progress.h"
#include "cmd/fit_args.h"
#include "cmd/recipe_args.h"
#include "fit/anchor.h"
#include "fit/compare.h"

#include <stdio.h>

struct compare_args {
    struct iso_fit_args fit;
    struct iso_runs_how how;
    struct iso_recipe_args recipes;
    double level;
    bool json, latex;
};

static const struct compare_args defaults = {.level = 0.95};

#define AT(field) offsetof(struct compare_args, field)
static const struct iso_opt options[] = {
    {.kind = ISO_OPT_TABLE, .offset = AT(recipes), .table = &iso_recipe_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_table_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_anchor_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(how), .table = &iso_cluster_options},
    {.kind = ISO_OPT_TABLE, .offset = AT(fit), .table = &iso_fit_options},
    {"level", .kind = ISO_OPT_NUMBER, .offset = AT(level),
     .help = "confidence level of the intervals", .min = 0.5, .max = 0.999},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json),
     .help = "print everything as JSON, at full precision"},
    {"latex", .kind = ISO_OPT_FLAG, .offset = AT(latex),
     .help = "print the tables as LaTeX (booktabs)"},
    {0},
};

static void print(FILE *json, const struct iso_compare *compare, const struct compare_args *a)
{
    struct iso_str text = {0};
    if (a->json) {
        struct iso_json_out w = {&text, 2, 0, false};
        iso_compare_write_json(&w, compare);
        iso_str_putc(&text, '\n');
    } else if (a->latex) {
        struct iso_table t;
        iso_compare_summary_table(&t, compare);
        iso_table_write(&text, &t, ISO_TABLE_LATEX, false);
        iso_table_release(&t);
        iso_str_putc(&text, '\n');
        iso_compare_channel_table(&t, compare);
        iso_table_write(&text, &t, ISO_TABLE_LATEX, false);
        iso_table_release(&t);
    } else {
        iso_compare_write_page(&text, compare, iso_colour_wanted(stdout));
    }
    if (a->json)
        fputs(iso_str_text(&text), json);
    else
        iso_print_page(iso_str_text(&text));
    iso_str_release(&text);
}

/* A table for each recipe. */
static enum iso_status read_tables(struct iso_recipes *out, struct iso_arena *arena,
                                   struct iso_operands ops, const struct iso_runs_how *how,
                                   struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    struct iso_runs_how own = *how;
    const char **names = iso_fit_names(arena, (const char *const *)ops.at, ops.n);
    if (ops.n < 2)
        return iso_fail(err, ISO_USAGE,
                        "VARIANT is missing; usage: isodepth compare BASE VARIANT..., or "
                        "isodepth compare RUNS --group COLUMN for recipes in one table");
    out->table = ISO_NEW_N(struct iso_runs, ops.n);
    out->name = ISO_NEW_N(const char *, ops.n);
    out->n = ops.n;
    for (size_t i = 0; st == ISO_OK && i < ops.n; i++) {
        out->name[i] = names[i];
        st = iso_runs_read(&out->table[i], (const char *const *)&ops.at[i], 1, &own, err);
        own.anchor = iso_anchor_name(out->table[0].anchor); /* the base's, for all */
    }
    return st;
}

static enum iso_status read_recipes(struct iso_recipes *out, struct iso_arena *arena,
                                    struct iso_operands ops, const struct compare_args *a,
                                    struct iso_err *err)
{
    if (a->recipes.base && !a->recipes.group)
        return iso_fail(err, ISO_USAGE, "--base is for --group; without it the first table is it");
    enum iso_status st = a->recipes.group ? iso_recipes_read(out, ops, &a->how, &a->recipes, err)
                                          : read_tables(out, arena, ops, &a->how, err);
    for (size_t i = 0; st == ISO_OK && i < out->n; i++)
        st = iso_fit_args_check(&a->fit, &out->table[i], err);
    return st;
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct compare_args *a = args;
    struct iso_compare_options o = {.resamples = iso_fit_args_resamples(&a->fit)};
    struct iso_compare compare = {0};
    struct iso_recipes recipes = {0};
    struct iso_arena arena = {0};
    enum iso_status st = iso_fit_args_format(a->json, a->latex, err);
    if (st == ISO_OK)
        st = iso_fit_args_options(&o.fit, &a->fit, err);
    o.fit.level = a->level;
    if (st == ISO_OK)
        st = read_recipes(&recipes, &arena, ops, a, err);
    if (st == ISO_OK)
        st = iso_compare_run(&compare, &recipes.table[0], &recipes.table[1], recipes.n - 1,
                             recipes.name, &o, err);
    if (st == ISO_OK && a->recipes.group)
        iso_compare_set_table(&compare, &recipes.whole);
    if (st == ISO_OK)
        print(ops.json, &compare, a);
    iso_compare_release(&compare);
    iso_recipes_release(&recipes);
    iso_arena_release(&arena);
    return st;
}

const struct iso_cmd iso_cmd_compare = {
    .name = "compare",
    .operands = "BASE [VARIANT...]",
    .summary = "measure the change of phi between recipes",
    .details =
        "BASE and each VARIANT are tables of runs (see isodepth help fit) or study directories. "
        "With --group COLUMN all rows are in one table, and the values of that column are the "
        "recipes. The comparison uses the budgets that all recipes have, and the r = 1 runs of "
        "the base for all of them. The interval of the difference comes from leaving out each "
        "(budget, r) cell of both recipes in turn. docs/fitting.md defines the two estimators and "
        "the token, capacity and width channels.",
    .group = "Analysis",
    .min_operands = 1,
    .max_operands = 100,
    .callable = true,
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct compare_args),
    .run = run,
};
