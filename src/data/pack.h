/* Packing: from documents to a directory of shuffled rows (docs/formats.md).  What the readers lost
 * or changed is in the notes of the reader's options, also after an error. */
#ifndef ISO_DATA_PACK_H
#define ISO_DATA_PACK_H

#include "base/err.h"
#include "data/bestfit.h"
#include "data/loader.h"
#include "data/reader.h"

#include <stdbool.h>
#include <stdint.h>

enum { ISO_BOS_AUTO = -2, ISO_BOS_NONE = -1 };

struct iso_pack_opts {
    const char *out;
    const char *const *sources; /* paths for the reader */
    size_t n_sources;
    const char *tokenizer; /* NULL: the sources are ready tokens */
    int64_t vocab;         /* only without a tokenizer */
    int64_t bos;           /* an id, ISO_BOS_NONE or ISO_BOS_AUTO (the tokenizer's) */
    int64_t T;
    double val;       /* share of the documents that is held out, in [0, 1) */
    bool val_by_name; /* instead: files train* and val* are the two splits, as published */
    enum iso_long rule;
    uint64_t seed; /* of the shuffle; 0 keeps the order of the sources */
    int threads;
    struct iso_reader_opts reader;
    bool force;    /* replace a finished directory of other settings */
    size_t memory; /* bytes that the shuffle of a split may hold; 0: 256 MB */
};

struct iso_pack_split {
    struct iso_pack_counts counts;
    int64_t bytes; /* of the documents' text; 0 when it is not known */
};

struct iso_pack_result {
    bool nothing_to_do; /* the directory has exactly this already */
    bool started_over;  /* remains of an interrupted run were removed */
    int64_t documents, duplicates, empty;
    int64_t source_bytes; /* of the files, as they are on disk */
    struct iso_pack_split split[ISO_N_SPLIT];
    double seconds;
    char checksum[17];
};

enum iso_status iso_pack(struct iso_pack_result *result, const struct iso_pack_opts *opts,
                         struct iso_err *err);

#endif
