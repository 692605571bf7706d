/* A cache of keys and values: what precedes the sequences of a pass.
 *
 * Slot s holds the keys and values of one execution of one layer: at + s longest 2d is [longest,
 * 2d], key and value of a position side by side.  With a budget below r an iteration i uses the
 * slots of iteration i mod budget, so that of each earlier position the last `budget` iterations
 * are kept (Geiping et al., 2025).  Slots follow the network: prelude, iterations, coda. */
#ifndef ISO_MODEL_KV_H
#define ISO_MODEL_KV_H

#include "model/model.h"

struct iso_kv {
    float *at;                /* owned */
    size_t longest, position; /* room; positions that are filled */
    int budget;
};

/* Room for `longest` positions at r iterations, of which the last `budget` are kept (0: all). */
void iso_kv_init(struct iso_kv *kv, const struct iso_model *m, size_t longest, int r, int budget);
void iso_kv_release(struct iso_kv *kv);
size_t iso_kv_floats(const struct iso_kv *kv, const struct iso_model *m);

/* The first slot of iteration i, and of the coda; 0 without a cache. */
size_t iso_kv_iteration(const struct iso_kv *kv, const struct iso_dims *dim, int i);
size_t iso_kv_coda(const struct iso_kv *kv, const struct iso_dims *dim);
/* Puts the keys and values of a sequence's T positions, qkv [T, 3d], into a slot behind those that
 * are there; returns what its queries attend to. */
struct iso_attended iso_kv_put(struct iso_kv *kv, const struct iso_model *m, size_t slot,
                               const float *qkv, size_t T);
/* Fills an empty cache with what it keeps of a full one: of each position the last iterations. */
void iso_kv_limit(struct iso_kv *kv, const struct iso_kv *full, const struct iso_model *m);
/* How many positions may run at once at r iterations. */
size_t iso_kv_at_once(const struct iso_kv *kv, int r, size_t most);

#endif
