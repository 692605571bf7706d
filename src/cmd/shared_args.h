/* Small groups of options that several commands share; those of fits are in fit_args.h, those of
 * sources of text in source_args.h. */
#ifndef ISO_CMD_SHARED_ARGS_H
#define ISO_CMD_SHARED_ARGS_H

#include "cmd/cmd.h"

/* --set KEY=VALUE, for a command that reads a grid into a struct iso_strings. */
extern const struct iso_opt_table iso_grid_options;

#endif
