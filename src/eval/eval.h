/* Evaluation: a model's loss and accuracy on the items of a task.
 *
 *   task loss      total nats / total scored tokens; of choices and schemas the right option's
 *   accuracy       LM: every scored token is the model's most likely one; choices and schemas:
 *                  the right option has the lowest mean loss per token
 *   standard error of the loss as a ratio of sums over items, by linearisation; of the accuracy
 *                  as a share
 *   axis           plain mean over its tasks */
#ifndef ISO_EVAL_EVAL_H
#define ISO_EVAL_EVAL_H

#include "eval/prompt.h"
#include "eval/suite.h"
#include "model/score.h"

struct iso_item_score {
    double nats; /* NaN when not finite; then the item is not right */
    size_t tokens;
    bool right, cut;
};

struct iso_task_score {
    size_t n, tokens, cut; /* items, scored tokens, items whose left end was cut */
    size_t not_finite;     /* items */
    double loss, loss_se;
    double accuracy, accuracy_se;
    double centred; /* (accuracy - baseline) / (1 - baseline); NaN without a baseline */
};

struct iso_evaluator {
    struct iso_scorer *scorer;
    const struct iso_tokenizer *tokenizer;
    size_t longest; /* tokens of a prompt */
    int threads;
};

/* Scores all items; `items` has room for task->n. */
enum iso_status iso_eval_task(struct iso_item_score *items, const struct iso_evaluator *e,
                              const struct iso_task *task, struct iso_err *err);
struct iso_task_score iso_task_score(const struct iso_item_score *items, size_t n, double baseline);

/* The difference in loss of two models on the same items, b - a, and its standard error. */
void iso_paired_difference(double *difference, double *se, const struct iso_item_score *a,
                           const struct iso_item_score *b, size_t n);

#endif
