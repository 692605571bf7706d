/* Help pages, from the command tables. */
#ifndef ISO_CMD_HELP_H
#define ISO_CMD_HELP_H

#include "cmd/cmd.h"

#include <stdio.h>

void iso_help_overview(FILE *f);
/* Lists the commands of two words that begin with this one; false when there is none. */
bool iso_help_family(FILE *f, const char *word);
void iso_help_command(FILE *f, const struct iso_cmd *cmd);

#endif
