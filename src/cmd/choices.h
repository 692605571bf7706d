/* Choices that options offer and the help lists: each reads the table that defines the names. */
#ifndef ISO_CMD_CHOICES_H
#define ISO_CMD_CHOICES_H

#include "cmd/cmd.h"

extern const struct iso_choice iso_choice_laws, iso_choice_solvers, iso_choice_injections;
extern const struct iso_choice iso_choice_checks;
extern const struct iso_choice iso_choice_loops, iso_choice_recipes, iso_choice_launchers;
extern const struct iso_choice iso_choice_columns;
extern const struct iso_choice iso_choice_formats, iso_choice_splits, iso_choice_long_rules;

#endif
