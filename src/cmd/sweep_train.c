/* The training of a sweep: program, memory and ranks of its runs, all together or budget after
 * budget.  See sweep_call.h. */
#include "cmd/sweep_call.h"

#include "base/file.h"
#include "cmd/sweep_view.h"
#include "fit/stats.h"
#include "kern/kern.h"
#include "train/machine.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void find_trainer(struct iso_sweep_call *c)
{
    const struct iso_path self = iso_program_path();
    c->program = getenv("ISO_TRAIN_PROGRAM");
    c->own_program = !c->program && *self.text;
    if (!c->program)
        c->program = c->own_program ? iso_arena_strdup(&c->arena, self.text) : "isodepth";
}

/* Memory that the trainer needs for a run, or for a rank of it. */
static double run_bytes(const struct iso_sweep_call *c, const struct iso_plan_run *run, int ranks)
{
    const struct iso_kern *kern = iso_kern_get(c->grid.kernels);
    int64_t threads = c->a->threads;
    struct iso_trainer_spec spec = {
        .arch = run->arch,
        .steps = run->steps,
        .batch = (size_t)(run->batch_tokens / run->arch.seq_len),
        .lanes = (size_t)run->lanes,
        .micro = (size_t)run->micro,
        .workers = (int)(threads < run->lanes ? threads : run->lanes),
        .ranks = ranks,
    };
    if (!kern && iso_kern_best(&kern, NULL) != ISO_OK)
        return 0; /* the trainer will say why */
    return (double)iso_trainer_bytes(&spec, kern);
}

static void budget_memory(struct iso_sweep_call *c, struct iso_schedule_options *o)
{
    double available = iso_memory_available();
    o->memory = c->a->memory > 0 ? 1e9 * c->a->memory : available > 0 ? 0.8 * available : INFINITY;
    for (size_t i = 0; i < c->n; i++) {
        struct iso_record *rec = iso_sweep_find(&c->sw, c->runs[i].id);
        int ranks = iso_launch_ranks(&o->launch, rec);
        double bytes = run_bytes(c, &c->runs[i], ranks);
        rec->bytes = bytes * ranks;
        o->launch.bytes = fmax(o->launch.bytes, bytes);
    }
}

/* A machine that lacks the study's kernels leaves it to others. */
static enum iso_status check_kernels(const struct iso_sweep_call *c)
{
    const struct iso_kern *kern;
    if (c->launcher != &iso_launcher_local)
        return ISO_OK;
    enum iso_status st = iso_kern_find(&kern, c->grid.kernels, c->err);
    return st == ISO_OK ? ISO_OK
                        : iso_fail_in(c->err, st, "%s is left to other machines", c->sw.dir);
}

/* Ranks take whole lanes, and this program must be able to have them. */
static enum iso_status check_ranks(const struct iso_sweep_call *c)
{
    if (c->a->ranks > 1 && !ISO_HAVE_MPI && c->own_program)
        return iso_fail(c->err, ISO_MISSING,
                        "--ranks: this program was built without MPI; install libopenmpi-dev and "
                        "build again");
    for (size_t i = 0; i < c->n; i++)
        if (c->a->ranks > c->runs[i].lanes)
            return iso_fail(c->err, ISO_USAGE,
                            "--ranks %" PRId64 ": a batch of run %s has %" PRId64
                            " lanes, and a rank takes whole ones",
                            c->a->ranks, c->runs[i].id, c->runs[i].lanes);
    return ISO_OK;
}

/* Trains what is wanted, up to a budget (0: all). */
static enum iso_status train_all(struct iso_sweep_call *c, double most_budget)
{
    enum iso_status st = check_kernels(c);
    if (st == ISO_OK)
        st = check_ranks(c);
    if (st != ISO_OK)
        return st;
    const struct iso_path grid = iso_path_in(c->sw.dir, "grid.yaml");
    struct iso_schedule_options o = {
        .launcher = c->launcher,
        .launch = {.study = c->sw.dir,
                   .program = c->program,
                   .own = c->own_program,
                   .grid = grid.text,
                   .data = c->data,
                   .kernels = c->grid.kernels,
                   .set = c->set,
                   .n_set = c->n_set,
                   .threads = (int)c->a->threads,
                   .ranks = (int)c->a->ranks,
                   .ranks_from = c->a->ranks_from,
                   .nodes = (int)c->a->nodes,
                   .partition = c->a->partition,
                   .time_limit = c->a->time,
                   .prologue = c->a->prologue,
                   .per_task = (int)c->a->per_task,
                   .mem_per_cpu = c->a->mem_per_cpu,
                   .flags = c->a->sbatch.at,
                   .n_flags = c->a->sbatch.n,
                   .at_once = (int)c->a->at_once,
                   .poll_seconds = c->a->poll},
        .jobs = iso_sweep_call_jobs(c->a),
        .retries = (int)c->a->retries,
        .most_budget = most_budget,
    };
    budget_memory(c, &o);
    struct iso_sweep_view view;
    iso_sweep_view_begin(&view, &c->page);
    struct iso_schedule_view callbacks = iso_sweep_view_callbacks(&view);
    st = iso_schedule_run(&c->sw, &o, &callbacks, c->err);
    iso_sweep_view_end(&view);
    return st;
}

/* --adapt: one budget after the other. */
static enum iso_status train_budgets(struct iso_sweep_call *c)
{
    const size_t n = c->grid.budgets.n;
    double *budget = ISO_ARENA_NEW_N(&c->arena, double, n);
    enum iso_status st = ISO_OK;
    memcpy(budget, c->grid.budgets.at, n * sizeof *budget);
    iso_sort_doubles(budget, n);
    for (size_t i = 0; st == ISO_OK && i < n; i++) {
        bool changed = false;
        if (i > 0)
            st = iso_sweep_adapt_budget(c, budget[i], &changed);
        if (st == ISO_OK && changed)
            st = iso_sweep_study_follow(c);
        if (st == ISO_OK)
            st = train_all(c, budget[i]);
    }
    return st;
}

enum iso_status iso_sweep_call_train(struct iso_sweep_call *c)
{
    find_trainer(c);
    return c->a->adapt ? train_budgets(c) : train_all(c, 0);
}
