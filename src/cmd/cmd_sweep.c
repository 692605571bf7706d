/* isodepth sweep: a grid and a packed corpus become a study. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/progress.h"
#include "cmd/choices.h"
#include "cmd/shared_args.h"
#include "cmd/study_fit.h"
#include "cmd/study_options.h"
#include "cmd/sweep_call.h"
#include "cmd/sweep_view.h"
#include "data/loader.h"
#include "fit/stats.h"
#include "isodepth.h"
#include "kern/kern.h"
#include "train/machine.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
     .help = "use --ranks for runs of so many FLOPs and more", .fallback = "all", .min = 0,
     .max = 1e30},
    {"memory", .kind = ISO_OPT_NUMBER, .offset = AT(memory), .arg = "GB",
     .help = "memory for all runs together", .fallback = "80 % of what is free", .min = 1e-3,
     .max = 1e6},
    {"adapt", .kind = ISO_OPT_FLAG, .offset = AT(adapt),
     .help = "train budget after budget, and move the next one's widths to where the optima are "
             "expected"},
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
     .help = "slurm: time limit of a task, in the form sbatch reads; a task that reaches it saves "
             "and resumes"},
    {"nodes", .kind = ISO_OPT_INT, .offset = AT(nodes),
     .help = "slurm: nodes that the ranks of a run share", .fallback = "as the cluster likes",
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
     .help = "slurm: shell commands at the head of every task, such as 'module load gcc'"},
    {"sbatch", .kind = ISO_OPT_LIST, .offset = AT(sbatch), .arg = "FLAG",
     .help = "slurm: a further flag for sbatch, such as --sbatch=--account=x"},
    {"poll", .kind = ISO_OPT_NUMBER, .offset = AT(poll), .arg = "SECONDS",
     .help = "slurm: how often to ask squeue", .min = 0.1, .max = 3600},
    {0},
};

/* How to train: `sweep --out STUDY` alone uses these as its last start did. */
static const char *const remembered[] = {
    "threads-per-run", "ranks",  "ranks-from", "nodes",   "launcher",
    "partition",       "time",   "per-task",   "at-once", "mem-per-cpu",
    "prologue",        "sbatch", "set",        "adapt",   NULL};

/* --- the study --- */

static enum iso_status check_data(struct iso_sweep_call *c, char checksum[17])
{
    const char *dir = c->a->data ? c->a->data : c->data ? c->data : c->grid.data;
    if (!dir)
        return iso_fail(c->err, ISO_USAGE,
                        "--data DIR is missing: a folder that isodepth pack wrote");
    struct iso_dataset ds;
    enum iso_status st = iso_dataset_open(&ds, dir, c->err);
    if (st != ISO_OK)
        return st;
    if (ds.T != c->grid.seq_len)
        st = iso_fail(c->err, ISO_BAD_INPUT,
                      "%s: rows of %" PRId64 " tokens, %s says seq_len: %" PRId64
                      "; pack with --seq-len %" PRId64 " or change the grid",
                      dir, ds.T, c->grid.path, c->grid.seq_len, c->grid.seq_len);
    else if (ds.vocab > c->grid.vocab)
        st = iso_fail(c->err, ISO_BAD_INPUT,
                      "%s: a vocabulary of %" PRId64 " tokens, %s says vocab: %" PRId64, dir,
                      ds.vocab, c->grid.path, c->grid.vocab);
    snprintf(checksum, 17, "%s", ds.checksum);
    c->tokens = (double)(ds.split[ISO_SPLIT_TRAIN].rows * ds.T);
    iso_dataset_close(&ds);
    char *full = realpath(dir, NULL);
    c->data = iso_arena_strdup(&c->arena, full ? full : dir);
    free(full);
    return st;
}

/* A study is trained with one kernel table: the grid's, or that of its first machine. */
static enum iso_status pin_kernels(struct iso_sweep_call *c)
{
    const struct iso_path path = iso_path_in(c->sw.dir, "grid.yaml");
    const struct iso_yaml *doc;
    const struct iso_kern *kern;
    enum iso_status st = ISO_OK;
    if (!c->grid.kernels && iso_file_exists(path.text)) {
        st = iso_yaml_read(&doc, &c->arena, path.text, c->err);
        c->grid.kernels = st == ISO_OK ? iso_yaml_text(doc, "kernels") : NULL;
    }
    if (st != ISO_OK || c->grid.kernels)
        return st;
    st = iso_kern_best(&kern, c->err);
    if (st == ISO_OK)
        c->grid.kernels = kern->name;
    return st;
}

/* How it is trained, for the next start. */
static void write_options(struct iso_str *out, const struct iso_sweep_call *c)
{
    struct iso_json_out w = {out, 0, 0, false};
    iso_json_begin(&w, NULL, '{');
    struct iso_sweep_args how = c->given;
    how.set = (struct iso_strings){.at = c->set, .n = c->n_set};
    iso_study_options_put(&w, &iso_cmd_sweep, remembered, &how);
    iso_json_end(&w, '}');
}

/* Whether the study's grid has these settings, below a line about its origin. */
static bool has_grid(const struct iso_sweep_call *c, const char *settings)
{
    struct iso_str old = {0};
    bool same = iso_file_read(&old, c->path, NULL) == ISO_OK;
    const char *end = same ? strchr(iso_str_text(&old), '\n') : NULL;
    same = end && iso_str_eq(end + 1, settings);
    iso_str_release(&old);
    return same;
}

/* The study keeps the grid as it was resolved, which the trainers read, and how it is trained. */
static enum iso_status keep_grid(struct iso_sweep_call *c)
{
    struct iso_str text = {0}, how = {0};
    char hash[17];
    iso_str_printf(&text, "# %s with its --set, as isodepth sweep resolved it\n", c->path);
    size_t first = text.len;
    iso_grid_write(&text, &c->grid);
    snprintf(hash, sizeof hash, "%016" PRIx64, iso_xxh64(text.text + first, text.len - first, 0));
    write_options(&how, c);
    enum iso_status st = ISO_OK;
    if (!(c->resumes && has_grid(c, text.text + first)))
        st = iso_file_write(iso_path_in(c->sw.dir, "grid.yaml").text, text.text, text.len, c->err);
    const char *const facts[][2] = {{"grid_hash", hash},
                                    {"options", how.text},
                                    {"version", ISODEPTH_VERSION},
                                    {"data_dir", c->data},
                                    {"cpu", iso_cpu_features()}};
    for (size_t i = 0; st == ISO_OK && i < sizeof facts / sizeof *facts; i++)
        st = iso_store_set(c->sw.store, facts[i][0], facts[i][1], c->err);
    iso_str_release(&how);
    iso_str_release(&text);
    return st;
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

/* Plans; where `keep` is set the study still wants what it wanted, reused runs among it. */
static enum iso_status plan_study(struct iso_sweep_call *c, bool keep)
{
    const size_t n = c->sw.n;
    bool *wanted = ISO_ARENA_NEW_N(&c->arena, bool, n + 1);
    for (size_t i = 0; i < n; i++)
        wanted[i] = c->sw.runs[i].wanted;
    enum iso_status st = iso_sweep_plan(&c->sw, c->runs, c->n, c->err);
    for (size_t i = 0; st == ISO_OK && keep && i < n; i++)
        c->sw.runs[i].wanted |= wanted[i];
    return st;
}

static enum iso_status open_study(struct iso_sweep_call *c, size_t *left)
{
    char checksum[17];
    enum iso_status st = check_data(c, checksum);
    if (st == ISO_OK)
        st = iso_sweep_open(&c->sw, c->a->out, c->err);
    if (st == ISO_OK)
        st = iso_sweep_pin_data(&c->sw, checksum, c->err);
    if (st == ISO_OK)
        st = plan_study(c, c->resumes);
    if (st == ISO_OK)
        st = pin_kernels(c);
    if (st == ISO_OK)
        st = keep_grid(c);
    for (size_t i = 0; st == ISO_OK && i < c->a->reuse.n; i++) {
        size_t reused = 0;
        st = iso_sweep_reuse(&c->sw, c->a->reuse.at[i], &reused, c->err);
        if (st == ISO_OK)
            iso_log_info("reused %zu runs of %s", reused, c->a->reuse.at[i]);
    }
    if (st == ISO_OK)
        st = iso_sweep_reconcile(&c->sw, c->err);
    *left = 0;
    for (size_t i = 0; i < c->sw.n; i++)
        *left += c->sw.runs[i].wanted && c->sw.runs[i].state == ISO_STATE_PLANNED;
    return st;
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

/* Plans again after the grid's widths have changed. */
static enum iso_status follow_grid(struct iso_sweep_call *c)
{
    enum iso_status st = iso_sweep_call_replan(c);
    if (st == ISO_OK)
        st = plan_study(c, true);
    if (st == ISO_OK)
        st = keep_grid(c);
    return st == ISO_OK ? iso_sweep_reconcile(&c->sw, c->err) : st;
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
            st = follow_grid(c);
        if (st == ISO_OK)
            st = train_all(c, budget[i]);
    }
    return st;
}

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
            st = iso_file_read(&text, path.text, c->err);
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
    enum iso_status st = iso_sweep_forget(c->a->out, c->err);
    if (st == ISO_OK)
        st = iso_sweep_open(&c->sw, c->a->out, c->err);
    if (st == ISO_OK)
        st = iso_sweep_rebuild(&c->sw, c->err);
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
        st = c->a->adapt ? train_budgets(c) : train_all(c, 0);
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
        st = open_study(c, &left);
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

/* Without a grid the study is resumed as it was started. */
static enum iso_status recall(struct iso_sweep_call *c)
{
    struct iso_str text = {0};
    const struct iso_json *saved = NULL;
    c->resumes = true;
    c->path = iso_arena_printf(&c->arena, "%s/grid.yaml", c->a->out);
    if (!iso_file_exists(c->path))
        return iso_fail(c->err, ISO_USAGE,
                        "which grid? %s has none to resume; isodepth sweep GRID.yaml --data DIR "
                        "--out STUDY starts a study",
                        c->a->out);
    iso_sweep_fact(&text, c->a->out, "data_dir");
    c->data = text.len ? iso_arena_strdup(&c->arena, text.text) : NULL;
    iso_sweep_fact(&text, c->a->out, "options");
    enum iso_status st = ISO_OK;
    if (text.len)
        st = iso_json_parse(&saved, &c->arena, text.text, text.len, "options of the study", c->err);
    struct iso_strings set = c->a->set; /* they join those of the last start */
    c->a->set = (struct iso_strings){0};
    if (st == ISO_OK && saved)
        iso_study_options_take(c->a, &c->arena, &iso_cmd_sweep, remembered, saved);
    c->saved_set = c->a->set;
    c->a->set = set;
    iso_str_release(&text);
    return st;
}

/* Looks once, at the start: the link names no file any more when another has taken its place. */
static void find_trainer(struct iso_sweep_call *c)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self);
    c->program = getenv("ISO_TRAIN_PROGRAM");
    c->own_program = !c->program && n > 0;
    if (!c->program)
        c->program = n > 0 ? iso_arena_strndup(&c->arena, self, (size_t)n) : "isodepth";
}

static enum iso_status prepare(struct iso_sweep_call *c, struct iso_operands ops)
{
    struct iso_sweep_args *a = c->a;
    if (!a->out && !(a->dry_run && ops.n))
        return iso_fail(c->err, ISO_USAGE, "--out STUDY is missing: the folder of the study");
    c->path = ops.n ? ops.at[0] : NULL;
    find_trainer(c);
    enum iso_status st = ops.n || a->rebuild ? ISO_OK : recall(c);
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
    .details = "Plans the grid, trains what is missing (largest runs first), fits and writes "
               "STUDY/report/report.html. A rerun does only what is missing; a changed grid adds "
               "runs and keeps the old ones. Stop it or kill it at any time; it resumes where it "
               "left off and loses at most the steps since the last checkpoint. Exit code 3 means "
               "stopped and resumable.\n\n"
               "Without GRID.yaml it resumes STUDY with the grid, the data and the options of its "
               "last start.\n\n"
               "A study is one folder per run and a store, study.db, which --rebuild restores from "
               "the folders. docs/studies.md has more; docs/cluster.md is about --launcher slurm.",
    .group = "Study",
    .min_operands = 0,
    .max_operands = 1,
    .lists = (const struct iso_choice *const[]){&iso_choice_launchers, NULL},
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct iso_sweep_args),
    .run = run,
};
