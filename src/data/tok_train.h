/* Training of a SentencePiece model on documents. */
#ifndef ISO_DATA_TOK_TRAIN_H
#define ISO_DATA_TOK_TRAIN_H

#include "base/err.h"
#include "data/reader.h"

struct iso_tok_train_result {
    int64_t lines, bytes;
    bool truncated; /* there was more text than the trainer takes */
};

/* Trains on the share `sample` of the documents, spread evenly over them; 1: all.  The library
 * holds all of its text in memory, so it gets the first 256 MB of them. */
enum iso_status iso_tok_train(struct iso_tok_train_result *result, const char *out, int64_t vocab,
                              double sample, const char *const *sources, size_t n_sources,
                              const struct iso_reader_opts *reader, struct iso_err *err);

#endif
