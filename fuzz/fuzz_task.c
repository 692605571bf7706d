/* Any bytes as a suite and as a task file: the first byte chooses which, and the type of task. */
#include "eval/suite.h"

#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_task(const char *dir, int type)
{
    const struct iso_task_spec spec = {"t", "t", "a", (enum iso_task_type)type, 0, " ", NAN};
    struct iso_task task;
    struct iso_err err;
    (void)iso_task_read(&task, &spec, dir, 100, &err);
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
    char dir[] = "/tmp/isodepth-fuzz-task-XXXXXX", path[64];
    if (size < 1 || size > 1 << 14 || !mkdtemp(dir))
        return 0;
    snprintf(path, sizeof path, "%s/t", dir);
    if (iso_file_write(path, (const char *)data + 1, size - 1, NULL) == ISO_OK) {
        if (data[0] % 4 == 3)
            read_suite(path);
        else
            read_task(dir, data[0] % 4);
    }
    unlink(path);
    rmdir(dir);
    return 0;
}
