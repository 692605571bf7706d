/* Scoring: the loss of every token of given sequences, on several threads.
 *
 * The head is run for wanted losses only: of a prompt with solved examples that is the answer.
 * Sequences may have any length up to `longest`, also beyond the trained one: the rotary tables
 * extend.  Those of equal length run together; those of one family, as the choices of a question,
 * behind their common beginning, which is computed once when it is long enough to pay.  Neither
 * changes a score. */
#ifndef ISO_MODEL_SCORE_H
#define ISO_MODEL_SCORE_H

#include "model/pass.h"

struct iso_sequence {
    const int32_t *token; /* [n] */
    size_t n;             /* at least 2 */
    float *loss;          /* [n-1] out: nats of token[i+1] after token[0..i], from `first` on */
    unsigned char *hit;   /* [n-1] out, may be NULL: whether it is the most likely one */
    size_t first;         /* losses before this one are not wanted (0: all are) */
    size_t family;        /* neighbours of the same one may begin alike; 0: in none */
};

struct iso_scorer;

/* r iterations; needs loop->any_depth when r is not the trained one (iso_depth_check). */
struct iso_scorer *iso_scorer_new(struct iso_model *m, size_t longest, int r, int threads);
void iso_scorer_free(struct iso_scorer *s);
void iso_scorer_run(struct iso_scorer *s, const struct iso_sequence *seq, size_t n);
/* Tokens that went through the network so far, filling included. */
uint64_t iso_scorer_tokens(const struct iso_scorer *s);

/* Whether a model can run at r iterations (0: the trained number); sets *depth. */
enum iso_status iso_depth_check(int *depth, const struct iso_arch *a, int64_t r,
                                struct iso_err *err);
/* The error of a checkpoint whose logits or losses at this depth are NaN or infinite. */
enum iso_status iso_fail_not_finite(const char *checkpoint, int depth, struct iso_err *err);

#endif
