/* A model in a file: safetensors with the names of the paper's code; the architecture, and what
 * else the writer wants to record, is in the metadata. */
#ifndef ISO_MODEL_CHECKPOINT_H
#define ISO_MODEL_CHECKPOINT_H

#include "model/model.h"
#include "model/safetensors.h"

/* What decides every number of a run, as a line of text: in the metadata of what it saves, under
 * this key, and in the first line of its config.yaml, behind this mark. */
#define ISO_IDENTITY_KEY  "identity"
#define ISO_IDENTITY_MARK "# isodepth "
/* The metadata key of the training data's tokenizer. */
#define ISO_TOKENIZER_KEY "tokenizer_hash"

/* Writes weights and architecture atomically; `extra` is added to the metadata. */
enum iso_status iso_model_save(const struct iso_model *m, const char *path,
                               const struct iso_meta *extra, size_t n_extra, struct iso_err *err);

/* Opens a checkpoint: a file, or a run's directory (its finished model, or else its latest
 * saved state), and not one of another run.  The caller frees the model.  The weights are packed.
 * When `meta` is not NULL the open file is left there for its metadata, and the caller closes it.
 */
enum iso_status iso_model_load(struct iso_model **m, struct iso_safetensors *meta, const char *path,
                               const struct iso_kern *kern, bool trainable, struct iso_err *err);
/* Opens a checkpoint to run it, not to train it, with the best kernels of this machine. */
enum iso_status iso_model_open(struct iso_model **m, const char *path, struct iso_err *err);
/* Rejects a tokenizer that is not the one of the training data: another hash (0: unknown), or
 * another vocabulary.  The model's may be larger than that of its own tokenizer. */
enum iso_status iso_model_check_tokenizer(const struct iso_model *m, int64_t vocab, uint64_t hash,
                                          struct iso_err *err);
/* Copies the tensors of an open file into m->w: exactly those of the table, in their shapes. */
enum iso_status iso_model_read(struct iso_model *m, const struct iso_safetensors *f,
                               const char *path, struct iso_err *err);

/* The architecture in a file's metadata, checked as if a user had written it. */
enum iso_status iso_checkpoint_arch(struct iso_arch *a, const struct iso_safetensors *f,
                                    const char *path, struct iso_err *err);
/* The hash of the training data's tokenizer; 0: the file does not say. */
uint64_t iso_checkpoint_tokenizer(const struct iso_safetensors *f);
/* The directory of a checkpoint; itself when it is one. */
const char *iso_checkpoint_dir(struct iso_arena *arena, const char *checkpoint);
/* The file that a path means; see iso_model_load.  The text is the arena's. */
enum iso_status iso_checkpoint_path(const char **file, struct iso_arena *arena, const char *path,
                                    struct iso_err *err);

#endif
