/* The packer's output directory: see pack_dir.h.
 *
 * How a new packing takes the place of the old one:
 *   1. It is written in .packing, meta.json last.         A kill: the old one stays; start over.
 *   2. The old one is removed, meta.json first.           A kill: resume with 2, because .packing
 * is complete and there is no other.
 *   3. .packing becomes .packed.
 *   4. The files of .packed move up, meta.json last.      A kill: resume with 4, because there is a
 *                                                         .packed. */
#include "data/pack_dir.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "data/inputs.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read, not mapped: a mapped file of 10 GB would count as 10 GB of our memory. */
static enum iso_status hash_contents(struct iso_xxh64 *contents, const char *path,
                                     struct iso_err *err)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return iso_file_fail(err, path, "open");
    const size_t room = 1 << 20;
    char *chunk = iso_alloc(room, 1);
    for (size_t n; (n = fread(chunk, 1, room, f)) > 0;)
        iso_xxh64_add(contents, chunk, n);
    enum iso_status st = ferror(f) ? iso_file_fail(err, path, "read") : ISO_OK;
    free(chunk);
    fclose(f);
    return st;
}

/* With skip_bad, a file that cannot be read counts with what could be read of it. */
static enum iso_status hash_file(struct iso_pack_source *s, struct iso_xxh64 *sum, const char *path,
                                 const char *name, bool skip_bad, struct iso_err *err)
{
    struct iso_xxh64 contents;
    iso_xxh64_begin(&contents, 0);
    enum iso_status st = hash_contents(&contents, path, err);
    if (skip_bad)
        st = ISO_OK;
    const uint64_t facts[] = {contents.total, iso_xxh64_end(&contents)};
    iso_xxh64_add(sum, name, strlen(name) + 1);
    iso_xxh64_add(sum, facts, sizeof facts);
    s->files++;
    s->bytes += (int64_t)contents.total;
    return st;
}

enum iso_split iso_split_of_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int i = 0;
    while (i < ISO_N_SPLIT && !iso_str_starts(name, iso_split_name[i]))
        i++;
    return (enum iso_split)i;
}

static enum iso_status check_split(const char *path, struct iso_err *err)
{
    if (iso_split_of_file(path) != ISO_N_SPLIT)
        return ISO_OK;
    return iso_fail(
        err, ISO_BAD_INPUT,
        "%s: its name begins with neither train nor val, so it shows no split; set `val` "
        "to a share of the documents, or rename the file",
        path);
}

static enum iso_status look_at_file(struct iso_pack_source *s, struct iso_xxh64 *sum,
                                    const char *path, const char *name,
                                    const struct iso_pack_opts *opts, struct iso_err *err)
{
    enum iso_status st = opts->val_by_name ? check_split(path, err) : ISO_OK;
    return st == ISO_OK ? hash_file(s, sum, path, name, opts->reader.skip_bad, err) : st;
}

enum iso_status iso_pack_source_look(struct iso_pack_source *s, const struct iso_pack_opts *opts,
                                     size_t i, struct iso_err *err)
{
    const char *path = opts->sources[i];
    *s = (struct iso_pack_source){.path = path};
    struct stat info;
    bool pipe = stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
    s->piped = pipe || iso_str_eq(path, "-"); /* cannot be read twice */
    if (s->piped)
        return opts->val_by_name ? check_split(path, err) : ISO_OK;
    struct iso_xxh64 sum;
    iso_xxh64_begin(&sum, 0);
    struct iso_inputs in;
    struct iso_reader_opts reader = opts->reader;
    reader.notes = NULL; /* what is lost is noted when it is read */
    enum iso_status st = iso_inputs_find(&in, path, &reader, err);
    for (size_t k = 0; k < in.n && st == ISO_OK; k++) {
        /* A file given by name may be renamed, as long as it is read in the same way. */
        const char *name = in.directory ? strrchr(in.files[k], '/') + 1
                                        : iso_reader_format_of(path, &opts->reader);
        st = look_at_file(s, &sum, in.files[k], name, opts, err);
    }
    iso_inputs_release(&in);
    s->hash = iso_xxh64_end(&sum);
    return st;
}

void iso_pack_plan_set(struct iso_pack_plan *plan, const char *name, const char *fmt, ...)
{
    ISO_ASSERT(plan->n_settings < sizeof plan->settings / sizeof *plan->settings);
    struct iso_pack_setting *s = &plan->settings[plan->n_settings++];
    s->name = name;
    va_list ap;
    va_start(ap, fmt);
    iso_str_vprintf(&s->value, fmt, ap);
    va_end(ap);
}

void iso_pack_plan_release(struct iso_pack_plan *plan)
{
    for (size_t i = 0; i < plan->n_settings; i++)
        iso_str_release(&plan->settings[i].value);
    free(plan->sources);
}

/* The first setting in which the finished directory differs from the plan, or NULL. */
static const struct iso_pack_setting *
first_difference(const struct iso_json *meta, const struct iso_pack_plan *plan, const char **there)
{
    const struct iso_json *settings = iso_json_get(meta, "settings");
    for (size_t i = 0; i < plan->n_settings; i++) {
        *there = iso_json_string(settings, plan->settings[i].name, "(none)");
        if (!iso_str_eq(*there, iso_str_text(&plan->settings[i].value)))
            return &plan->settings[i];
    }
    return NULL;
}

static bool any_piped(const struct iso_pack_plan *plan)
{
    for (size_t i = 0; i < plan->n_sources; i++)
        if (plan->sources[i].piped)
            return true;
    return false;
}

/* There is a meta.json: is it what was asked for, and may it be replaced? */
static enum iso_status judge_finished(struct iso_pack_result *result, const char *dir,
                                      const struct iso_pack_plan *plan, bool force,
                                      struct iso_err *err)
{
    if (force)
        return ISO_OK;
    struct iso_dataset ds;
    enum iso_status st = iso_dataset_open(&ds, dir, err);
    if (st != ISO_OK)
        return iso_fail_in(err, st, "%s holds a packing that does not open (`force` replaces it)",
                           dir);
    const char *there;
    const struct iso_pack_setting *other = first_difference(ds.meta, plan, &there);
    if (other)
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s holds another packing: %s is %s there, %s was asked for; choose another "
                      "directory, or replace it with `force`",
                      dir, other->name, there, iso_str_text(&other->value));
    else if (any_piped(plan))
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s holds a packing already, and whether standard input is the same is not "
                      "known; replace it with `force`",
                      dir);
    else
        result->nothing_to_do = true;
    memcpy(result->checksum, ds.checksum, sizeof result->checksum);
    iso_dataset_close(&ds);
    return st;
}

static bool is_shard(const char *name)
{
    return fnmatch("train-[0-9][0-9][0-9][0-9][0-9].shard", name, 0) == 0 ||
           fnmatch("val-[0-9][0-9][0-9][0-9][0-9].shard", name, 0) == 0;
}

/* Removes the packing that `dir` holds, or what is left of one, meta.json first.  Other files are
 * not touched, nor is tokenizer.model: it may be the one to pack with, or the user's only copy. */
static enum iso_status remove_packing(bool *found, const char *dir, struct iso_err *err)
{
    *found = unlink(iso_path_in(dir, "meta.json").text) == 0;
    char **names;
    size_t n;
    enum iso_status st = iso_dir_list(&names, &n, dir, err);
    for (size_t i = 0; i < n; i++)
        if (is_shard(names[i]))
            *found = unlink(iso_path_in(dir, "%s", names[i]).text) == 0 || *found;
    iso_dir_list_free(names, n);
    return st;
}

static enum iso_status move_file(const char *from, const char *to, const char *name,
                                 struct iso_err *err)
{
    return iso_file_move(iso_path_in(from, "%s", name).text, iso_path_in(to, "%s", name).text, err);
}

/* Moves all files of `folder` into `dir`, meta.json last. */
static enum iso_status move_files(const char *folder, const char *dir, struct iso_err *err)
{
    char **names;
    size_t n;
    bool complete = false;
    enum iso_status st = iso_dir_list(&names, &n, folder, err);
    for (size_t i = 0; i < n && st == ISO_OK; i++) {
        if (iso_str_eq(names[i], "meta.json"))
            complete = true;
        else
            st = move_file(folder, dir, names[i], err);
    }
    if (st == ISO_OK && complete)
        st = move_file(folder, dir, "meta.json", err);
    iso_dir_list_free(names, n);
    return st;
}

struct iso_path iso_pack_dir_staging(const char *dir)
{
    return iso_path_in(dir, ".packing");
}

static struct iso_path ready_in(const char *dir)
{
    return iso_path_in(dir, ".packed");
}

enum iso_status iso_pack_dir_install(const char *dir, struct iso_err *err)
{
    const struct iso_path ready = ready_in(dir);
    enum iso_status st = ISO_OK;
    if (!iso_dir_exists(ready.text)) {
        bool found;
        st = remove_packing(&found, dir, err);
        if (st == ISO_OK)
            st = iso_file_move(iso_pack_dir_staging(dir).text, ready.text, err);
    }
    if (st == ISO_OK)
        st = move_files(ready.text, dir, err);
    if (st == ISO_OK)
        rmdir(ready.text);
    return st;
}

void iso_pack_dir_abandon(const char *dir)
{
    iso_dir_remove(iso_pack_dir_staging(dir).text);
}

/* Finishes the installation that a killed run began, or removes what it wrote; *found: there was
 * something to remove. */
static enum iso_status settle(bool *found, const char *dir, struct iso_err *err)
{
    const struct iso_path staging = iso_pack_dir_staging(dir);
    bool begun = iso_dir_exists(ready_in(dir).text) ||
                 (iso_file_exists(iso_path_in(staging.text, "meta.json").text) &&
                  !iso_file_exists(iso_path_in(dir, "meta.json").text));
    enum iso_status st = begun ? iso_pack_dir_install(dir, err) : ISO_OK;
    *found = st == ISO_OK && iso_dir_remove(staging.text);
    return st;
}

/* Our folders are emptied and moved: behind a link they would be somebody's files. */
static enum iso_status reject_links(const char *dir, struct iso_err *err)
{
    const struct iso_path folders[] = {iso_pack_dir_staging(dir), ready_in(dir)};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (iso_is_link(folders[i].text))
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: a symbolic link, where pack makes a folder and removes it; remove "
                            "the link",
                            folders[i].text);
    return ISO_OK;
}

/* Looks at the locked directory and decides what to do about what is in it. */
static enum iso_status look_around(struct iso_pack_result *result, const char *dir,
                                   const struct iso_pack_plan *plan, bool force,
                                   struct iso_err *err)
{
    bool half = false, remains = false;
    enum iso_status st = reject_links(dir, err);
    if (st == ISO_OK)
        st = settle(&half, dir, err);
    if (st == ISO_OK && iso_file_exists(iso_path_in(dir, "meta.json").text))
        st = judge_finished(result, dir, plan, force, err);
    else if (st == ISO_OK) {
        st = remove_packing(&remains, dir, err);
        result->started_over = half || remains;
    }
    if (st == ISO_OK && !result->nothing_to_do)
        st = iso_dir_make(iso_pack_dir_staging(dir).text, err);
    return st;
}

enum iso_status iso_pack_dir_prepare(int *lock, struct iso_pack_result *result, const char *dir,
                                     const struct iso_pack_plan *plan, bool force,
                                     struct iso_err *err)
{
    *lock = -1;
    enum iso_status st = iso_dir_make(dir, err);
    if (st != ISO_OK)
        return st;
    bool held = false;
    st = iso_lock_acquire(lock, &held, iso_path_in(dir, ".lock").text, err);
    if (st == ISO_OK && held)
        st = iso_fail(err, ISO_IO, "%s: another isodepth pack is writing here; wait for it", dir);
    if (st == ISO_OK)
        st = look_around(result, dir, plan, force, err);
    return st;
}

static void put_hex(struct iso_json_out *w, const char *key, uint64_t x)
{
    char text[17];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)x);
    iso_json_put_string(w, key, text);
}

static void put_tokenizer(struct iso_json_out *w, const struct iso_pack_plan *plan)
{
    const struct iso_tokenizer *t = plan->tokenizer;
    iso_json_begin(w, "tokenizer", '{');
    iso_json_put_string(w, "name", t ? t->kind->name : "none");
    put_hex(w, "hash", plan->spec.tokenizer);
    if (t && t->model)
        iso_json_put_string(w, "file", "tokenizer.model");
    iso_json_end(w, '}');
}

static void put_sources(struct iso_json_out *w, const struct iso_pack_plan *plan)
{
    iso_json_begin(w, "settings", '{');
    for (size_t i = 0; i < plan->n_settings; i++)
        iso_json_put_string(w, plan->settings[i].name, iso_str_text(&plan->settings[i].value));
    iso_json_end(w, '}');
    iso_json_begin(w, "sources", '[');
    for (size_t i = 0; i < plan->n_sources; i++) {
        const struct iso_pack_source *s = &plan->sources[i];
        iso_json_begin(w, NULL, '{');
        iso_json_put_string(w, "path", s->path);
        iso_json_put_int(w, "files", s->files);
        iso_json_put_int(w, "bytes", s->bytes);
        put_hex(w, "hash", s->hash);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
}

static void put_split(struct iso_json_out *w, const char *name, const struct iso_pack_split *s,
                      const struct iso_pack_shards *shards)
{
    const struct iso_pack_counts *c = &s->counts;
    iso_json_begin(w, name, '{');
    iso_json_put_int(w, "documents", c->documents);
    iso_json_put_int(w, "bytes", s->bytes);
    iso_json_put_int(w, "tokens", c->tokens);
    iso_json_put_int(w, "kept", c->kept);
    iso_json_put_int(w, "cropped", c->cropped);
    iso_json_put_int(w, "dropped", c->dropped);
    iso_json_put_int(w, "rows", c->rows);
    iso_json_put_number(w, "bytes_per_token", c->tokens ? (double)s->bytes / (double)c->tokens : 0);
    iso_json_begin(w, "shards", '[');
    for (size_t i = 0; i < shards->n; i++) {
        iso_json_begin(w, NULL, '{');
        iso_json_put_string(w, "file", shards->at[i].file);
        iso_json_put_int(w, "rows", (int64_t)shards->at[i].rows);
        put_hex(w, "checksum", shards->at[i].checksum);
        iso_json_end(w, '}');
    }
    iso_json_end(w, ']');
    iso_json_end(w, '}');
}

static void put_meta(struct iso_json_out *w, const struct iso_pack_result *result,
                     const struct iso_pack_plan *plan,
                     const struct iso_pack_shards shards[ISO_N_SPLIT],
                     const struct iso_read_notes *notes)
{
    iso_json_begin(w, NULL, '{');
    iso_json_put_string(w, "format", "isodepth-pack");
    iso_json_put_int(w, "version", ISO_SHARD_VERSION);
    iso_json_put_string(w, "checksum", result->checksum);
    iso_json_put_int(w, "T", plan->spec.T);
    iso_json_put_int(w, "vocab", plan->spec.vocab);
    iso_json_put_int(w, "bos", plan->spec.bos == ISO_NO_BOS ? -1 : (int64_t)plan->spec.bos);
    put_tokenizer(w, plan);
    put_sources(w, plan);
    iso_json_begin(w, "documents", '{');
    iso_json_put_int(w, "read", result->documents);
    iso_json_put_int(w, "duplicates", result->duplicates);
    iso_json_put_int(w, "empty", result->empty);
    iso_json_put_int(w, "bad", iso_notes_total(notes).places);
    iso_json_end(w, '}');
    iso_notes_put(w, notes);
    iso_json_begin(w, "splits", '{');
    for (int i = 0; i < ISO_N_SPLIT; i++)
        put_split(w, iso_split_name[i], &result->split[i], &shards[i]);
    iso_json_end(w, '}');
    iso_json_end_sealed(w);
}

static enum iso_status copy_model(const char *dir, const struct iso_tokenizer *t,
                                  struct iso_err *err)
{
    if (!t || !t->model)
        return ISO_OK;
    struct iso_str bytes = {0};
    enum iso_status st = iso_file_read(&bytes, t->model, err);
    if (st == ISO_OK && iso_xxh64(bytes.text, bytes.len, 0) != t->hash)
        st = iso_fail(err, ISO_BAD_INPUT, "%s: changed while packing; pack again", t->model);
    if (st == ISO_OK)
        st = iso_file_write(iso_path_in(dir, "tokenizer.model").text, bytes.text, bytes.len, err);
    iso_str_release(&bytes);
    return st;
}

/* The checksum over all shards, from what was written. */
static void sum_shards(char out[17], const struct iso_pack_plan *plan,
                       const struct iso_pack_shards shards[ISO_N_SPLIT])
{
    struct iso_dataset_split split[ISO_N_SPLIT] = {{0}};
    for (int i = 0; i < ISO_N_SPLIT; i++) {
        split[i].shards = ISO_NEW_N(struct iso_shard, shards[i].n + 1);
        split[i].n_shards = shards[i].n;
        for (size_t k = 0; k < shards[i].n; k++)
            split[i].shards[k] = (struct iso_shard){.rows = shards[i].at[k].rows,
                                                    .checksum = shards[i].at[k].checksum};
    }
    iso_dataset_checksum(out, &plan->spec, split);
    for (int i = 0; i < ISO_N_SPLIT; i++)
        free(split[i].shards);
}

enum iso_status iso_pack_dir_complete(struct iso_pack_result *result, const char *folder,
                                      const struct iso_pack_plan *plan,
                                      const struct iso_pack_shards shards[ISO_N_SPLIT],
                                      const struct iso_read_notes *notes, struct iso_err *err)
{
    enum iso_status st = copy_model(folder, plan->tokenizer, err);
    if (st != ISO_OK)
        return st;
    sum_shards(result->checksum, plan, shards);
    struct iso_str text = {0};
    struct iso_json_out w = {&text, 2, 0, false};
    put_meta(&w, result, plan, shards, notes);
    iso_str_putc(&text, '\n');
    st = iso_file_write(iso_path_in(folder, "meta.json").text, text.text, text.len, err);
    iso_str_release(&text);
    return st;
}
