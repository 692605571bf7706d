/* Choices: see choices.h. */
#include "cmd/choices.h"

#include "cmd/design_grid.h"
#include "data/bestfit.h"
#include "data/loader.h"
#include "data/reader.h"
#include "fit/check.h"
#include "fit/fit.h"
#include "fit/solver.h"
#include "loop/loop.h"
#include "plan/record.h"
#include "sweep/launch.h"

/* Of a list of pointers to rows, which NULL ends. */
#define NAME_AND_HELP(of, list, help_member)                                                       \
    static const char *of##_name(size_t i)                                                         \
    {                                                                                              \
        return (list)[i] ? (list)[i]->name : NULL;                                                 \
    }                                                                                              \
    static const char *of##_help(size_t i)                                                         \
    {                                                                                              \
        return (list)[i]->help_member;                                                             \
    }

NAME_AND_HELP(law, iso_laws, summary)
const struct iso_choice iso_choice_laws = {"Laws", law_name, law_help};

static const char *check_name(size_t i)
{
    return iso_check_table[i].name;
}

static const char *check_help(size_t i)
{
    return iso_check_table[i].statistic;
}

const struct iso_choice iso_choice_checks = {"Checks", check_name, check_help};

NAME_AND_HELP(solver, iso_solvers, summary)
const struct iso_choice iso_choice_solvers = {"Solvers", solver_name, solver_help};

static const char *injection_name(size_t i)
{
    return i <= ISO_INJECT_NONE ? iso_injection_name((enum iso_injection)i) : NULL;
}

const struct iso_choice iso_choice_injections = {"Injection", injection_name, NULL};

NAME_AND_HELP(loop, iso_loops, help)
const struct iso_choice iso_choice_loops = {"Loop mechanisms", loop_name, loop_help};

const struct iso_choice iso_choice_recipes = {"Recipes", iso_design_recipe, NULL};

static const char *column_name(size_t i)
{
    return iso_columns[i].name;
}

const struct iso_choice iso_choice_columns = {"Columns", column_name, NULL};

NAME_AND_HELP(launcher, iso_launchers, help)
const struct iso_choice iso_choice_launchers = {"Launchers", launcher_name, launcher_help};

const struct iso_choice iso_choice_formats = {"Formats", iso_reader_format_name,
                                              iso_reader_format_help};

static const char *split_name(size_t i)
{
    return i < ISO_N_SPLIT ? iso_split_name[i] : NULL;
}

const struct iso_choice iso_choice_splits = {"Splits", split_name, NULL};

static const char *long_rule_name(size_t i)
{
    return i < ISO_N_LONG ? iso_long_name[i] : NULL;
}

const struct iso_choice iso_choice_long_rules = {"Long documents", long_rule_name, NULL};
