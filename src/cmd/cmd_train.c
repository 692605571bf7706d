/* isodepth train: one run, from its settings to its result. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "train/run.h"

struct train_args {
    const char *out, *run, *data;
    struct iso_strings set;
    int64_t threads;
    double memory;
    bool tensorboard;
};

static const struct iso_opt options[] = {
    {"out", 'o', ISO_OPT_STRING, offsetof(struct train_args, out), "DIR",
     "directory of the run; an unfinished run in it goes on", 0, 0},
    {"data", 'd', ISO_OPT_STRING, offsetof(struct train_args, data), "DIR",
     "packed data (isodepth pack); overrides the file's", 0, 0},
    {"run", 0, ISO_OPT_STRING, offsetof(struct train_args, run), "ID",
     "the file is a grid: train its run of this id", 0, 0},
    {"set", 0, ISO_OPT_LIST, offsetof(struct train_args, set), "KEY=VALUE",
     "change a setting; may be repeated", 0, 0},
    {"threads", 't', ISO_OPT_INT, offsetof(struct train_args, threads), "N",
     "threads (default: all cores)", 1, 4096},
    {"memory", 0, ISO_OPT_NUMBER, offsetof(struct train_args, memory), "GB",
     "memory that the run may take (default: what is available)", 1e-3, 1e6},
    {"tensorboard", 0, ISO_OPT_FLAG, offsetof(struct train_args, tensorboard), NULL,
     "also write event files for TensorBoard", 0, 0},
    {0},
};

static enum iso_status read_settings(struct iso_train_settings *s, struct iso_arena *arena,
                                     const struct train_args *a, const char *path,
                                     struct iso_err *err)
{
    enum iso_status st = a->run ? iso_train_from_grid(s, arena, path, a->run, err)
                                : iso_train_read(s, arena, path, err);
    for (size_t i = 0; st == ISO_OK && i < a->set.n; i++)
        st = iso_train_set(s, arena, a->set.at[i], err);
    if (a->data)
        s->grid.data = a->data;
    return st;
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct train_args *a = args;
    struct iso_arena arena = {0};
    struct iso_train_settings s;
    if (!a->out)
        return iso_fail(err, ISO_USAGE, "--out DIR is missing: where shall the run go?");
    struct iso_train_options o = {.out = a->out,
                                  .path = ops.at[0],
                                  .threads = (int)a->threads,
                                  .memory = a->memory * 1e9,
                                  .tensorboard = a->tensorboard};
    enum iso_status st = read_settings(&s, &arena, a, ops.at[0], err);
    if (st == ISO_OK)
        st = iso_train_run(&s, &o, err);
    iso_arena_release(&arena);
    return st;
}

const struct iso_cmd iso_cmd_train = {
    .name = "train",
    .operands = "RUN.yaml",
    .summary = "train one model",
    .details =
        "RUN.yaml holds the settings of one run (docs/training.md), among them its horizon: one "
        "of budget (training FLOPs), tokens or steps. With --run the file is a grid instead.\n\n"
        "The directory gets config.yaml, metrics.jsonl, model.safetensors, "
        "optimiser.safetensors and, last of all, result.json. Ctrl-C finishes the step, saves "
        "and leaves with exit code 3; the same command goes on from there, bit for bit.",
    .group = "Train",
    .min_operands = 1,
    .max_operands = 1,
    .opts = options,
    .size = sizeof(struct train_args),
    .run = run,
};
