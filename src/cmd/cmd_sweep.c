/* isodepth sweep: a grid and a packed corpus become a study. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/progress.h"
#include "cmd/choices.h"
#include "cmd/shared_args.h"
#include "cmd/study_fit.h"
#include "cmd/sweep_call.h"
#include "cmd/sweep_view.h"

#include <inttypes.h>
#include <stdio.h>

static const struct iso_sweep_args defaults = {.retries = 2, .poll = 10};

#define AT(field) offsetof(struct iso_sweep_args, field)
static const struct iso_opt options[] = {
    {"data", .kind = ISO_OPT_STRING, .offset = AT(data), .arg = "DIR", .help = "packed data",
     .fallback = "the grid's key data"},
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "STUDY",
     .help = "directory of the study: created, or resumed when it exists"},
    {"jobs", .letter = 'j', .kind = ISO_OPT_INT, .offset = AT(jobs), .help = "runs at once",
     .fallback = "cores / threads per run", .min = 1, .max = 4096},
    {"threads-per-run", .kind = ISO_OPT_INT, .offset = AT(threads),
     .help = "threads of each run; small models are fastest one per core",
     .fallback = "1; without GRID.yaml as in the last start", .min = 1, .max = 1024},
    {"ranks", .kind = ISO_OPT_INT, .offset = AT(ranks),
     .help = "train a run with N processes over MPI, each with --threads-per-run threads",
     .fallback = "1; without GRID.yaml as in the last start", .min = 1, .max = 4096},
    {"ranks-from", .kind = ISO_OPT_NUMBER, .offset = AT(ranks_from), .arg = "FLOPS",
     .help = "use --ranks only for runs of at least this many FLOPs", .fallback = "all", .min = 0,
     .max = 1e30},
    {"memory", .kind = ISO_OPT_NUMBER, .offset = AT(memory), .arg = "GB",
     .help = "memory for all runs together", .fallback = "80 % of what is free", .min = 1e-3,
     .max = 1e6},
    {"adapt", .kind = ISO_OPT_FLAG, .offset = AT(adapt),
     .help =
         "train one budget after another, and move the widths of the next to its expected optima"},
    {"retries", .kind = ISO_OPT_INT, .offset = AT(retries), .help = "retry a failed run N times",
     .min = 0, .max = 1000},
    {"reuse", .kind = ISO_OPT_LIST, .offset = AT(reuse), .arg = "STUDY|RUNS.csv",
     .help = "reuse finished runs of the same id from there; without r = 1 in the grid also its r "
             "= 1 runs at the grid's budgets"},
    {"seeds", .kind = ISO_OPT_INT, .offset = AT(seeds),
     .help = "repeat with seeds 1 to N, in the cells of --cells or in all", .min = 1, .max = 1000},
    {"cells", .kind = ISO_OPT_STRING, .offset = AT(cells), .arg = "CELLS",
     .help = "which cells --seeds repeats: 'r=4,budget=1e13; r=1,budget=1e13'"},
    {.kind = ISO_OPT_TABLE, .offset = AT(set), .table = &iso_grid_options},
    {"dry-run", .letter = 'n', .kind = ISO_OPT_FLAG, .offset = AT(dry_run),
     .help = "print what would be trained, and how long it would take"},
    {"tflops", .kind = ISO_OPT_NUMBER, .offset = AT(tflops),
     .help = "speed of one run for the hours of --dry-run",
     .fallback = "that of the study's finished runs", .min = 1e-9, .max = 1e9},
    {"rebuild", .kind = ISO_OPT_FLAG, .offset = AT(rebuild),
     .help = "rebuild the store study.db from the run folders, and stop"},
    {"no-fit", .kind = ISO_OPT_FLAG, .offset = AT(no_fit),
     .help = "stop when the runs are done: no fit, no report"},
    {"launcher", .kind = ISO_OPT_CHOICE, .offset = AT(launcher), .help = "where to train",
     .fallback = "local; without GRID.yaml as in the last start", .choice = &iso_choice_launchers},
    {"partition", .kind = ISO_OPT_STRING, .offset = AT(partition), .arg = "NAME",
     .help = "slurm: partition"},
    {"time", .kind = ISO_OPT_STRING, .offset = AT(time), .arg = "LIMIT",
     .help = "slurm: time limit of a task, as sbatch reads it; a task that reaches it saves and "
             "resumes"},
    {"nodes", .kind = ISO_OPT_INT, .offset = AT(nodes),
     .help = "slurm: nodes that the ranks of a run share", .fallback = "the cluster decides",
     .min = 1, .max = 4096},
    {"per-task", .kind = ISO_OPT_INT, .offset = AT(per_task),
     .help = "slurm: runs that one task trains side by side, for clusters that give whole nodes",
     .fallback = "1", .min = 1, .max = 1024},
    {"at-once", .kind = ISO_OPT_INT, .offset = AT(at_once),
     .help = "slurm: run at most N tasks of an array at once",
     .fallback = "what the cluster allows", .min = 1, .max = 1000000},
    {"mem-per-cpu", .kind = ISO_OPT_FLAG, .offset = AT(mem_per_cpu),
     .help = "slurm: ask for memory by CPU, not by node"},
    {"prologue", .kind = ISO_OPT_STRING, .offset = AT(prologue), .arg = "COMMANDS",
     .help = "slurm: shell commands to run first in every task, such as 'module load gcc'"},
    {"sbatch", .kind = ISO_OPT_LIST, .offset = AT(sbatch), .arg = "FLAG",
     .help = "slurm: another flag for sbatch, such as --sbatch=--account=x"},
    {"poll", .kind = ISO_OPT_NUMBER, .offset = AT(poll), .arg = "SECONDS",
     .help = "slurm: how often to ask squeue", .min = 0.1, .max = 3600},
    {0},
};

static void print_counts(const struct iso_sweep_call *c)
{
    struct iso_arena arena = {0};
    struct iso_look look;
    struct iso_str text = {0};
    iso_look_at(&look, &arena, c->sw.dir, c->sw.runs, c->sw.n);
    iso_sweep_view_counts(&text, &look);
    printf("%s: %s\n", c->a->out, text.text);
    for (size_t i = 0; i < c->sw.n; i++)
        if (c->sw.runs[i].wanted && c->sw.runs[i].state == ISO_STATE_DIVERGED)
            iso_print("diverged, kept, and left out of the fit: %s %s\n", c->sw.runs[i].id,
                      c->sw.runs[i].message);
    iso_str_release(&text);
    iso_arena_release(&arena);
}

/* The tables that a report is made of; all but the first may be missing. */
static enum iso_status hash_tables(uint64_t *hash, const struct iso_sweep_call *c)
{
    static const char *const tables[] = {"runs.csv", "eval.csv", "adapt.json"};
    enum iso_status st = ISO_OK;
    *hash = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && st == ISO_OK; i++) {
        const struct iso_path path = iso_path_in(c->sw.dir, "%s", tables[i]);
        struct iso_str text = {0};
        if (i == 0 || iso_file_exists(path.text))
            st = iso_file_read_regular(&text, path.text, c->err);
        *hash = iso_xxh64(iso_str_text(&text), text.len, *hash);
        iso_str_release(&text);
    }
    return st;
}

/* Fit and report, or what they were when their tables have not changed since. */
static enum iso_status fit_study(struct iso_sweep_call *c)
{
    const struct iso_path page = iso_path_in(c->sw.dir, "report/report.html");
    struct iso_str key = {0}, said = {0};
    uint64_t hash;
    enum iso_status st = hash_tables(&hash, c);
    iso_str_printf(&key, "words on %016" PRIx64, hash);
    if (st == ISO_OK)
        st = iso_store_get(c->sw.store, &said, key.text, c->err);
    if (st == ISO_OK && !(said.len && iso_file_exists(page.text))) {
        iso_str_clear(&said);
        st = c->grid.matrix_rates.n > 1
                 ? iso_study_rates_report(&said, c->a->out, c->grid.name,
                                          c->grid.rates.of[ISO_GROUP_MATRIX], c->err)
                 : iso_study_fit_report(&said, c->a->out, c->grid.name, c->err);
        if (st == ISO_OK)
            st = iso_store_set(c->sw.store, key.text, iso_str_text(&said), c->err);
    }
    iso_print_page(iso_str_text(&said));
    if (st == ISO_OK && !iso_str_starts(iso_str_text(&said), ISO_STUDY_NO_FIT))
        printf("report: %s/report/report.html\n", c->a->out);
    iso_str_release(&key);
    iso_str_release(&said);
    return st;
}

static enum iso_status rebuild(struct iso_sweep_call *c)
{
    enum iso_status st = iso_sweep_study_rebuild(c);
    if (st == ISO_OK)
        print_counts(c);
    return st;
}

/* The page of the study as this start leaves it. */
static void close_page(struct iso_sweep_call *c, enum iso_status st)
{
    struct iso_arena arena = {0};
    struct iso_look look;
    iso_look_at(&look, &arena, c->sw.dir, c->sw.runs, c->sw.n);
    iso_live_page_end(&c->page, &look,
                      st == ISO_OK        ? "finished"
                      : st == ISO_STOPPED ? "stopped; isodepth sweep --out STUDY resumes it"
                                          : "ended with an error; isodepth status shows more");
    iso_arena_release(&arena);
}

static enum iso_status train_and_fit(struct iso_sweep_call *c, size_t left)
{
    enum iso_status st = ISO_OK;
    if (left == 0)
        printf("nothing is left to do\n");
    else
        st = iso_sweep_call_train(c);
    if (st == ISO_OK || st == ISO_STOPPED)
        print_counts(c);
    return st == ISO_OK && !c->a->no_fit ? fit_study(c) : st;
}

static enum iso_status do_sweep(struct iso_sweep_call *c)
{
    size_t left;
    enum iso_status st = iso_sweep_call_plan(c);
    if (st == ISO_OK && c->a->dry_run)
        return iso_sweep_call_dry_run(c);
    if (st == ISO_OK)
        st = iso_sweep_study_open(c, &left);
    if (st != ISO_OK)
        return st;
    iso_live_page_begin(&c->page, c->sw.dir, c->grid.name);
    st = train_and_fit(c, left);
    close_page(c, st);
    return st;
}

/* Each submission has as many tasks as runs; another array would start too few, or tasks without
 * a run. */
static enum iso_status check_sbatch(const struct iso_strings *flags, struct iso_err *err)
{
    for (size_t i = 0; i < flags->n; i++)
        if (iso_str_starts(flags->at[i], "--array") || iso_str_starts(flags->at[i], "-a"))
            return iso_fail(err, ISO_USAGE,
                            "--sbatch=%s: the array is made from the runs; --at-once N limits how "
                            "many of its tasks run at once",
                            flags->at[i]);
    return ISO_OK;
}

static enum iso_status prepare(struct iso_sweep_call *c, struct iso_operands ops)
{
    struct iso_sweep_args *a = c->a;
    if (!a->out && !(a->dry_run && ops.n))
        return iso_fail(c->err, ISO_USAGE, "--out STUDY is missing: the folder of the study");
    c->path = ops.n ? ops.at[0] : NULL;
    enum iso_status st = ops.n || a->rebuild ? ISO_OK : iso_sweep_study_recall(c);
    c->given = *a;
    a->threads = a->threads ? a->threads : 1;
    a->ranks = a->ranks ? a->ranks : 1;
    a->per_task = a->per_task ? a->per_task : 1;
    c->launcher = a->launcher ? iso_launcher_find(a->launcher) : iso_launchers[0];
    if (st == ISO_OK && !c->launcher)
        st = iso_fail(c->err, ISO_BAD_INPUT,
                      "%s: it was started with the launcher %s, which this "
                      "program does not have; give --launcher",
                      a->out, a->launcher);
    return st == ISO_OK ? check_sbatch(&a->sbatch, c->err) : st;
}

static enum iso_status run(const void *args, struct iso_operands ops, struct iso_err *err)
{
    struct iso_sweep_args a = *(const struct iso_sweep_args *)args;
    struct iso_sweep_call c = {.a = &a, .err = err, .sw = {.lock = -1}};
    enum iso_status st = prepare(&c, ops);
    if (st == ISO_OK)
        st = a.rebuild ? rebuild(&c) : do_sweep(&c);
    iso_sweep_close(&c.sw);
    iso_adaptions_release(&c.adaptions);
    iso_arena_release(&c.arena);
    return st;
}

const struct iso_cmd iso_cmd_sweep = {
    .name = "sweep",
    .operands = "[GRID.yaml]",
    .summary = "train every run of a grid, fit, and write the report",
    .details =
        "Plans the grid, trains the missing runs (largest first), fits, and writes "
        "STUDY/report/report.html. A rerun does only what is missing; a changed grid adds runs "
        "and keeps the old ones. Stop it or kill it at any time: it resumes where it left off and "
        "loses at most the steps since the last checkpoint. Exit code 3 means stopped and "
        "resumable.\n\n"
        "Without GRID.yaml it resumes STUDY with the grid, the data and the options of its last "
        "start.\n\n"
        "A study has one folder per run and a store, study.db, which --rebuild restores from the "
        "folders. docs/studies.md explains more, docs/cluster.md covers --launcher slurm.",
    .group = "Study",
    .min_operands = 0,
    .max_operands = 1,
    .lists = (const struct iso_choice *const[]){&iso_choice_launchers, NULL},
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct iso_sweep_args),
    .run = run,
};
