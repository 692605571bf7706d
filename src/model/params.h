/* The parameter table: one block of floats, and for every tensor in it a row that says its name
 * in checkpoints, its sizes, where it starts, which optimiser group it is in and how it starts.
 * Initialisation, optimiser, checkpoints and counts are loops over this table; gradients are
 * blocks of the same layout.
 *
 * What must hold:
 *  1. c_q, c_k and c_v of a layer are together: one [3d, d] matrix for the projection, three
 *     matrices for the optimiser and for checkpoints.
 *  2. Offsets depend on the architecture only. */
#ifndef ISO_MODEL_PARAMS_H
#define ISO_MODEL_PARAMS_H

#include "plan/arch.h"

/* The sizes of an architecture as tensors use them. */
struct iso_dims {
    size_t d, H, Q;              /* width: H heads of Q */
    size_t V, vocab;             /* padded vocabulary; tokens in use */
    size_t T;                    /* trained sequence length */
    size_t prelude, recur, coda; /* layers; recur are those of an iteration */
    size_t sets;                 /* of recur layers: 1, or one for each iteration */
};

struct iso_dims iso_dims_of(const struct iso_arch *a);

enum iso_init {
    ISO_INIT_ONE,
    ISO_INIT_NORMAL,  /* standard deviation `size` */
    ISO_INIT_UNIFORM, /* in ±size */
    ISO_INIT_LOOP,    /* by the loop mechanism */
};

struct iso_param {
    char name[64];
    size_t dims[3]; /* outermost first; a matrix is (out, in) */
    int n_dims;
    size_t n;      /* elements */
    size_t offset; /* in the block, in floats */
    enum iso_param_group group;
    enum iso_init init;
    double size;
    /* For ISO_INIT_LOOP: the row of the loop's parameter table, and the set that it is in (-1: in
     * every one). */
    int loop_row, loop_set;
};

/* Offsets of one layer's tensors. */
struct iso_layer_params {
    size_t qkv, proj, fc, down; /* down is mlp.c_proj */
    size_t n1, n3;
};

struct iso_params {
    struct iso_param *at;
    size_t n, room;
    size_t floats;                  /* of the block */
    struct iso_layer_params *layer; /* prelude, recurrent (set by set), coda layers in turn */
    size_t n_layer;
    size_t wte, head, norm_emb, norm_recur, norm_final;
};

/* Lays out the parameters of a built architecture. */
void iso_params_init(struct iso_params *p, const struct iso_arch *arch);
void iso_params_release(struct iso_params *p);

/* Start values into the block `w`: every tensor has its own stream of the seed. */
void iso_params_start(const struct iso_params *p, float *w, const struct iso_arch *arch,
                      uint64_t seed);
/* The row of a name, NULL when there is none. */
const struct iso_param *iso_params_find(const struct iso_params *p, const char *name);

#endif
