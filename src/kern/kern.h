/* The kernel table: everything that touches tensor memory, as one struct of functions.
 *
 * A table begins as plain C (kern_ref.c); the set of an instruction set then overrides what it has
 * (tables.c), so a new kernel needs a plain version only.  src/model and src/loop touch activations
 * through the table only, so another device is another table; what a loop mechanism may read
 * directly loop.h says.
 *
 * Rules for every kernel:
 *  1. It cannot fail: shapes were checked when the model was built.
 *  2. It allocates nothing; scratch memory comes from the worker's iso_ws.
 *  3. It is deterministic: sums run in a fixed order that depends on shapes only.
 *  4. Backward kernels ADD into their d* outputs unless the name says otherwise.
 *  5. Buffers need 4-byte alignment only; rows may be any length.
 *
 * Letters: M rows of a batch (sequences x T), T sequence length, D width, H heads, Q head size,
 * V padded vocabulary. */
#ifndef ISO_KERN_KERN_H
#define ISO_KERN_KERN_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A worker's scratch memory and its count of executed multiply-adds. */
struct iso_ws {
    unsigned char *bytes; /* 64-byte aligned */
    /* Multiply-adds of gemm and attention so far, whatever the tiling: M*K*N for a gemm; in
     * attention only the T(T+1)/2 pairs that causality leaves, twice Q each forward and four
     * times Q backward (computing the scores a second time in the backward is not counted).
     * Formulas that charge the full T*T are therefore 2T/(T+1) times the attention part. */
    uint64_t macs;
    struct iso_crew *crew; /* threads that share the worker's operations (crew.h); NULL: none */
};

/* A matrix laid out for the gemm of one table: the right-hand side, K x N.  Weights are packed
 * once per optimiser step and used by all recurrences and all micro-batches. */
struct iso_packed {
    void *bytes; /* pack_bytes(K, N) of them, 64-byte aligned, owned by the caller */
    size_t K, N;
};

/* What attention reads of one sequence: T queries, at the positions first, first + 1,
 * ..., and a row of key [D] and value [D] for each position from 0 to the last query's. */
struct iso_attended {
    const float *q, *kv;
    size_t ldq, ldkv; /* from a row to the next */
    size_t first, T;
};

/* A whole sequence as training has it: the thirds of qkv [T, 3D]. */
static inline struct iso_attended iso_attend_all(const float *qkv, size_t T, size_t D)
{
    return (struct iso_attended){qkv, qkv + D, 3 * D, 3 * D, 0, T};
}

/* H heads of size Q beside each other, of rows that are D wide: all of them when D = H Q. */
struct iso_heads {
    size_t H, Q, D;
};

static inline struct iso_heads iso_all_heads(size_t H, size_t Q)
{
    return (struct iso_heads){H, Q, H * Q};
}

struct iso_kern {
    const char *name; /* "ref", "avx2", ... */
    bool bf16;        /* gemm rounds its operands to bf16 */

    /* --- vectors of n floats --- */
    void (*copy)(float *y, const float *x, size_t n);
    void (*fill)(float *y, float a, size_t n);
    void (*add)(float *y, const float *x, size_t n);            /* y += x */
    void (*axpy)(float *y, float a, const float *x, size_t n);  /* y += a x */
    void (*scale)(float *y, float a, const float *x, size_t n); /* y = a x */
    double (*dot)(const float *x, const float *y, size_t n);
    /* y[m,:] += g ⊙ x[m,:] for m < M; g has D entries. */
    void (*mul_rows)(float *y, const float *g, const float *x, size_t M, size_t D);
    /* dg += sum over m of x[m,:] ⊙ y[m,:]. */
    void (*mul_rows_bwd)(float *dg, const float *x, const float *y, size_t M, size_t D);

    /* --- matrix products --- */
    size_t (*pack_bytes)(size_t K, size_t N);
    /* Packs B, K x N: element (k, n) is src[k*ld + n], or src[n*ld + k] when `transposed`. */
    void (*pack)(struct iso_packed *b, const float *src, size_t ld, bool transposed);
    /* C[M,N] = plus + A[M,K] · B.  `plus` is C itself or another matrix with rows ldc apart; NULL
     * counts as zeros.  A element (m, k) is a[m*lda + k], or a[k*lda + m] when `transposed_a`. */
    void (*gemm)(float *c, size_t ldc, const float *a, size_t lda, bool transposed_a,
                 const struct iso_packed *b, size_t M, const float *plus, struct iso_ws *ws);

    /* C[M,N] += Aᵀ · B for A [K,M] and B [K,N]: a weight's gradient, K rows at a time.  The same
     * bits as pack and gemm; `room` has pack_bytes(K, N) for tables that pack B. */
    void (*weight_grad)(float *c, const float *a, const float *b, void *room, size_t K, size_t M,
                        size_t N, struct iso_ws *ws);

    /* --- RMSNorm with a learnable scale: y = x/sqrt(mean(x²) + 1e-6) ⊙ g; rstd [M] is kept --- */
    void (*rmsnorm)(float *y, float *rstd, const float *x, const float *g, size_t M, size_t D);
    void (*rmsnorm_bwd)(float *dx, float *dg, const float *dy, const float *x, const float *g,
                        const float *rstd, size_t M, size_t D);

    /* --- rotary positions, then scale-free RMSNorm, on the q and k thirds of qkv[M, 3D] ---
     * In place; cos and sin are [T, Q/2]; row m has position first_pos + m % T.  rstd is
     * [M, 2H] and is kept for the backward. */
    void (*qk_rope_norm)(float *qkv, float *rstd, const float *cos, const float *sin, size_t M,
                         size_t T, size_t first_pos, size_t H, size_t Q);
    /* dqkv in: gradient at the normalised q, k; out: at the projections.  In place; the v third
     * is left alone.  qkv is the forward's output. */
    void (*qk_rope_norm_bwd)(float *dqkv, const float *qkv, const float *rstd, const float *cos,
                             const float *sin, size_t M, size_t T, size_t first_pos, size_t H,
                             size_t Q);

    /* --- causal attention over one sequence, flash-style: never T x T in memory ---
     * out [T, D], lse [H, T] (log-sum-exp of the scaled scores).  A scaled score is at most 32
     * either way, as those of normalised q and k are, √Q at most: exponentials need no shift by the
     * largest.  What a query gets depends on it and its keys and values alone, not on the queries
     * beside it: a cache changes no bit. */
    void (*attention)(float *out, float *lse, struct iso_attended x, struct iso_heads heads,
                      struct iso_ws *ws);
    /* Of iso_attend_all; the heads' columns of dqkv [T, 3D] are overwritten. */
    void (*attention_bwd)(float *dqkv, const float *dout, const float *out, const float *lse,
                          const float *qkv, size_t T, struct iso_heads heads, struct iso_ws *ws);

    /* --- y = relu(x)^2, dx = 2 relu(x) dy --- */
    void (*relu2)(float *y, const float *x, size_t n);
    void (*relu2_bwd)(float *dx, const float *dy, const float *x, size_t n);

    /* --- embedding rows: x[m,:] = table[token[m],:] --- */
    void (*gather)(float *x, const float *table, const int32_t *token, size_t M, size_t D);
    void (*scatter_add)(float *dtable, const float *dx, const int32_t *token, size_t M, size_t D);

    /* --- softcap and cross-entropy over the first V_real of V columns ---
     * z [M, V]: raw logits in; when `scale` is not 0 they become scale * dloss/dz (0 in the
     * padded columns).  loss[m] in nats; a target below 0 is not counted (loss 0, gradient 0).
     * `hit` (may be NULL) says whether no logit is above the target's; not with a NaN among
     * them.  cap > 0. */
    void (*softcap_xent)(float *loss, unsigned char *hit, float *z, const int32_t *target, size_t M,
                         size_t V, size_t V_real, float cap, float scale);

    /* --- optimiser --- */
    /* AdamW without decay: m and v are updated, w -= rate * mhat / (sqrt(vhat) + eps); c1, c2
     * are the bias corrections 1/(1-beta^t). */
    void (*adamw)(float *w, float *m, float *v, const float *g, size_t n, float rate, float beta1,
                  float beta2, float eps, float c1, float c2);
    /* Nesterov in lerp form: m += (1-mu)(g-m); out = g + mu (m-g). */
    void (*nesterov)(float *out, float *m, const float *g, size_t n, float mu);
};

/* Scratch bytes that any kernel may need for sequences of up to T and heads of up to Q; a gemm
 * works in blocks of fixed size, whatever its sides. */
size_t iso_kern_ws_bytes(size_t T, size_t Q);

/* A set of kernels for one instruction set.  One that has a gemm has its own packing, too. */
struct iso_kern_set {
    const char *name;
    bool (*runs_here)(void);          /* whether this CPU and its operating system can */
    void (*fill)(struct iso_kern *k); /* overrides what the set has */
    bool (*fast_here)(void);          /* whether it beats the sets before it, given it runs here */
};

extern const struct iso_kern_set iso_kern_sets[]; /* slowest first; the end has a NULL name */

/* The table of a set, NULL when the build or the CPU lacks it. */
const struct iso_kern *iso_kern_get(const char *name);
/* The same, with a message that lists what there is; *k is NULL then. */
enum iso_status iso_kern_find(const struct iso_kern **k, const char *name, struct iso_err *err);
/* The table for this machine: the one that ISO_CPU names, else the fastest. */
enum iso_status iso_kern_best(const struct iso_kern **k, struct iso_err *err);
/* "fma avx2 ..." of this machine, for the record of a run; valid until the thread's next call. */
const char *iso_cpu_features(void);

#endif
