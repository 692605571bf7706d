/* The study of a sweep: opened for a grid and data, or recalled as its last start left it.  See
 * sweep_call.h. */
#include "cmd/sweep_call.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/progress.h"
#include "cmd/study_options.h"
#include "data/loader.h"
#include "isodepth.h"
#include "kern/kern.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How to train: `sweep --out STUDY` alone uses these as its last start did. */
static const char *const remembered[] = {
    "threads-per-run", "ranks",  "ranks-from", "nodes",   "launcher",
    "partition",       "time",   "per-task",   "at-once", "mem-per-cpu",
    "prologue",        "sbatch", "set",        "adapt",   NULL};

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
    bool found = false;
    enum iso_status st = ISO_OK;
    if (!c->grid.kernels)
        st = iso_file_find_regular(&found, path.text, c->err);
    if (st == ISO_OK && found) {
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
    bool same = iso_file_read_regular(&old, c->path, NULL) == ISO_OK;
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
    iso_str_puts(&text, "# ");
    iso_str_put_visible(&text, c->path, ""); /* a line end in the name would end the comment */
    iso_str_puts(&text, " with its --set, as isodepth sweep resolved it\n");
    size_t first = text.len;
    iso_grid_write(&text, &c->grid);
    snprintf(hash, sizeof hash, "%016" PRIx64, iso_xxh64(text.text + first, text.len - first, 0));
    write_options(&how, c);
    enum iso_status st = ISO_OK;
    if (!(c->resumes && has_grid(c, text.text + first)))
        st = iso_file_write(iso_path_in(c->sw.dir, "grid.yaml").text, text.text, text.len, c->err);
    const char *const facts[][2] = {{"options", how.text},
                                    {"version", ISODEPTH_VERSION},
                                    {"data_dir", c->data},
                                    {"cpu", iso_cpu_features()}};
    for (size_t i = 0; st == ISO_OK && i < sizeof facts / sizeof *facts; i++)
        st = iso_store_set(c->sw.store, facts[i][0], facts[i][1], c->err);
    if (st == ISO_OK && !c->leaves_out) /* else the next start says so again */
        st = iso_store_set(c->sw.store, "grid_hash", hash, c->err);
    iso_str_release(&how);
    iso_str_release(&text);
    return st;
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

enum iso_status iso_sweep_study_open(struct iso_sweep_call *c, size_t *left)
{
    char checksum[17];
    enum iso_status st = check_data(c, checksum);
    if (st == ISO_OK)
        st = iso_sweep_open(&c->sw, c->a->out, c->err);
    if (st == ISO_OK && c->resumes && c->sw.n == 0) /* a rebuild was killed */
        st = iso_fail(c->err, ISO_BAD_INPUT,
                      "%s: its study.db has no runs; isodepth sweep --rebuild --out %s restores it",
                      c->a->out, c->a->out);
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

enum iso_status iso_sweep_study_follow(struct iso_sweep_call *c)
{
    enum iso_status st = iso_sweep_call_replan(c);
    if (st == ISO_OK)
        st = plan_study(c, true);
    if (st == ISO_OK)
        st = keep_grid(c);
    return st == ISO_OK ? iso_sweep_reconcile(&c->sw, c->err) : st;
}

enum iso_status iso_sweep_study_recall(struct iso_sweep_call *c)
{
    struct iso_str text = {0};
    const struct iso_json *saved = NULL;
    c->resumes = true;
    c->path = iso_arena_printf(&c->arena, "%s/grid.yaml", c->a->out);
    bool found;
    enum iso_status st = iso_file_find_regular(&found, c->path, c->err);
    if (st == ISO_OK && !found)
        return iso_fail(c->err, ISO_USAGE,
                        "which grid? %s has none to resume; isodepth sweep GRID.yaml --data DIR "
                        "--out STUDY starts a study",
                        c->a->out);
    if (st == ISO_OK && !c->a->data && !iso_sweep_is_study(c->a->out))
        return iso_fail(c->err, ISO_BAD_INPUT,
                        "%s: its study.db is missing, which knows the data and the options; "
                        "isodepth sweep --rebuild --out %s restores it from the runs' folders",
                        c->a->out, c->a->out);
    if (st == ISO_OK)
        st = iso_sweep_fact(&text, c->a->out, "data_dir", c->err);
    c->data = text.len ? iso_arena_strdup(&c->arena, text.text) : NULL;
    if (st == ISO_OK)
        st = iso_sweep_fact(&text, c->a->out, "options", c->err);
    if (st == ISO_OK && text.len &&
        iso_json_parse(&saved, &c->arena, text.text, text.len, "options", NULL) != ISO_OK)
        st = iso_fail(c->err, ISO_BAD_INPUT,
                      "%s/study.db: the options of its last start are damaged; isodepth sweep "
                      "--rebuild --out STUDY leaves them out",
                      c->a->out);
    struct iso_strings set = c->a->set; /* they join those of the last start */
    c->a->set = (struct iso_strings){0};
    if (st == ISO_OK && saved)
        iso_study_options_take(c->a, &c->arena, &iso_cmd_sweep, remembered, saved);
    c->saved_set = c->a->set;
    c->a->set = set;
    iso_str_release(&text);
    return st;
}

/* --- a new store --- */

/* Where the runs say that their data are: the first that does, NULL when none can. */
static const char *data_of_runs(struct iso_sweep_call *c)
{
    const char *data = NULL;
    char **names;
    size_t n;
    if (iso_dir_list(&names, &n, iso_path_in(c->a->out, "runs").text, NULL) != ISO_OK)
        return NULL;
    for (size_t i = 0; i < n && !data; i++) {
        const struct iso_path path = iso_sweep_path(c->a->out, names[i], "config.yaml");
        const struct iso_yaml *doc = NULL;
        bool found;
        if (iso_file_find_regular(&found, path.text, NULL) == ISO_OK && found &&
            iso_yaml_read(&doc, &c->arena, path.text, NULL) == ISO_OK)
            data = iso_yaml_text(doc, "data");
        if (data && *data != '/') /* a run of another folder was copied here */
            data = NULL;
    }
    iso_dir_list_free(names, n);
    return data;
}

/* What the old store says about a fact; NULL when it says nothing, or cannot be read. */
static const char *old_fact(struct iso_sweep_call *c, const char *key)
{
    struct iso_str text = {0};
    (void)iso_sweep_fact(&text, c->a->out, key, NULL);
    const char *value = text.len ? iso_arena_strdup(&c->arena, text.text) : NULL;
    iso_str_release(&text);
    return value;
}

/* How the study was trained, as the old store has it, which may be damaged here too. */
static const char *old_options(struct iso_sweep_call *c)
{
    const struct iso_json *doc;
    const char *how = old_fact(c, "options");
    if (how && iso_json_parse(&doc, &c->arena, how, strlen(how), "options", NULL) != ISO_OK)
        how = NULL;
    return how;
}

enum iso_status iso_sweep_study_rebuild(struct iso_sweep_call *c)
{
    const char *data = old_fact(c, "data_dir"), *options = old_options(c);
    const char *const facts[][2] = {{"data_dir", data ? data : data_of_runs(c)},
                                    {"options", options},
                                    {"launcher", old_fact(c, "launcher")}};
    enum iso_status st = iso_sweep_forget(c->a->out, c->err);
    if (st != ISO_OK)
        return st;
    st = iso_sweep_open(&c->sw, c->a->out, c->err);
    for (size_t i = 0; st == ISO_OK && i < sizeof facts / sizeof *facts; i++)
        if (facts[i][1])
            st = iso_store_set(c->sw.store, facts[i][0], facts[i][1], c->err);
    if (st == ISO_OK && !options)
        iso_log_warn(
            "%s: the options of its last start (--threads-per-run, --set, ...) are lost; give "
            "them to the next one",
            c->a->out);
    if (st == ISO_OK)
        st = iso_sweep_rebuild(&c->sw, c->err);
    if (st != ISO_OK) {
        iso_sweep_close(&c->sw);
        iso_sweep_put_back(c->a->out);
    }
    return st;
}
