/* isodepth eval: checkpoints on the tasks of a suite; isodepth probes: tasks made by formula. */
#include "cmd/cmd.h"

#include "base/file.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/settings.h"
#include "base/table.h"
#include "eval/eval.h"
#include "eval/probes.h"
#include "eval/scores.h"
#include "model/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRETCH = 10 }; /* prompts up to this many times the trained length */

struct eval_args {
    struct iso_strings checkpoints;
    const char *suite, *data, *tokenizer, *recur, *out;
    int64_t max, threads;
    bool json, latex;
};

static const struct eval_args defaults = {.tokenizer = "bytes", .max = 10000};

#define AT(field) offsetof(struct eval_args, field)
static const struct iso_opt options[] = {
    {"checkpoint", 'c', ISO_OPT_LIST, AT(checkpoints), "FILE",
     "a .safetensors file, or a run's directory; may be repeated", 0, 0},
    {"suite", 's', ISO_OPT_STRING, AT(suite), "FILE", "the list of tasks, e.g. suites/probes.yaml",
     0, 0},
    {"data", 'd', ISO_OPT_STRING, AT(data), "DIR", "directory of the suite's task files", 0, 0},
    {"tokenizer", 0, ISO_OPT_STRING, AT(tokenizer), "NAME",
     "the tokenizer that the model was trained with: bytes, or a .model file (bytes)", 0, 0},
    {"recur", 'r', ISO_OPT_STRING, AT(recur), "R,R,...",
     "also at these numbers of iterations, e.g. 1,2,4,8", 0, 0},
    {"max-per-task", 0, ISO_OPT_INT, AT(max), "N", "items of a task at most (10000)", 1, 1e9},
    {"out", 'o', ISO_OPT_STRING, AT(out), "DIR",
     "keep every item's score there; started again, only what is missing is scored", 0, 0},
    {"threads", 't', ISO_OPT_INT, AT(threads), "N", "threads (default: all cores)", 1, 4096},
    {"latex", 0, ISO_OPT_FLAG, AT(latex), NULL, "print the table as LaTeX (booktabs)", 0, 0},
    {"json", 0, ISO_OPT_FLAG, AT(json), NULL, "print JSON", 0, 0},
    {0},
};

/* One checkpoint at one depth, on every task. */
struct subject {
    const char *checkpoint, *label;
    int recur;
    struct iso_item_score **items; /* [task] */
    struct iso_task_score *score;  /* [task] */
};

struct job {
    struct iso_arena arena;
    const struct eval_args *args;
    struct iso_suite suite;
    struct iso_task *task; /* [suite.n] */
    struct iso_tokenizer tokenizer;
    int threads;
    struct subject *subject;
    size_t n, room;
    struct iso_err *err;
};

static enum iso_status read_tasks(struct job *j)
{
    enum iso_status st = iso_suite_read(&j->suite, &j->arena, j->args->suite, j->err);
    if (st != ISO_OK)
        return st;
    j->task = ISO_ARENA_NEW_N(&j->arena, struct iso_task, j->suite.n);
    for (size_t i = 0; st == ISO_OK && i < j->suite.n; i++)
        st = iso_task_read(&j->task[i], &j->suite.task[i], j->args->data, (size_t)j->args->max,
                           j->err);
    return st;
}

/* The depths to run: the trained one, or those of --recur. */
static enum iso_status list_depths(struct job *j, struct iso_numbers *out,
                                   const struct iso_arch *arch)
{
    double *depth = ISO_ARENA_NEW_N(&j->arena, double, 64);
    *out = (struct iso_numbers){depth, 0};
    if (!j->args->recur) {
        depth[out->n++] = (double)arch->r;
        return ISO_OK;
    }
    char *copy = iso_arena_strdup(&j->arena, j->args->recur), *save;
    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        int64_t r;
        int checked;
        if (!iso_parse_int(w, &r) || r < 1 || out->n == 64)
            return iso_fail(j->err, ISO_USAGE, "--recur: expected numbers from 1, found \"%s\"", w);
        enum iso_status st = iso_depth_check(&checked, arch, r, j->err);
        if (st != ISO_OK)
            return st;
        depth[out->n++] = (double)checked;
    }
    return ISO_OK;
}

static enum iso_status hash_checkpoint(struct job *j, uint64_t *hash, const char *path)
{
    const char *file;
    struct iso_map map;
    enum iso_status st = iso_checkpoint_path(&file, &j->arena, path, j->err);
    if (st == ISO_OK)
        st = iso_map_open(&map, file, j->err);
    if (st == ISO_OK) {
        *hash = iso_hash64(map.bytes, map.len);
        iso_map_close(&map);
    }
    return st;
}

static const char *record_path(struct job *j, const struct subject *s, size_t task)
{
    return iso_arena_printf(&j->arena, "%s/%s/%s.jsonl", j->args->out, s->label,
                            j->suite.task[task].name);
}

/* One task: out of its record, or scored and recorded. */
static enum iso_status run_task(struct job *j, struct subject *s, size_t i, uint64_t model_hash,
                                const struct iso_evaluator *e)
{
    const struct iso_task *task = &j->task[i];
    const struct iso_scores_key key = {.task = task->spec->name,
                                       .task_hash = task->hash,
                                       .model_hash = model_hash,
                                       .tokenizer_hash = j->tokenizer.hash,
                                       .recur = s->recur,
                                       .n_items = task->n,
                                       .shots = (size_t)task->spec->shots};
    bool found = false;
    enum iso_status st = ISO_OK;
    s->items[i] = ISO_ARENA_NEW_N(&j->arena, struct iso_item_score, task->n);
    if (j->args->out)
        st = iso_scores_read(&found, s->items[i], record_path(j, s, i), &key, j->err);
    if (st == ISO_OK && !found)
        st = iso_eval_task(s->items[i], e, task, j->err);
    if (st == ISO_OK && !found && j->args->out)
        st = iso_scores_write(record_path(j, s, i), &key, task, s->items[i], j->err);
    if (st == ISO_OK)
        s->score[i] = iso_task_score(s->items[i], task->n, task->spec->baseline);
    return st;
}

static enum iso_status run_depth(struct job *j, struct iso_model *m, const char *checkpoint,
                                 uint64_t model_hash, int depth)
{
    struct subject *s = ISO_PUSH(j->subject, j->n, j->room);
    const char *slash = strrchr(checkpoint, '/'), *name = slash ? slash + 1 : checkpoint;
    *s = (struct subject){
        .checkpoint = checkpoint,
        .label = iso_arena_printf(&j->arena, depth == m->arch.r ? "%s" : "%s@r%d",
                                  *name ? name : checkpoint, depth),
        .recur = depth,
        .items = ISO_ARENA_NEW_N(&j->arena, struct iso_item_score *, j->suite.n),
        .score = ISO_ARENA_NEW_N(&j->arena, struct iso_task_score, j->suite.n),
    };
    enum iso_status st = ISO_OK;
    if (j->args->out) {
        struct iso_str dir = {0};
        iso_str_printf(&dir, "%s/%s", j->args->out, s->label);
        st = iso_dir_make(dir.text, j->err);
        iso_str_release(&dir);
    }
    struct iso_evaluator e = {.tokenizer = &j->tokenizer,
                              .longest = (size_t)(STRETCH * m->arch.seq_len),
                              .threads = j->threads};
    e.scorer = iso_scorer_new(m, e.longest, depth, j->threads);
    for (size_t i = 0; st == ISO_OK && i < j->suite.n; i++)
        st = run_task(j, s, i, model_hash, &e);
    iso_scorer_free(e.scorer);
    return st;
}

static enum iso_status run_checkpoint(struct job *j, const char *checkpoint,
                                      const struct iso_kern *kern)
{
    struct iso_model *m = NULL;
    struct iso_numbers depths = {0};
    uint64_t hash = 0;
    enum iso_status st = iso_model_load(&m, NULL, checkpoint, kern, false, j->err);
    if (st == ISO_OK && m->arch.vocab != j->tokenizer.vocab)
        st = iso_fail(j->err, ISO_BAD_INPUT,
                      "%s: the model has %" PRId64 " tokens, the tokenizer %" PRId64
                      "; give the --tokenizer that its data was packed with",
                      checkpoint, m->arch.vocab, j->tokenizer.vocab);
    if (st == ISO_OK)
        st = hash_checkpoint(j, &hash, checkpoint);
    if (st == ISO_OK)
        st = list_depths(j, &depths, &m->arch);
    for (size_t i = 0; st == ISO_OK && i < depths.n; i++)
        st = run_depth(j, m, checkpoint, hash, (int)depths.at[i]);
    iso_model_free(m);
    return st;
}

/* --- output --- */

/* Mean loss over the tasks of an axis, and whether task i is the first of its axis. */
static double axis_mean(const struct job *j, const struct subject *s, const char *axis)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < j->suite.n; i++)
        if (iso_str_eq(j->suite.task[i].axis, axis)) {
            sum += s->score[i].loss;
            n++;
        }
    return sum / (double)n;
}

static bool first_of_axis(const struct job *j, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (iso_str_eq(j->suite.task[k].axis, j->suite.task[i].axis))
            return false;
    return true;
}

/* The mean centred accuracy over the tasks with a baseline; NaN when there are none. */
static double core_mean(const struct job *j, const struct subject *s)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < j->suite.n; i++)
        if (!isnan(s->score[i].centred)) {
            sum += s->score[i].centred;
            n++;
        }
    return n ? sum / (double)n : NAN;
}

static void put_task_rows(struct iso_table *t, const struct job *j, size_t i)
{
    const struct iso_task_spec *spec = &j->suite.task[i];
    for (size_t k = 0; k < j->n; k++) {
        const struct iso_task_score *s = &j->subject[k].score[i];
        iso_table_put(t, spec->axis);
        iso_table_put(t, spec->name);
        iso_table_put(t, j->subject[k].label);
        iso_table_putf(t, "%zu", s->n);
        iso_table_putf(t, "%.4f", s->loss);
        iso_table_putf(t, "%.4f", s->loss_se);
        double difference, se;
        iso_paired_difference(&difference, &se, j->subject[0].items[i], j->subject[k].items[i],
                              s->n);
        if (k)
            iso_table_putf(t, "%+.4f +- %.4f", difference, se);
        else
            iso_table_put(t, "-");
        iso_table_putf(t, "%.1f%%", 100 * s->accuracy);
        iso_table_putf(t, "%zu", s->cut);
    }
}

static void print_tables(const struct job *j)
{
    struct iso_table t;
    enum iso_table_format format = j->args->latex ? ISO_TABLE_LATEX : ISO_TABLE_TEXT;
    iso_table_init(&t, "axis|task|model|items|loss|+-|to the first|accuracy|cut");
    for (size_t i = 0; i < j->suite.n; i++)
        put_task_rows(&t, j, i);
    iso_table_print(stdout, &t, format);
    iso_table_release(&t);
    putchar('\n');
    iso_table_init(&t, "axis|model|loss (mean over tasks)");
    for (size_t i = 0; i < j->suite.n; i++)
        for (size_t k = 0; first_of_axis(j, i) && k < j->n; k++) {
            iso_table_put(&t, j->suite.task[i].axis);
            iso_table_put(&t, j->subject[k].label);
            iso_table_putf(&t, "%.4f", axis_mean(j, &j->subject[k], j->suite.task[i].axis));
        }
    iso_table_print(stdout, &t, format);
    iso_table_release(&t);
    for (size_t k = 0; k < j->n; k++)
        if (!isnan(core_mean(j, &j->subject[k])))
            printf("\n%s: mean centred accuracy %.4f\n", j->subject[k].label,
                   core_mean(j, &j->subject[k]));
}

static void put_task_json(struct iso_json_out *w, const struct iso_task_spec *spec,
                          const struct iso_task_score *s)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "task", spec->name);
    iso_json_put_string(w, "axis", spec->axis);
    iso_json_put_int(w, "items", (int64_t)s->n);
    iso_json_put_int(w, "tokens", (int64_t)s->tokens);
    iso_json_put_int(w, "cut", (int64_t)s->cut);
    iso_json_put_number(w, "loss", s->loss);
    iso_json_put_number(w, "loss_se", s->loss_se);
    iso_json_put_number(w, "accuracy", s->accuracy);
    iso_json_put_number(w, "accuracy_se", s->accuracy_se);
    iso_json_put_number(w, "centred_accuracy", s->centred);
    iso_json_end(w, '}');
}

static void print_json(const struct job *j)
{
    struct iso_str text = {0};
    struct iso_json_out w = {&text, 2, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_begin(&w, "models", '[');
    for (size_t k = 0; k < j->n; k++) {
        const struct subject *s = &j->subject[k];
        iso_json_begin(&w, NULL, '{');
        iso_json_put_string(&w, "checkpoint", s->checkpoint);
        iso_json_put_int(&w, "recur", s->recur);
        iso_json_put_number(&w, "core", core_mean(j, s));
        iso_json_begin(&w, "axes", '{');
        for (size_t i = 0; i < j->suite.n; i++)
            if (first_of_axis(j, i))
                iso_json_put_number(&w, j->suite.task[i].axis,
                                    axis_mean(j, s, j->suite.task[i].axis));
        iso_json_end(&w, '}');
        iso_json_begin(&w, "tasks", '[');
        for (size_t i = 0; i < j->suite.n; i++)
            put_task_json(&w, &j->suite.task[i], &s->score[i]);
        iso_json_end(&w, ']');
        iso_json_end(&w, '}');
    }
    iso_json_end(&w, ']');
    iso_json_end(&w, '}');
    puts(text.text);
    iso_str_release(&text);
}

static enum iso_status run_job(struct job *j)
{
    const struct eval_args *a = j->args;
    const char *why;
    if (a->checkpoints.n == 0 || !a->suite || !a->data)
        return iso_fail(j->err, ISO_USAGE,
                        "needed: --checkpoint F --suite S.yaml --data DIR; e.g. after isodepth "
                        "probes --out DIR with suites/probes.yaml");
    const struct iso_kern *kern = iso_kern_best(&why);
    if (!kern)
        return iso_fail(j->err, ISO_MISSING, "%s", why);
    enum iso_status st = read_tasks(j);
    if (st == ISO_OK)
        st = iso_tokenizer_open(&j->tokenizer, a->tokenizer, j->err);
    if (st != ISO_OK)
        return st;
    for (size_t i = 0; st == ISO_OK && i < a->checkpoints.n; i++)
        st = run_checkpoint(j, a->checkpoints.at[i], kern);
    iso_tokenizer_close(&j->tokenizer);
    if (st == ISO_OK && a->json)
        print_json(j);
    else if (st == ISO_OK)
        print_tables(j);
    return st;
}

static enum iso_status run_eval(const void *args, struct iso_operands ops, struct iso_err *err)
{
    (void)ops;
    struct job j = {.args = args, .err = err};
    j.threads = j.args->threads > 0 ? (int)j.args->threads : iso_cpu_count();
    enum iso_status st = run_job(&j);
    for (size_t i = 0; j.task && i < j.suite.n; i++)
        iso_task_release(&j.task[i]);
    free(j.subject);
    iso_arena_release(&j.arena);
    return st;
}

const struct iso_cmd iso_cmd_eval = {
    .name = "eval",
    .operands = "",
    .summary = "score checkpoints on downstream tasks",
    .details =
        "Prints the loss of the right answers in nats per token, its standard error, the paired\n"
        "difference to the first model on the same items, and the accuracy, per task and axis.\n"
        "Prompts longer than ten times the trained length lose their left end; `cut` counts them.",
    .group = "Evaluate",
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct eval_args),
    .run = run_eval,
};

struct probes_args {
    const char *out;
};

static const struct iso_opt probes_options[] = {
    {"out", 'o', ISO_OPT_STRING, offsetof(struct probes_args, out), "DIR", "where the files go", 0,
     0},
    {0},
};

static enum iso_status run_probes(const void *args, struct iso_operands ops, struct iso_err *err)
{
    (void)ops;
    const struct probes_args *a = args;
    if (!a->out)
        return iso_fail(err, ISO_USAGE, "--out DIR is missing");
    return iso_probes_write(a->out, err);
}

const struct iso_cmd iso_cmd_probes = {
    .name = "probes",
    .operands = "",
    .summary = "write the task files that are made by formula",
    .details = "The paper's induction-head and variable-assignment probes, byte for byte, and\n"
               "chains of aliases of depth 0 to 4. suites/probes.yaml lists them for eval.",
    .group = "Evaluate",
    .opts = probes_options,
    .size = sizeof(struct probes_args),
    .run = run_probes,
};
