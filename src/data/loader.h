/* The loader: a packed directory (docs/formats.md) as two lists of rows, "train" and "val".
 *
 * Rows were shuffled over the whole corpus when they were packed, so training simply takes row
 * 0, 1, 2, ...; after the last one it starts over.  Another data-order seed gives another
 * permutation of the same rows, computed row by row (iso_dataset_order), without a table. */
#ifndef ISO_DATA_LOADER_H
#define ISO_DATA_LOADER_H

#include "base/err.h"
#include "base/mem.h"
#include "data/shard.h"

#include <stdint.h>

enum iso_split { ISO_SPLIT_TRAIN, ISO_SPLIT_VAL, ISO_N_SPLIT };
extern const char *const iso_split_name[ISO_N_SPLIT]; /* "train", "val" */

struct iso_dataset_split {
    int64_t rows, tokens;   /* tokens = rows * (T+1) */
    double bytes_per_token; /* of the documents of this split, BOS counted; 0: not known */
    struct iso_shard *shards;
    size_t n_shards;
};

struct iso_dataset {
    char *dir;
    int version;                    /* of the packing (shard.h) */
    int64_t T, vocab, vocab_padded; /* padded to a multiple of 64 */
    int64_t bos;                    /* -1: none */
    uint64_t tokenizer_hash;
    char tokenizer_name[64]; /* "bytes", "spm", or "none" for ready token streams */
    char checksum[17];       /* of all rows in order, as hex: the identity of the data */
    struct iso_dataset_split split[ISO_N_SPLIT];
    const struct iso_json *meta; /* all of meta.json, in `arena` */
    struct iso_arena arena;
};

/* Opens a finished directory: reads meta.json, maps the shards, checks every header and that
 * the shards are those that meta.json lists.  The rows themselves are checked by verify, which
 * reads all of them (some GB/s): the trainer calls it once at its start, `loss` for its split. */
enum iso_status iso_dataset_open(struct iso_dataset *ds, const char *dir, struct iso_err *err);
enum iso_status iso_dataset_verify(const struct iso_dataset *ds, struct iso_err *err);
/* The same for files that were written to since they were opened. */
enum iso_status iso_dataset_verify_again(struct iso_dataset *ds, struct iso_err *err);
enum iso_status iso_dataset_verify_split(const struct iso_dataset *ds, enum iso_split split,
                                         struct iso_err *err);
/* Whether the tokenizer.model in the directory, if it has one, is that which packed it. */
enum iso_status iso_dataset_verify_tokenizer(const struct iso_dataset *ds, struct iso_err *err);
void iso_dataset_close(struct iso_dataset *ds);

/* Row `index` of a split into out[T+1].  Safe from several threads. */
enum iso_status iso_dataset_row(const struct iso_dataset *ds, int32_t *out, enum iso_split split,
                                int64_t index, struct iso_err *err);

/* Which row comes at position `i` = 0, 1, 2, ... of training over `rows` rows: epoch i / rows,
 * and within each epoch a permutation that (seed, epoch) chooses; seed 0 is the order of the
 * file, the same in every epoch. */
int64_t iso_dataset_order(int64_t rows, int64_t i, uint64_t seed);

/* The identity of the data from its parts; the packer stores it, open recomputes it. */
void iso_dataset_checksum(char out[17], const struct iso_shard_spec *spec,
                          const struct iso_dataset_split split[ISO_N_SPLIT]);

#endif
