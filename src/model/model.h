/* A model: an architecture, its weights, the weights packed for the kernels, position tables.
 *
 * A model is shared by all workers and read-only while they run; each worker has its own pass
 * (pass.h).  After the weights change, iso_model_pack (or every iso_model_pack_item, in any
 * order and on any thread) must run before the next pass. */
#ifndef ISO_MODEL_MODEL_H
#define ISO_MODEL_MODEL_H

#include "kern/kern.h"
#include "model/params.h"

/* One matrix [out, in] of the weights, packed for x Wᵀ and, when training, for dy W. */
struct iso_matrix {
    size_t offset, out, in;
    struct iso_packed forward, reverse;
};

struct iso_layer {
    struct iso_matrix *qkv, *proj, *fc, *down;
    size_t n1, n3; /* offsets of the norm scales */
};

struct iso_model {
    struct iso_arch arch;
    struct iso_dims dim; /* its sizes */
    const struct iso_kern *kern;
    struct iso_params params;
    float *w;                /* [params.floats] */
    bool trainable;          /* packed for backward passes too */
    uint64_t tokenizer_hash; /* of the training data's tokenizer; 0: unknown */

    struct iso_matrix *matrix; /* everything that gemm uses */
    size_t n_matrix;
    unsigned char *packed;   /* the memory behind them */
    struct iso_layer *layer; /* prelude, recurrent (set by set), coda layers in turn */
    struct iso_matrix *head;

    float *cos, *sin; /* [positions, head size / 2] */
    size_t positions;
};

/* A model with weights all zero; `arch` is built.  The caller frees it. */
struct iso_model *iso_model_new(const struct iso_arch *arch, const struct iso_kern *kern,
                                bool trainable);
void iso_model_free(struct iso_model *m);
/* Bytes of the weights and of their packed copies, before anything is allocated. */
size_t iso_model_bytes(const struct iso_arch *arch, const struct iso_kern *kern, bool trainable);

/* The matrix at an offset of the weights; NULL when there is none. */
const struct iso_matrix *iso_model_matrix(const struct iso_model *m, size_t offset);

void iso_model_pack(struct iso_model *m);
void iso_model_pack_item(struct iso_model *m, size_t i); /* matrix i of n_matrix */
/* Extends the rotary tables to at least n positions; not while passes run. */
void iso_model_extend(struct iso_model *m, size_t n);

#endif
