/* Any bytes as the settings of one run, `train`'s file: what can be planned is written to a
 * config.yaml that repeats the run. */
#include "fuzz_file.h"
#include "train/settings.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum iso_status plan(struct iso_train_settings *s, struct iso_plan_run *run,
                            struct iso_arena *arena, const void *text, size_t len,
                            struct iso_err *err)
{
    char path[64];
    int fd = file_in_memory(path, text, len);
    enum iso_status st = iso_train_read(s, arena, path, err);
    /* Without data it must say what the data would. */
    if (st == ISO_OK && s->grid.seq_len > 0 && s->grid.vocab > 0)
        st = iso_train_resolve(s, run, NULL, path, err);
    else if (st == ISO_OK)
        st = iso_fail(err, ISO_BAD_INPUT, "no data");
    close(fd);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_arena arena = {0};
    struct iso_train_settings s, again;
    struct iso_plan_run run, repeated;
    struct iso_str config = {0};
    struct iso_err err;
    if (size < 1 << 14 && plan(&s, &run, &arena, data, size, &err) == ISO_OK) {
        iso_train_write(&config, &s, &arena);
        if (plan(&again, &repeated, &arena, config.text, config.len, &err) != ISO_OK ||
            strcmp(run.id, repeated.id) != 0 || run.steps != repeated.steps)
            abort();
    }
    iso_str_release(&config);
    iso_arena_release(&arena);
    return 0;
}
