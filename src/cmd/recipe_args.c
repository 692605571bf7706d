/* Recipes inside one table: see recipe_args.h. */
#include "cmd/recipe_args.h"

#include <stdlib.h>
#include <string.h>

static const struct iso_opt opts[] = {
    {"group", .kind = ISO_OPT_STRING, .offset = offsetof(struct iso_recipe_args, group),
     .arg = "COLUMN", .help = "the recipes are the values of this column, all in one table"},
    {"base", .kind = ISO_OPT_STRING, .offset = offsetof(struct iso_recipe_args, base),
     .arg = "VALUE", .help = "with --group: the recipe that the others are compared with",
     .fallback = "that of the first row"},
    {0},
};

const struct iso_opt_table iso_recipe_options = {opts, NULL};

static enum iso_status no_base(const struct iso_parts *parts, const char *base, const char *column,
                               struct iso_err *err)
{
    struct iso_str known = {0};
    for (size_t i = 0; i < parts->n; i++)
        iso_str_printf(&known, "%s%s", i ? ", " : "", parts->value[i]);
    const enum iso_status st = iso_fail(err, ISO_BAD_INPUT, "--base %s: column %s has %s", base,
                                        column, iso_str_text(&known));
    iso_str_release(&known);
    return st;
}

/* The part of the base goes to the front. */
static void bring_forward(struct iso_parts *parts, size_t base)
{
    const char *value = parts->value[base];
    const struct iso_runs table = parts->table[base];
    memmove(parts->value + 1, parts->value, base * sizeof *parts->value);
    memmove(parts->table + 1, parts->table, base * sizeof *parts->table);
    parts->value[0] = value;
    parts->table[0] = table;
}

enum iso_status iso_recipes_read(struct iso_recipes *out, struct iso_operands ops,
                                 const struct iso_runs_how *how, const struct iso_recipe_args *args,
                                 struct iso_err *err)
{
    struct iso_runs_how split = *how;
    struct iso_parts parts;
    split.part = args->group;
    enum iso_status st =
        iso_runs_read(&out->whole, (const char *const *)ops.at, ops.n, &split, err);
    if (st != ISO_OK)
        return st;
    iso_parts_split(&parts, &out->whole);
    const char *base = args->base ? args->base : out->whole.first_part;
    const size_t first = iso_parts_find(&parts, base);
    if (first == parts.n)
        st = no_base(&parts, base, args->group, err);
    else if (parts.n < 2)
        st = iso_fail(err, ISO_BAD_INPUT,
                      "--group %s: every row has %s, so there is nothing to compare", args->group,
                      base);
    else
        bring_forward(&parts, first);
    out->n = parts.n;
    out->table = parts.table;
    out->name = parts.value;
    return st;
}

void iso_recipes_release(struct iso_recipes *recipes)
{
    struct iso_parts parts = {recipes->n, recipes->name, recipes->table};
    iso_parts_release(&parts);
    iso_runs_release(&recipes->whole);
    *recipes = (struct iso_recipes){0};
}
