/* What the parser, the help, the man pages and the completion ask of a command's options. */
#ifndef ISO_CMD_OPTIONS_H
#define ISO_CMD_OPTIONS_H

#include "base/str.h"
#include "cmd/cmd.h"

/* All options of a command, those of shared tables in their place and with offsets into the
 * command's struct; ends with a NULL name.  free() it. */
struct iso_opt *iso_options_of(const struct iso_cmd *cmd);
/* The command's struct with all defaults; free() it. */
void *iso_options_defaults(const struct iso_cmd *cmd);

/* What the value is called: "DIR"; NULL for a flag. */
const char *iso_option_arg(const struct iso_opt *o);
/* "-o, --out DIR", with space for the letter where there is none. */
void iso_option_label(char out[64], const struct iso_opt *o);
/* The help of an option with its names and its default, which is looked up in `defaults`. */
void iso_option_describe(struct iso_str *out, const struct iso_opt *o, const void *defaults);

/* Where a name is among those of a choice; the number of names when it is not there. */
size_t iso_choice_index(const struct iso_choice *c, const char *name);
/* "once, recurrent or none", where `word` is "or". */
void iso_choice_write(struct iso_str *out, const struct iso_choice *c, const char *word);

#endif
