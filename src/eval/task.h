/* Tasks: the items of one JSONL file, with how they are asked and scored.
 *
 *   language modelling  {"context", "continuation"}: the loss of the continuation
 *   multiple choice     {"query", "choices", "gold"}: one prompt per choice
 *   schema              {"context_options", "continuation", "gold"}: one prompt per option, the
 *                       same continuation behind each
 * Other keys are ignored.  Files may be compressed (.gz, .zst). */
#ifndef ISO_EVAL_TASK_H
#define ISO_EVAL_TASK_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum iso_task_type { ISO_TASK_LM, ISO_TASK_CHOICE, ISO_TASK_SCHEMA };

/* What a suite says about a task. */
struct iso_task_spec {
    const char *name;
    const char *file; /* below the data directory */
    const char *axis; /* group of tasks whose mean is reported */
    enum iso_task_type type;
    int64_t shots;
    const char *delimiter; /* between question and answer */
    double baseline;       /* accuracy by chance in 0..1; NaN when the suite gives none */
};

struct iso_item {
    int line;            /* in the file */
    const char *context; /* LM: context; choice: query */
    const char **option; /* choice: choices; schema: context_options */
    size_t n_option;     /* 0 for LM */
    const char *answer;  /* LM, schema: continuation */
    size_t gold;         /* right option */
};

struct iso_task {
    struct iso_arena arena;
    const struct iso_task_spec *spec;
    const char *path;
    struct iso_item *item; /* shuffled and cut */
    size_t n;
    uint64_t hash; /* of the file's rows, to know a changed file again */
};

const char *iso_task_type_name(enum iso_task_type type);
/* "language_modeling", "multiple_choice", "schema". */
bool iso_task_type_parse(enum iso_task_type *out, const char *name);

/* Reads DIR/file (also with .zst or .gz behind it), checks every row, shuffles with Python's
 * Random(1337) and keeps the first `max`.  Release it also after a failure. */
enum iso_status iso_task_read(struct iso_task *task, const struct iso_task_spec *spec,
                              const char *dir, size_t max, struct iso_err *err);
void iso_task_release(struct iso_task *task);

/* The solved examples of item i: indices of `shots` other items, drawn with Random(1234 + i). */
void iso_task_examples(uint32_t *out, const struct iso_task *task, size_t i);

#endif
