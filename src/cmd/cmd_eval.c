/* isodepth eval: checkpoints, or the runs of a study, on the tasks of a suite. */
#include "cmd/eval_job.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/settings.h"
#include "cmd/find_tokenizer.h"
#include "cmd/fit_args.h"
#include "eval/eval.h"
#include "eval/scores.h"
#include "model/checkpoint.h"

#include <stdlib.h>
#include <string.h>

enum { STRETCH = 10 }; /* prompts up to this many times the trained length */

static const struct iso_eval_args defaults = {.max = 10000};

#define AT(field) offsetof(struct iso_eval_args, field)
static const struct iso_opt options[] = {
    {"checkpoint", .letter = 'c', .kind = ISO_OPT_LIST, .offset = AT(checkpoints), .arg = "FILE",
     .help = "a .safetensors file, or a run's directory"},
    {"suite", .letter = 's', .kind = ISO_OPT_STRING, .offset = AT(suite), .arg = "FILE",
     .help = "the list of tasks, such as suites/probes.yaml"},
    {"tasks", .kind = ISO_OPT_STRING, .offset = AT(tasks), .arg = "DIR",
     .help = "directory of the suite's task files"},
    {"tokenizer", .kind = ISO_OPT_STRING, .offset = AT(tokenizer), .arg = "NAME",
     .help = "the tokenizer that the model was trained with: bytes, or a .model file",
     .fallback = "that of the run's data; bytes for a model without a run"},
    {"recur", .letter = 'r', .kind = ISO_OPT_STRING, .offset = AT(recur), .arg = "R,R,...",
     .help = "run at these numbers of iterations, such as 1,2,4,8", .fallback = "as trained"},
    {"max-per-task", .kind = ISO_OPT_INT, .offset = AT(max),
     .help = "score at most N items of a task", .min = 1, .max = 1e9},
    {"out", .letter = 'o', .kind = ISO_OPT_STRING, .offset = AT(out), .arg = "DIR",
     .help = "keep the score of every item here; a rerun scores only what is missing"},
    {"threads", .letter = 't', .kind = ISO_OPT_INT, .offset = AT(threads), .help = "threads",
     .fallback = "all cores", .min = 1, .max = 4096},
    {"latex", .kind = ISO_OPT_FLAG, .offset = AT(latex),
     .help = "print the table as LaTeX (booktabs)"},
    {"json", .kind = ISO_OPT_FLAG, .offset = AT(json), .help = "print JSON"},
    {0},
};

static enum iso_status read_tasks(struct iso_eval_job *j)
{
    enum iso_status st = iso_suite_read(&j->suite, &j->arena, j->args->suite, j->err);
    if (st != ISO_OK)
        return st;
    j->task = ISO_ARENA_NEW_N(&j->arena, struct iso_task, j->suite.n);
    for (size_t i = 0; st == ISO_OK && i < j->suite.n; i++)
        st = iso_task_read(&j->task[i], &j->suite.task[i], j->args->tasks, (size_t)j->args->max,
                           j->err);
    return st;
}

static bool has_depth(const struct iso_numbers *list, int depth)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i] == depth)
            return true;
    return false;
}

/* The depths to run, each once: those of --recur, or the trained one.  The runs of a study are of
 * many kinds: each is run at its trained depth and at those of --recur that it can be run at. */
static enum iso_status list_depths(struct iso_eval_job *j, struct iso_numbers *out,
                                   const struct iso_arch *arch)
{
    enum { MOST = 64, DEEPEST = 10000 };
    double *depth = ISO_ARENA_NEW_N(&j->arena, double, MOST);
    *out = (struct iso_numbers){depth, 0};
    if (!j->args->recur || j->study)
        depth[out->n++] = (double)arch->r;
    if (!j->args->recur)
        return ISO_OK;
    char *copy = iso_arena_strdup(&j->arena, j->args->recur), *save;
    char *w = strtok_r(copy, ",", &save);
    if (!w)
        return iso_fail(j->err, ISO_USAGE, "--recur: expected numbers from 1 to %d, found none",
                        DEEPEST);
    for (; w; w = strtok_r(NULL, ",", &save)) {
        int64_t r;
        int checked;
        if (!iso_parse_int(w, &r) || r < 1 || r > DEEPEST || out->n == MOST)
            return iso_fail(j->err, ISO_USAGE,
                            "--recur: expected numbers from 1 to %d, found \"%s\"", DEEPEST, w);
        enum iso_status st = iso_depth_check(&checked, arch, r, j->err);
        if (st != ISO_OK && !j->study)
            return st;
        if (st == ISO_OK && !has_depth(out, checked))
            depth[out->n++] = (double)checked;
    }
    return ISO_OK;
}

static enum iso_status hash_checkpoint(struct iso_eval_job *j, uint64_t *hash, const char *path)
{
    const char *file;
    struct iso_map map;
    enum iso_status st = iso_checkpoint_path(&file, &j->arena, path, j->err);
    if (st == ISO_OK)
        st = iso_map_open(&map, file, j->err);
    if (st == ISO_OK) {
        *hash = iso_xxh64(map.bytes, map.len, 0);
        iso_map_close(&map);
    }
    return st;
}

static const char *record_path(struct iso_eval_job *j, const struct iso_eval_subject *s,
                               size_t task)
{
    return iso_arena_printf(&j->arena, "%s/%s/%s.jsonl", j->out, s->label,
                            j->suite.task[task].name);
}

/* One task: out of its record, or scored and recorded. */
static enum iso_status run_task(struct iso_eval_job *j, struct iso_eval_subject *s, size_t i,
                                uint64_t model_hash, const struct iso_evaluator *e)
{
    const struct iso_task *task = &j->task[i];
    const struct iso_scores_key key = {.task = task->spec->name,
                                       .task_hash = task->hash,
                                       .model_hash = model_hash,
                                       .tokenizer_hash = j->tokenizer.hash,
                                       .recur = s->recur,
                                       .n_items = task->n,
                                       .shots = (size_t)task->spec->shots,
                                       .type = iso_task_type_name(task->spec->type),
                                       .delimiter = task->spec->delimiter};
    bool found = false;
    enum iso_status st = ISO_OK;
    s->items[i] = ISO_ARENA_NEW_N(&j->arena, struct iso_item_score, task->n);
    if (j->out)
        st = iso_scores_read(&found, s->items[i], record_path(j, s, i), &key, j->err);
    if (st == ISO_OK && !found)
        st = iso_eval_task(s->items[i], e, task, j->err);
    if (st == ISO_OK && !found && j->out)
        st = iso_scores_write(record_path(j, s, i), &key, task, s->items[i], j->err);
    if (st != ISO_OK)
        return st;
    s->score[i] = iso_task_score(s->items[i], task->n, task->spec->baseline);
    if (s->score[i].not_finite)
        iso_log_warn("%s: %s: the loss of %zu of %zu items is not finite", s->label, key.task,
                     s->score[i].not_finite, task->n);
    return ISO_OK;
}

/* The name of a file or a run's directory; for model.safetensors, which every run has, that of its
 * directory.  The full path has it also where `path` is a dot or ends in a slash. */
static const char *base_name(struct iso_eval_job *j, const char *path)
{
    char *full = realpath(path, NULL);
    char *name = iso_arena_strdup(&j->arena, full ? full : path);
    free(full);
    char *slash = strrchr(name, '/');
    if (slash && slash > name && iso_str_eq(slash + 1, "model.safetensors")) {
        *slash = '\0';
        slash = strrchr(name, '/');
    }
    return slash ? slash + 1 : name;
}

/* The path as one name, which does not begin with a dot: that would hide it, or lead up. */
static const char *flat_path(struct iso_eval_job *j, const char *path)
{
    char *name = iso_arena_strdup(&j->arena, path);
    for (char *p = name; *p; p++)
        if (*p == '/' || (*p == '.' && p == name))
            *p = '_';
    return name;
}

/* A checkpoint's name in tables and of its records: its own, or the whole path where several have
 * the same, which runs of a study have not. */
static const char *name_checkpoint(struct iso_eval_job *j, size_t c)
{
    if (j->run)
        return j->run[c]->id;
    const char *name = base_name(j, j->checkpoint[c]);
    for (size_t i = 0; i < j->n_checkpoint; i++)
        if (i != c && iso_str_eq(base_name(j, j->checkpoint[i]), name))
            return flat_path(j, j->checkpoint[c]);
    return name;
}

static enum iso_status run_depth(struct iso_eval_job *j, struct iso_model *m, size_t c,
                                 uint64_t model_hash, int depth)
{
    struct iso_eval_subject *s = ISO_PUSH(j->subject, j->n, j->room);
    *s = (struct iso_eval_subject){
        .checkpoint = j->checkpoint[c],
        .label = iso_arena_printf(&j->arena, depth == m->arch.r ? "%s" : "%s@r%d",
                                  name_checkpoint(j, c), depth),
        .run = j->run ? j->run[c] : NULL,
        .recur = depth,
        .trained = (int)m->arch.r,
        .items = ISO_ARENA_NEW_N(&j->arena, struct iso_item_score *, j->suite.n),
        .score = ISO_ARENA_NEW_N(&j->arena, struct iso_task_score, j->suite.n),
    };
    enum iso_status st = ISO_OK;
    if (j->out)
        st = iso_dir_make(iso_path_in(j->out, "%s", s->label).text, j->err);
    struct iso_evaluator e = {.tokenizer = &j->tokenizer,
                              .longest = (size_t)(STRETCH * m->arch.seq_len),
                              .threads = j->threads};
    e.scorer = iso_scorer_new(m, e.longest, depth, j->threads);
    for (size_t i = 0; st == ISO_OK && i < j->suite.n; i++)
        st = run_task(j, s, i, model_hash, &e);
    iso_scorer_free(e.scorer);
    return st;
}

static enum iso_status run_checkpoint(struct iso_eval_job *j, size_t c)
{
    const char *checkpoint = j->checkpoint[c];
    struct iso_model *m = NULL;
    struct iso_numbers depths = {0};
    uint64_t hash = 0;
    enum iso_status st = iso_model_open(&m, checkpoint, j->err);
    if (st == ISO_OK) {
        st = iso_model_check_tokenizer(m, j->tokenizer.vocab, j->tokenizer.hash, j->err);
        if (st != ISO_OK)
            iso_fail_in(j->err, st, "%s", checkpoint);
    }
    if (st == ISO_OK)
        st = hash_checkpoint(j, &hash, checkpoint);
    if (st == ISO_OK)
        st = list_depths(j, &depths, &m->arch);
    for (size_t i = 0; st == ISO_OK && i < depths.n; i++)
        st = run_depth(j, m, c, hash, (int)depths.at[i]);
    iso_model_free(m);
    return st;
}

static enum iso_status list_checkpoints(struct iso_eval_job *j)
{
    const struct iso_eval_args *a = j->args;
    if ((a->checkpoints.n == 0) == !j->study || !a->suite || !a->tasks)
        return iso_fail(j->err, ISO_USAGE,
                        "needed: --checkpoint F, or a study, and --suite S.yaml --tasks DIR; e.g. "
                        "after isodepth probes --out DIR with suites/probes.yaml");
    if (j->study && a->out)
        return iso_fail(j->err, ISO_USAGE, "--out: the records of a study are in %s/eval",
                        j->study);
    if (j->study)
        return iso_eval_study_list(j);
    j->checkpoint = a->checkpoints.at;
    j->n_checkpoint = a->checkpoints.n;
    j->out = a->out;
    return ISO_OK;
}

static enum iso_status run_checkpoints(struct iso_eval_job *j)
{
    const char *name = j->args->tokenizer;
    enum iso_status st = ISO_OK;
    if (!name)
        st = iso_find_tokenizer(&name, &j->arena, j->checkpoint[0], j->err);
    if (st == ISO_OK)
        st = iso_tokenizer_open(&j->tokenizer, name, j->err);
    if (st != ISO_OK)
        return st;
    for (size_t c = 0; st == ISO_OK && c < j->n_checkpoint; c++)
        st = run_checkpoint(j, c);
    iso_tokenizer_close(&j->tokenizer);
    return st;
}

static enum iso_status run_job(struct iso_eval_job *j)
{
    enum iso_status st = list_checkpoints(j);
    if (st == ISO_OK)
        st = read_tasks(j);
    if (st == ISO_OK)
        st = run_checkpoints(j);
    if (st == ISO_OK && j->study)
        st = iso_eval_study_write(j);
    if (st != ISO_OK)
        return st;
    iso_eval_warn_cut(j);
    if (j->args->json)
        iso_eval_print_json(j);
    else if (j->study)
        iso_eval_print_study(j);
    else
        iso_eval_print_tables(j);
    return ISO_OK;
}

static enum iso_status run_eval(const void *args, struct iso_operands ops, struct iso_err *err)
{
    struct iso_eval_job j = {.args = args, .study = ops.n ? ops.at[0] : NULL, .err = err};
    j.threads = j.args->threads > 0 ? (int)j.args->threads : iso_cpu_count();
    enum iso_status st = iso_fit_args_format(j.args->json, j.args->latex, err);
    if (st == ISO_OK)
        st = run_job(&j);
    for (size_t i = 0; j.task && i < j.suite.n; i++)
        iso_task_release(&j.task[i]);
    free(j.subject);
    free(j.records);
    iso_arena_release(&j.arena);
    return st;
}

const struct iso_cmd iso_cmd_eval = {
    .name = "eval",
    .operands = "[STUDY]",
    .summary = "score checkpoints on downstream tasks",
    .details =
        "Prints, for each task and axis, the loss of the right answers in nats per token, its "
        "standard error, the paired difference to the first model on the same items, and the "
        "accuracy. Prompts longer than ten times the trained length lose their left end; the "
        "column cut counts them.\n\n"
        "With STUDY, every finished run is scored at its trained depth, and at the depths of "
        "--recur that it supports. Scores of items go to STUDY/eval/, the table to "
        "STUDY/eval.csv, which report shows. A rerun scores only what is missing; the table keeps "
        "the rows of other suites, depths and runs.",
    .group = "Evaluate",
    .max_operands = 1,
    .opts = options,
    .defaults = &defaults,
    .size = sizeof(struct iso_eval_args),
    .run = run_eval,
};
