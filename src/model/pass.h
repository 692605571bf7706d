/* A pass: one worker's way through the network with a few sequences at a time.
 *
 *   tokens → wte → norm_emb → prelude → loop(recurrent layers, norm_recur) x r → coda
 *          → norm_final → lm_head → softcap → loss
 *
 * A pass owns all activations that it will ever need, in one allocation made at its start.
 *
 * What must hold:
 *  1. Nothing is allocated and nothing synchronises while a pass runs.
 *  2. Iterations before the last `window` keep nothing: they run in one layer's scratch, and
 *     their backward is not run at all.
 *  3. What a pass computes for a sequence does not depend on the other sequences beside it
 *     beyond the order of sums in the gradients.
 *
 * Letters: n sequences of T tokens, rows = n T, d width, H heads, V padded vocabulary. */
#ifndef ISO_MODEL_PASS_H
#define ISO_MODEL_PASS_H

#include "kern/crew.h"
#include "model/kv.h"
#include "model/model.h"

struct iso_pass_size {
    size_t T;      /* longest sequence */
    size_t n;      /* sequences at once: rows are at most n T */
    int r, window; /* iterations; how many of the last ones have a backward (0: forward only) */
};

/* --- what is handed in --- */

/* n rows of T+1 tokens: T inputs, T targets; a target below 0 does not count. */
struct iso_batch {
    const int32_t *rows;
    size_t n, T;
    size_t skip; /* scoring: of each sequence the losses of this many targets are not wanted */
    struct iso_kv *kv; /* what precedes each sequence; NULL: nothing */
};

/* The sequences at hand, as the pass holds them. */
struct iso_pass_input {
    size_t n, T, rows, skip;
    int32_t *token, *target; /* [rows] */
    struct iso_kv *kv;       /* NULL: nothing precedes the sequences */
    float *grad;             /* where gradients are added; NULL without a backward */
};

/* --- what is kept for the backward --- */

/* Of one execution of one layer. */
struct iso_acts {
    float *x;             /* [rows, d] input */
    float *qkv;           /* [rows, 3d], q and k rotated and normalised */
    float *qk_rstd;       /* [rows, 2H] */
    float *att;           /* [rows, d] attention's output */
    float *lse;           /* [n, H, T] */
    float *mid;           /* [rows, d] between attention and MLP */
    float *hidden;        /* [rows, 4d]: before the squared ReLU */
    float *rstd1, *rstd3; /* [rows] */
};

struct iso_pass_kept {
    float *embedded, *rstd_emb;   /* [rows, d], [rows] */
    struct iso_acts *acts;        /* prelude; then the kept iterations' layers; then coda */
    float *e;                     /* [rows, d] the prelude's output */
    float **S;                    /* states before each kept iteration and after the last */
    float **out, **s, **rstd_rec; /* of each kept iteration: block output, its norm, [rows] */
    float *last, *rstd_final;     /* [rows, d] the coda's output */
    float *final;                 /* [rows, d] after norm_final */
    float *loss;                  /* [rows] */
};

/* --- free between two operations --- */
struct iso_pass_scratch {
    struct iso_acts acts; /* for layers that keep nothing: x = mid */
    float *norm, *back;   /* [rows, d] */
    float *wide;          /* [rows, 4d] */
    float *dx, *de;       /* [rows, d] gradients at the point reached, at the prelude's output */
    float *dS, *dS_next, *ds;
    float *logits; /* [ISO_LOGIT_ROWS, V] */
    void *packed;  /* an activation as a gemm's right-hand side */
};

struct iso_pass {
    const struct iso_model *m;
    const struct iso_kern *kern; /* the model's, or that of a crew */
    struct iso_pass_size size;
    struct iso_pass_input in;
    struct iso_pass_kept kept;
    struct iso_pass_scratch scratch;
    struct iso_loop_pass loop;
    struct iso_ws ws;
    float *memory; /* behind all of them */
};

#define ISO_SOFTCAP 15.0f     /* logits are 15 tanh(z/15) */
enum { ISO_LOGIT_ROWS = 64 }; /* logits exist for so many rows at a time */

/* A pass for a model; when size.window > 0 the model must be trainable.  The caller frees it
 * before the model. */
struct iso_pass *iso_pass_new(const struct iso_model *m, struct iso_pass_size size);
void iso_pass_free(struct iso_pass *p);
size_t iso_pass_bytes(const struct iso_model *m, struct iso_pass_size size);
/* Shares the pass's operations with a crew over the model's table from now on. */
void iso_pass_join(struct iso_pass *p, struct iso_crew *crew);

/* Forward and backward: adds `scale` times the gradient of the summed loss into `grad` and returns
 * the summed loss in nats. */
double iso_pass_train(struct iso_pass *p, struct iso_batch batch, float scale, float *grad);
/* Forward only: the loss of every wanted target, [n, T], and whether it is the most likely token
 * (hit may be NULL). */
void iso_pass_score(struct iso_pass *p, float *loss, unsigned char *hit, struct iso_batch batch);
/* The raw logits (before the softcap) of n inputs of T tokens: z is [n T, V]. */
void iso_pass_logits(struct iso_pass *p, float *z, const int32_t *tokens, size_t n, size_t T);
/* Puts n tokens behind those in the cache, as many at a time as the pass takes.  z [V], unless it
 * is NULL, gets the logits, after the softcap, of what follows the last. */
void iso_pass_feed(struct iso_pass *p, float *z, struct iso_kv *kv, const int32_t *token, size_t n);

/* --- the parts, for the files of this module --- */
/* One layer; reads acts->x, leaves its output in `out`.  `slot` is its place in the cache. */
void iso_block_forward(struct iso_pass *p, const struct iso_layer *l, struct iso_acts *a,
                       float *out, size_t slot);
/* scratch.dx in: gradient at the layer's output; out: at its input. */
void iso_block_backward(struct iso_pass *p, const struct iso_layer *l, struct iso_acts *a);
/* From kept.last to losses, scratch.dx and the head's gradients. */
void iso_head_train(struct iso_pass *p, float scale);
void iso_head_score(struct iso_pass *p, float *loss, unsigned char *hit);
void iso_head_logits(struct iso_pass *p, float *z, size_t first); /* of the rows from `first` */
/* dw[out, in] += dyᵀ x, for dy [rows, out] and x [rows, in]. */
void iso_weight_grad(struct iso_pass *p, const struct iso_matrix *w, const float *dy,
                     const float *x, size_t rows);

#endif
