/* Any bytes as the record of a task's scores: what is accepted has tokens, and a loss or no right.
 */
#include "eval/scores.h"
#include "fuzz_file.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ITEMS = 2 };

/* The first line of fuzz/seeds/scores. */
static const struct iso_scores_key key = {.task = "t",
                                          .task_hash = 1,
                                          .model_hash = 2,
                                          .tokenizer_hash = 3,
                                          .recur = 4,
                                          .n_items = ITEMS,
                                          .type = "language_modeling",
                                          .delimiter = " "};

static void read_scores(const char *path)
{
    struct iso_item_score items[ITEMS];
    struct iso_err err;
    bool found;
    if (iso_scores_read(&found, items, path, &key, &err) != ISO_OK || !found)
        return;
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].tokens == 0 || (isnan(items[i].nats) ? items[i].right : items[i].nats < 0))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = file_in_memory(path, data, size);
    read_scores(path);
    close(fd);
    return 0;
}
