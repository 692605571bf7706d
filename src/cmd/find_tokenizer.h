/* The tokenizer that a model was trained with, where its run still knows its data. */
#ifndef ISO_CMD_FIND_TOKENIZER_H
#define ISO_CMD_FIND_TOKENIZER_H

#include "base/err.h"
#include "base/mem.h"

/* Names, for iso_tokenizer_open, the tokenizer of the packed data that config.yaml beside the
 * checkpoint (a file, or a run's directory) was trained on; "bytes" without a config.yaml. */
enum iso_status iso_find_tokenizer(const char **name, struct iso_arena *arena,
                                   const char *checkpoint, struct iso_err *err);

#endif
