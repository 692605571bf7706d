/* Options of a command that a study remembers, so that it is resumed as it was started. */
#ifndef ISO_CMD_STUDY_OPTIONS_H
#define ISO_CMD_STUDY_OPTIONS_H

#include "base/json.h"
#include "cmd/cmd.h"

/* Writes those of `names` (ended by NULL) that were given, as members of the object `w` is in.  An
 * option counts as given when it is not 0, NULL or empty, so these have no other default. */
void iso_study_options_put(struct iso_json_out *w, const struct iso_cmd *cmd,
                           const char *const *names, const void *args);
/* Fills in those that were not given this time; lists are in `arena`, texts where `saved` is. */
void iso_study_options_take(void *args, struct iso_arena *arena, const struct iso_cmd *cmd,
                            const char *const *names, const struct iso_json *saved);

#endif
