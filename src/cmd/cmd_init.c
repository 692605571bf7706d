/* isodepth init: an initialised checkpoint without training. */
#include "cmd/cmd.h"

#include "base/progress.h"
#include "kern/kern.h"
#include "model/checkpoint.h"
#include "train/settings.h"

#include <inttypes.h>

#define STEP "step" /* in the metadata: steps that were trained */

struct init_args {
    const char *out, *data;
    struct iso_strings set;
};

#define AT(field) offsetof(struct init_args, field)
static const struct iso_opt options[] = {
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "FILE",
     .help = "the checkpoint to write (.safetensors)"},
    {"data", .letter = 'd', .kind = ISO_OPT_STRING, .offset = AT(data), .arg = "DIR",
     .help = "packed data that sets seq_len and vocab; overrides the file's"},
    {"set", .kind = ISO_OPT_LIST, .offset = AT(set), .arg = "KEY=VALUE",
     .help = "a setting of the model, as in a run's file"},
    {0},
};

static enum iso_status read_settings(struct iso_train_settings *s, struct iso_plan_run *run,
                                     struct iso_arena *arena, const struct init_args *a,
                                     const char *path, struct iso_err *err)
{
    struct iso_dataset data = {0};
    iso_train_defaults(s);
    enum iso_status st = path ? iso_train_read(s, arena, path, err) : ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < a->set.n; i++)
        st = iso_train_set(s, arena, a->set.at[i], err);
    if (st != ISO_OK)
        return st;
    /* Horizon and batch do not affect the start weights: use some that always work. */
    s->budget = 0;
    s->tokens = 0;
    s->steps = 1;
    s->grid.lanes = s->grid.micro_batch = 0;
    /* The file's own data need not be at hand when nothing of it is missing. */
    bool complete = s->grid.seq_len > 0 && s->grid.vocab > 0;
    const char *dir = a->data || complete ? a->data : s->grid.data;
    if (dir && (st = iso_dataset_open(&data, dir, err)) != ISO_OK)
        return st;
    if (dir || s->grid.seq_len > 0)
        s->grid.batch_tokens = dir ? data.T : s->grid.seq_len;
    st = iso_train_resolve(s, run, dir ? &data : NULL, path ? path : "--set", err);
    if (dir)
        iso_dataset_close(&data);
    return st;
}

static void report(const char *path, const struct iso_model *m, int64_t seed)
{
    const struct iso_arch *a = &m->arch;
    size_t numbers = 0;
    for (size_t i = 0; i < m->params.n; i++)
        numbers += m->params.at[i].n;
    iso_print("%s: %s, r = %" PRId64 ", width %" PRId64 ", vocabulary %" PRId64 ", seed %" PRId64
              ": %zu tensors, %zu numbers\n",
              path, a->loop->name, a->r, a->d_model, a->vocab, seed, m->params.n, numbers);
}

/* Replaces what init wrote, and nothing else: trained weights took hours. */
static enum iso_status check_out(const char *path, struct iso_err *err)
{
    struct iso_safetensors old;
    if (!iso_file_exists(path))
        return ISO_OK;
    enum iso_status st = iso_safetensors_open(&old, path, err);
    const char *step = st == ISO_OK ? iso_safetensors_meta(&old, STEP) : NULL;
    if (!step || !iso_str_eq(step, "0"))
        st = iso_fail(err, ISO_USAGE,
                      "--out %s: it exists, and is not an untrained checkpoint; remove it, or give "
                      "another name",
                      path);
    iso_safetensors_close(&old);
    return st;
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    const struct init_args *a = args;
    struct iso_arena arena = {0};
    struct iso_train_settings s;
    struct iso_plan_run r;
    if (!a->out)
        return iso_fail(err, ISO_USAGE, "--out FILE is missing");
    enum iso_status st = read_settings(&s, &r, &arena, a, ops.n > 0 ? ops.at[0] : NULL, err);
    if (st == ISO_OK)
        st = check_out(a->out, err);
    if (st == ISO_OK) {
        struct iso_model *m = iso_model_new(&r.arch, iso_kern_get("ref"), false);
        struct iso_meta meta[] = {{STEP, "0"}};
        iso_params_start(&m->params, m->w, &m->arch, (uint64_t)s.seed);
        st = iso_model_save(m, a->out, meta, 1, err);
        if (st == ISO_OK)
            report(a->out, m, s.seed);
        iso_model_free(m);
    }
    iso_arena_release(&arena);
    return st;
}

const struct iso_cmd iso_cmd_init = {
    .name = "init",
    .operands = "[RUN.yaml]",
    .summary = "write an initialised checkpoint without training",
    .details = "The model comes from RUN.yaml, from --set, or from both:\n\n"
               "  isodepth init --set d_model=64 --set head=16 --set r=4 --set vocab=4096 --set "
               "seq_len=256 --out model.safetensors",
    .group = "Train",
    .max_operands = 1,
    .opts = options,
    .size = sizeof(struct init_args),
    .run = run,
};
