/* One architecture: its shape, its parameters and its FLOPs.
 *
 * N and F follow the paper's accounting (section 3.2, equations 1 and the truncated form):
 *   n_b = 12 d² per layer; N_once = (prelude + coda) n_b; N_rec = recurrent layers x n_b;
 *   F   = 6 N_once + (2(r−k) + 6k)(N_rec + injection) + attention + 6 d V_padded
 *   attention = 12 d T per executed layer, 4 d T in an iteration without backward.
 * At r = 1 everything is in N_once, and so it is in the unshared control: the graph of the looped
 * model with own weights for every iteration, which the law sees as r = 1.  The loop mechanism's
 * share comes from its table row; this module names none. */
#ifndef ISO_PLAN_ARCH_H
#define ISO_PLAN_ARCH_H

#include "base/err.h"
#include "loop/loop.h"

#include <stdint.h>

/* BPTT windows that depend on r. */
enum { ISO_BPTT_FULL = 0, ISO_BPTT_HALF = -1 };

struct iso_arch {
    /* Asked for. */
    const struct iso_loop_ops *loop; /* of the looped models; r = 1 always runs `none` */
    int64_t loop_opt[ISO_LOOP_OPTIONS];
    int64_t r;              /* iterations */
    int64_t unshared;       /* 1: own weights for every iteration; 0 after the build when r = 1 */
    int64_t depth;          /* effective layers: prelude + r x recurrent + coda */
    int64_t prelude, coda;  /* of looped models; 0 after the build when r = 1 */
    int64_t bptt;           /* window, or ISO_BPTT_*; after the build a number in 1..r */
    int64_t d_model, head;  /* width, head size */
    int64_t seq_len, vocab; /* T, tokens in use */
    /* Derived by iso_arch_build. */
    int64_t recur; /* layers of an iteration */
    int64_t sets;  /* of weights for the iterations: 1, or r when they are not shared */
    int64_t share; /* 1, or 0 when the iterations are not shared */
    int64_t law_r; /* the law's r: iterations that share their weights */
    int64_t n_head, vocab_padded;
};

/* Checks the design and fills in what is derived; an impossible one is refused with the reason,
 * and `*key` (when key is not NULL) names the setting to change. */
enum iso_status iso_arch_build(struct iso_arch *a, const char **key, struct iso_err *err);

struct iso_loop_shape iso_arch_loop_shape(const struct iso_arch *a);

struct iso_account {
    double n_once, n_rec, n_inject; /* unique parameters of the law */
    double n_embed;                 /* wte and lm_head */
    double n_norm;                  /* norm scales */
    double executed; /* N_once + r (N_rec + injection) + norm scales: for the transfer */
    /* Training FLOPs per token, by part. */
    double flops_once, flops_recur, flops_inject, flops_attention, flops_head;
    double flops;         /* their sum: training */
    double flops_forward; /* inference, per token at length T */
};

struct iso_account iso_arch_account(const struct iso_arch *a);

/* Unique parameters outside the embeddings, norm scales included: the N of the paper's table of
 * its grid. */
double iso_account_unique(const struct iso_account *c);
/* Effective parameters when a looped block is worth so many unique ones: N_once + worth N_rec,
 * without the injection as in the paper's appendix on equivalent sizes. */
double iso_account_effective(const struct iso_account *c, double worth);

#endif
