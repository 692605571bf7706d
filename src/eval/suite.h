/* Suites: YAML files that list tasks, in either of two forms.
 *
 *   CORE     icl_tasks: [{label, dataset_uri, icl_task_type, num_fewshot: [5],
 *                         continuation_delimiter}]
 *   grouped  groups: {id: title}; tasks: [{name, file, group, task_type, num_fewshot: 5,
 *                         continuation_delimiter, baseline}]
 * In both the delimiter is one space unless given. */
#ifndef ISO_EVAL_SUITE_H
#define ISO_EVAL_SUITE_H

#include "eval/task.h"

struct iso_suite {
    struct iso_task_spec *task; /* in the arena that it was read into */
    size_t n;
};

enum iso_status iso_suite_read(struct iso_suite *suite, struct iso_arena *arena, const char *path,
                               struct iso_err *err);

#endif
