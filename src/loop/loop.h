/* Loop mechanisms: how the recurrent block's output finds its way back to its input.
 *
 *     S0 = start(e);  u = inject(e, S; i);  s = norm(block(u));  S' = update(S, s; i);
 *     h = pool(S)
 *
 * e is the prelude's output, S the state (a number of lanes of the model's width), i the
 * iteration from 0.  A mechanism is one file loop_<name>.c with one row of iso_loops[]: its own
 * options, parameters, initialisation, accounting and the steps with their backwards.  The
 * accounting needs no kernels, so the planner links these files without any.
 *
 * What must hold:
 *  1. No code outside loop_<name>.c names a mechanism, but for the plain stack and the default.
 *  2. Backward steps add into de and dw, and inject_bwd into dS; update_bwd and pool_bwd overwrite
 *     dS and ds.
 *  3. What has a row per token (e, S, u, s and their gradients) is touched through the kernel table
 *     only.  Parameters that are scalars or vectors of width d, and what is computed of them, are
 *     small: a mechanism may do their arithmetic itself. */
#ifndef ISO_LOOP_LOOP_H
#define ISO_LOOP_LOOP_H

#include "base/err.h"
#include "kern/kern.h"
#include "loop/group.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ISO_LOOP_OPTIONS = 2, ISO_LOOP_PARAMS = 4, ISO_LOOP_GAUGES = 2 };

/* What a mechanism is asked about: width, iterations, its options, rows at hand. */
struct iso_loop_shape {
    size_t d; /* model width */
    int r;    /* iterations */
    int sets; /* of parameters: 1, or r in the unshared control */
    int64_t opt[ISO_LOOP_OPTIONS];
};

struct iso_loop_option {
    const char *name, *help;
    int64_t min, max, otherwise;
};

struct iso_loop_param {
    const char *name; /* in checkpoints */
    enum iso_param_group group;
    /* Sizes, outermost first; a matrix is (out, in).  They arrive as zeros, and unused ones stay
     * so; when all do, the model has no such parameter. */
    void (*shape)(size_t dims[3], const struct iso_loop_shape *s);
    void (*init)(float *w, size_t n,
                 const struct iso_loop_shape *s); /* start values of n elements */
};

/* Parameters as the row lists them; NULL where there is none. */
struct iso_loop_set {
    const float *w[ISO_LOOP_PARAMS];
    float *dw[ISO_LOOP_PARAMS];                 /* their gradients; NULL in a forward pass */
    struct iso_packed forward[ISO_LOOP_PARAMS]; /* matrices packed for x Wᵀ: K = in, N = out */
    struct iso_packed reverse[ISO_LOOP_PARAMS]; /* and for dy W: K = out, N = in */
};

/* A number about the parameters that every line of a run's metrics shows. */
struct iso_loop_gauge {
    const char *name;
    double (*value)(const struct iso_loop_set *sets, const struct iso_loop_shape *s);
};

/* One pass of one worker through the loop. */
struct iso_loop_pass {
    const struct iso_kern *kern;
    struct iso_ws *ws;
    struct iso_loop_shape shape;
    size_t rows;              /* M: sequences x T */
    struct iso_loop_set *set; /* [shape.sets]; iso_loop_set has that of an iteration */
    float *saved;             /* saved_floats of it, from start to the end of the backward */
    void *packed_scratch;     /* pack_bytes(rows, widest matrix side) for activations */
};

/* The parameters of iteration i. */
static inline const struct iso_loop_set *iso_loop_set(const struct iso_loop_pass *p, int i)
{
    return &p->set[i % p->shape.sets];
}

struct iso_loop_ops {
    const char *name, *help;
    struct iso_loop_option option[ISO_LOOP_OPTIONS]; /* unused ones have a NULL name */
    struct iso_loop_param param[ISO_LOOP_PARAMS];
    /* Parameters of which the unshared control has one, too, and not one for each iteration: used
     * once in a pass, or with a part for each iteration anyway. */
    bool once[ISO_LOOP_PARAMS];
    struct iso_loop_gauge gauge[ISO_LOOP_GAUGES];

    /* --- accounting, per token --- */
    bool looped;         /* false only for the plain stack */
    bool full_bptt_only; /* truncation would leave parameters without a gradient, its own or the
                            prelude's: refused */
    bool any_depth;      /* a checkpoint can be run at another r */
    int64_t (*n_inject)(const struct iso_loop_shape *s);       /* parameters counted as n_inject */
    double (*flops_iteration)(const struct iso_loop_shape *s); /* forward, each iteration */
    double (*flops_once)(const struct iso_loop_shape *s);      /* forward, once per pass */

    /* --- the five steps and their backwards --- */
    size_t (*lanes)(const struct iso_loop_shape *s); /* state is lanes x [rows, d] */
    size_t (*saved_floats)(const struct iso_loop_shape *s, size_t rows); /* NULL: none */
    void (*start)(struct iso_loop_pass *p, float *S, const float *e);
    void (*inject)(struct iso_loop_pass *p, float *u, const float *e, const float *S, int i);
    void (*update)(struct iso_loop_pass *p, float *S_next, const float *S, const float *s, int i);
    void (*pool)(struct iso_loop_pass *p, float *h, const float *S); /* NULL with update: h = S */

    void (*start_bwd)(struct iso_loop_pass *p, float *de, const float *dS);
    /* de += , dS += ; du is the gradient at the block's input. */
    void (*inject_bwd)(struct iso_loop_pass *p, float *de, float *dS, const float *du,
                       const float *e, const float *S, int i);
    /* dS_next in; dS and ds are overwritten. */
    void (*update_bwd)(struct iso_loop_pass *p, float *dS, float *ds, const float *dS_next,
                       const float *S, const float *s, int i);
    void (*pool_bwd)(struct iso_loop_pass *p, float *dS, const float *dh); /* overwrites dS */
    /* Called after the last inject_bwd: what was computed once per pass.  NULL: nothing. */
    void (*end_bwd)(struct iso_loop_pass *p, float *de, const float *e);
};

extern const struct iso_loop_ops *const iso_loops[]; /* ended by NULL */
extern const struct iso_loop_ops iso_loop_none, iso_loop_linear, iso_loop_additive,
    iso_loop_passthrough, iso_loop_hyper, iso_loop_diagonal;

const struct iso_loop_ops *iso_loop_find(const char *name); /* NULL when unknown */

/* --- what several mechanisms share --- */
void iso_loop_per_channel(size_t dims[3], const struct iso_loop_shape *s); /* a vector [d] */
void iso_loop_zeros(float *w, size_t n, const struct iso_loop_shape *s);
void iso_loop_ones(float *w, size_t n, const struct iso_loop_shape *s);
int64_t iso_loop_no_params(const struct iso_loop_shape *s);
double iso_loop_no_flops(const struct iso_loop_shape *s);
size_t iso_loop_one_lane(const struct iso_loop_shape *s);
void iso_loop_start_copy(struct iso_loop_pass *p, float *S, const float *e);
void iso_loop_start_copy_bwd(struct iso_loop_pass *p, float *de, const float *dS);

#endif
