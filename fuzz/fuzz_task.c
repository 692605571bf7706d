/* Any bytes as a suite and as a task file: the first byte chooses which, and the type of task. */
#include "eval/suite.h"
#include "fuzz_file.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_task(const char *path, int type)
{
    const struct iso_task_spec spec = {"t", path, "a", (enum iso_task_type)type, 0, " ", NAN};
    struct iso_task task;
    struct iso_err err;
    (void)iso_task_read(&task, &spec, "/", 100, &err);
    iso_task_release(&task);
}

static void read_suite(const char *path)
{
    struct iso_arena arena = {0};
    struct iso_suite suite;
    struct iso_err err;
    (void)iso_suite_read(&suite, &arena, path, &err);
    iso_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (size < 1 || size > 1 << 14)
        return 0;
    int fd = file_in_memory(path, data + 1, size - 1);
    if (data[0] % 4 == 3)
        read_suite(path);
    else
        read_task(path, data[0] % 4);
    close(fd);
    return 0;
}
