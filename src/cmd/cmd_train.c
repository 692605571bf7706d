/* isodepth train: one run, from its settings to its result. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/progress.h"
#include "comm/comm.h"
#include "train/meet.h"
#include "train/run.h"

struct train_args {
    const char *out, *run, *data, *start;
    struct iso_strings set;
    int64_t threads;
    double memory;
    bool tensorboard, other_kernels, keep;
};

#define AT(field) offsetof(struct train_args, field)
static const struct iso_opt options[] = {
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "DIR",
     .help = "directory of the run; an unfinished run in it resumes"},
    {"data", .letter = 'd', .kind = ISO_OPT_STRING, .offset = AT(data), .arg = "DIR",
     .help = "packed data (isodepth pack); overrides the file's"},
    {"run", .kind = ISO_OPT_STRING, .offset = AT(run), .arg = "ID",
     .help = "the file is a grid: train its run of this id"},
    {"set", .kind = ISO_OPT_LIST, .offset = AT(set), .arg = "KEY=VALUE",
     .help = "change a setting"},
    {"threads", .letter = 't', .kind = ISO_OPT_INT, .offset = AT(threads), .help = "threads",
     .fallback = "all cores", .min = 1, .max = 4096},
    {"memory", .kind = ISO_OPT_NUMBER, .offset = AT(memory), .arg = "GB",
     .help = "memory that the run may use", .fallback = "what is available", .min = 1e-3,
     .max = 1e6},
    {"start", .kind = ISO_OPT_STRING, .offset = AT(start), .arg = "CKPT",
     .help = "begin with the weights of a .safetensors file, or of a run's directory"},
    {"keep", .kind = ISO_OPT_FLAG, .offset = AT(keep),
     .help = "keep all checkpoints, even at the end"},
    {"tensorboard", .kind = ISO_OPT_FLAG, .offset = AT(tensorboard),
     .help = "also write event files for TensorBoard"},
    {"allow-other-kernels", .kind = ISO_OPT_FLAG, .offset = AT(other_kernels),
     .help = "resume even with other kernels than the run began with"},
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

/* Rank 0 speaks for all; only a rank that lost another speaks for itself, since then all end. */
static enum iso_status leave(struct iso_comm *comm, enum iso_status st, const struct iso_err *err)
{
    bool silent = iso_comm_rank(comm) > 0;
    if (comm && comm->broken)
        iso_log_error("%s", err->msg);
    iso_comm_close(comm);
    return silent ? ISO_OK : st;
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct train_args *a = args;
    struct iso_arena arena = {0};
    struct iso_train_settings s;
    if (!a->out)
        return iso_fail(err, ISO_USAGE, "--out DIR is missing: the folder of the run");
    struct iso_train_options o = {.out = a->out,
                                  .path = ops.at[0],
                                  .start = a->start,
                                  .keep = a->keep,
                                  .threads = (int)a->threads,
                                  .memory = a->memory * 1e9,
                                  .tensorboard = a->tensorboard,
                                  .other_kernels = a->other_kernels};
    enum iso_status st = iso_comm_open(&o.comm, err);
    if (st != ISO_OK)
        return st;
    if (iso_comm_rank(o.comm) > 0)
        iso_log_set_level(ISO_LOG_QUIET);
    st = iso_ranks_same_program(o.comm, err);
    if (st == ISO_OK)
        st = iso_comm_agree(o.comm, read_settings(&s, &arena, a, ops.at[0], err), err);
    if (st == ISO_OK)
        st = iso_train_run(&s, &o, err);
    iso_arena_release(&arena);
    return leave(o.comm, st, err);
}

const struct iso_cmd iso_cmd_train = {
    .name = "train",
    .operands = "RUN.yaml",
    .summary = "train one model",
    .details =
        "RUN.yaml holds the settings of one run (docs/training.md), among them its horizon: one of "
        "budget (training FLOPs), tokens or steps. With --run the file is a grid instead.\n\n"
        "The directory receives config.yaml, metrics.jsonl, model.safetensors, "
        "optimiser.safetensors and, last of all, result.json. Ctrl-C saves the steps so far and "
        "exits with code 3; the same command resumes there, bit for bit, even with another number "
        "of threads. A run keeps the kernels that it began with (docs/numerics.md).\n\n"
        "mpirun -n N isodepth train RUN.yaml --out DIR trains it with N processes, on one machine "
        "or several, and the same bits (docs/cluster.md).",
    .group = "Train",
    .min_operands = 1,
    .max_operands = 1,
    .opts = options,
    .size = sizeof(struct train_args),
    .run = run,
};
