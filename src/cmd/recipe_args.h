/* The recipes that compare and report set against each other: tables of their own, or the rows of
 * one table by a column. */
#ifndef ISO_CMD_RECIPE_ARGS_H
#define ISO_CMD_RECIPE_ARGS_H

#include "cmd/cmd.h"
#include "fit/parts.h"

struct iso_recipe_args {
    const char *group, *base;
};
/* For a command that has a struct iso_recipe_args. */
extern const struct iso_opt_table iso_recipe_options;

/* Recipes inside one table, the base first. */
struct iso_recipes {
    struct iso_runs whole; /* the table as read */
    size_t n;
    struct iso_runs *table; /* [n] */
    const char **name;      /* [n] */
};

/* Reads the files as one table and splits it by args->group.  Release also after a failure. */
enum iso_status iso_recipes_read(struct iso_recipes *out, struct iso_operands ops,
                                 const struct iso_runs_how *how, const struct iso_recipe_args *args,
                                 struct iso_err *err);
void iso_recipes_release(struct iso_recipes *recipes);

#endif
