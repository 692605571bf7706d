/* Scores of one task in a file, so that an evaluation resumes where it was cut off and any figure
 * can be redone: JSONL, a first line that says what was scored and has the XXH64 of what follows,
 * then one line per item. */
#ifndef ISO_EVAL_SCORES_H
#define ISO_EVAL_SCORES_H

#include "eval/eval.h"

/* What makes scores comparable: all of it must be equal for a file to count. */
struct iso_scores_key {
    const char *task;
    uint64_t task_hash;  /* rows of the task's file */
    uint64_t model_hash; /* bytes of the checkpoint */
    uint64_t tokenizer_hash;
    int recur;
    size_t n_items, shots;
    const char *type, *delimiter;
};

enum iso_status iso_scores_write(const char *path, const struct iso_scores_key *key,
                                 const struct iso_task *task, const struct iso_item_score *items,
                                 struct iso_err *err);
/* Reads the scores of a file of exactly this key; *found is false when there is no such file, or
 * it is of something else, or damaged: then the task is scored again. */
enum iso_status iso_scores_read(bool *found, struct iso_item_score *items, const char *path,
                                const struct iso_scores_key *key, struct iso_err *err);

#endif
