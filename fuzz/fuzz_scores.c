/* Any bytes as the record of a task's scores: what is accepted has tokens, and a loss or no right.
 * The right checksum is put in first, so that what lies behind it is reached. */
#include "base/hash.h"
#include "eval/scores.h"
#include "fuzz_file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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

/* The digits are the last thing in the first line: `0123456789abcdef"}`. */
static void put_checksum(char *bytes, size_t len)
{
    char *newline = memchr(bytes, '\n', len), digits[17];
    if (!newline || newline - bytes < 18)
        return;
    const char *lines = newline + 1;
    snprintf(digits, sizeof digits, "%016" PRIx64,
             iso_xxh64(lines, (size_t)(bytes + len - lines), 0));
    memcpy(newline - 18, digits, 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], *bytes = malloc(size + 1);
    memcpy(bytes, data, size);
    put_checksum(bytes, size);
    int fd = file_in_memory(path, bytes, size);
    read_scores(path);
    close(fd);
    free(bytes);
    return 0;
}
