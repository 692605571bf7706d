/* Prompts: what the model reads for an item, and which of its tokens are scored.
 *
 * k solved examples, each followed by a blank line, then the item; BOS in front.  The scored
 * tokens are, for language modelling, those behind the prompt without its continuation; for
 * choices, those behind the longest token prefix common to all; for schemas, the longest common
 * token suffix. */
#ifndef ISO_EVAL_PROMPT_H
#define ISO_EVAL_PROMPT_H

#include "data/tokenizer.h"
#include "eval/task.h"

struct iso_prompt {
    int32_t *token; /* [n], owned */
    size_t n;
    size_t first, end; /* tokens [first, end) are scored; first >= 1 */
    bool cut;          /* the left end did not fit and is gone */
};

/* The prompts of item i: one for language modelling, one per option otherwise.  `prompts` has
 * room for them; *n is how many.  Longer ones than `longest` tokens lose their left end.
 * Release them also after a failure. */
enum iso_status iso_prompts_make(struct iso_prompt *prompts, size_t *n, const struct iso_task *task,
                                 size_t i, struct iso_encoder *encoder, size_t longest,
                                 struct iso_err *err);
void iso_prompts_release(struct iso_prompt *prompts, size_t n);
/* How many prompts an item has. */
size_t iso_prompts_of(const struct iso_item *item);

#endif
