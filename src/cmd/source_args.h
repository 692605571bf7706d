/* How commands read sources of text: their shared options, and what they say about it. */
#ifndef ISO_CMD_SOURCE_ARGS_H
#define ISO_CMD_SOURCE_ARGS_H

#include "cmd/cmd.h"
#include "data/reader.h"

struct iso_source_args {
    const char *format, *field, *encoding, *max_lost;
    bool keep_cr, skip_bad;
};
extern const struct iso_opt_table iso_source_options;

/* The reader's options; what it loses or changes will be in `notes`.  Checks them. */
enum iso_status iso_source_reader(struct iso_reader_opts *out, const struct iso_source_args *args,
                                  struct iso_read_notes *notes, struct iso_err *err);
/* Says what was lost or changed, and which options matter; then releases the notes. */
void iso_source_report(struct iso_read_notes *notes);

/* A share such as 1% or 0.01, below 1. */
enum iso_status iso_parse_share(double *out, const char *option, const char *text,
                                struct iso_err *err);

#endif
