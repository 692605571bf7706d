/* Saved states of a run: see state.h. */
#include "train/state.h"

#include "base/mem.h"
#include "base/progress.h"
#include "base/str.h"
#include "model/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX     "checkpoint-"
#define STATE_NAME PREFIX "%09" PRId64

enum { KEPT = 2 }; /* states: should the newest be damaged, the one before it counts */

static const char step_key[] = "step";
static const char model_file[] = "model.safetensors", optim_file[] = "optimiser.safetensors";

/* A list of the numbers beside the weights, for writing and for reading: the optimiser's states and
 * the losses that are watched. */
struct slot {
    char name[80];
    size_t dims[3];
    int n_dims;
    float *data;
};

enum { WATCH_SLOTS = 3 };

static void watch_slots(struct slot slots[WATCH_SLOTS], struct iso_watch *w)
{
    slots[0] = (struct slot){"watch.loss", {(size_t)w->window}, 1, w->loss};
    slots[1] = (struct slot){"watch.mean", {1}, 1, &w->mean};
    slots[2] = (struct slot){"watch.lowest", {1}, 1, &w->lowest};
}

static struct slot *list_slots(struct iso_trainer *trainer, size_t *n)
{
    const struct iso_params *p = &trainer->model->params;
    float *at = trainer->all_states;
    struct slot *slots = ISO_NEW_N(struct slot, ISO_OPTIM_STATES * p->n + WATCH_SLOTS);
    *n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct iso_param *t = &p->at[i];
        const struct iso_optimiser *method = iso_optimiser_of[t->group];
        for (int k = 0; k < ISO_OPTIM_STATES && method->state[k].name; k++) {
            struct slot *s = &slots[(*n)++];
            *s = (struct slot){.dims = {1}, .n_dims = 1, .data = at};
            snprintf(s->name, sizeof s->name, "%s.%s", method->state[k].name, t->name);
            at += method->state[k].number ? 1 : t->n;
            if (method->state[k].number)
                continue;
            memcpy(s->dims, t->dims, sizeof s->dims);
            s->n_dims = t->n_dims;
        }
    }
    watch_slots(slots + *n, &trainer->watch);
    *n += WATCH_SLOTS;
    return slots;
}

static enum iso_status save_optim(struct iso_trainer *t, const char *path,
                                  const struct iso_state_notes *notes, struct iso_err *err)
{
    size_t n;
    struct slot *slots = list_slots(t, &n);
    struct iso_tensor_out *out = ISO_NEW_N(struct iso_tensor_out, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct iso_tensor_out){
            .name = slots[i].name, .n_dims = slots[i].n_dims, .data = slots[i].data};
        memcpy(out[i].dims, slots[i].dims, sizeof out[i].dims);
    }
    struct iso_arena arena = {0};
    char seconds[32];
    const struct iso_meta meta[] = {
        {step_key, iso_arena_printf(&arena, "%" PRId64, t->step)},
        {ISO_IDENTITY_KEY, notes->identity},
        {"macs", iso_arena_printf(&arena, "%" PRIu64, t->macs)},
        {"seconds", iso_format_double(seconds, notes->seconds)},
        {"lanes", iso_arena_printf(&arena, "%zu", t->spec.lanes)},
        {"micro", iso_arena_printf(&arena, "%zu", t->spec.micro)},
        {"kernels", t->model->kern->name},
        {"metrics_bytes", iso_arena_printf(&arena, "%" PRId64, notes->metrics.bytes)},
        {"metrics_xxh64", iso_arena_printf(&arena, "%016" PRIx64, notes->metrics.sum)},
    };
    enum iso_status st = iso_safetensors_write(path, out, n, meta, sizeof meta / sizeof *meta, err);
    iso_arena_release(&arena);
    free(out);
    free(slots);
    return st;
}

static enum iso_status save_model(const struct iso_trainer *t, const char *path,
                                  const char *identity, const struct iso_meta *extra,
                                  size_t n_extra, struct iso_err *err)
{
    struct iso_meta *meta = ISO_NEW_N(struct iso_meta, n_extra + 2);
    char step[32];
    snprintf(step, sizeof step, "%" PRId64, t->step);
    meta[0] = (struct iso_meta){step_key, step};
    meta[1] = (struct iso_meta){ISO_IDENTITY_KEY, identity};
    for (size_t i = 0; i < n_extra; i++)
        meta[i + 2] = extra[i];
    enum iso_status st = iso_model_save(t->model, path, meta, n_extra + 2, err);
    free(meta);
    return st;
}

enum iso_status iso_state_finish(struct iso_trainer *t, const char *dir,
                                 const struct iso_state_notes *notes, const struct iso_meta *meta,
                                 size_t n_meta, struct iso_err *err)
{
    enum iso_status st =
        save_model(t, iso_path_in(dir, "%s", model_file).text, notes->identity, meta, n_meta, err);
    return st == ISO_OK ? save_optim(t, iso_path_in(dir, "%s", optim_file).text, notes, err) : st;
}

/* --- the states in a directory --- */

static void remove_state(const char *dir, int64_t step)
{
    iso_dir_remove(iso_path_in(dir, STATE_NAME, step).text);
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x > y ? -1 : x < y;
}

/* The steps of all states, newest first; the caller frees the list. */
static int64_t *list_steps(size_t *n, const char *dir)
{
    char **names;
    size_t n_names, room = 0;
    int64_t *steps = NULL, step;
    *n = 0;
    if (iso_dir_list(&names, &n_names, dir, NULL) != ISO_OK)
        return NULL;
    for (size_t i = 0; i < n_names; i++)
        if (iso_str_starts(names[i], PREFIX) && iso_parse_int(names[i] + strlen(PREFIX), &step) &&
            step >= 0)
            *ISO_PUSH(steps, *n, room) = step;
    iso_dir_list_free(names, n_names);
    if (*n)
        qsort(steps, *n, sizeof *steps, newest_first);
    return steps;
}

/* Removes the states behind that of `step`, which were damaged, since the run fell back past them;
 * and, of the others, all but the newest `most`.  What cannot be removed only takes space. */
static void remove_others(const char *dir, int64_t step, size_t most)
{
    size_t n, kept = 0;
    int64_t *steps = list_steps(&n, dir);
    for (size_t i = 0; i < n; i++)
        if (steps[i] > step || ++kept > most)
            remove_state(dir, steps[i]);
    free(steps);
}

enum iso_status iso_state_save(struct iso_trainer *t, const char *dir, bool keep,
                               const struct iso_state_notes *notes, const struct iso_meta *meta,
                               size_t n_meta, struct iso_err *err)
{
    char name[64];
    snprintf(name, sizeof name, STATE_NAME, t->step);
    const struct iso_path state = iso_path_in(dir, "%s", name);
    remove_state(dir, t->step); /* one that was damaged */
    enum iso_status st = iso_dir_make(state.text, err);
    if (st == ISO_OK)
        st = iso_state_finish(t, state.text, notes, meta, n_meta, err);
    if (st == ISO_OK)
        st = iso_file_write(iso_path_in(dir, "latest").text, name, strlen(name), err);
    if (st == ISO_OK)
        remove_others(dir, t->step, keep ? SIZE_MAX : KEPT);
    else
        remove_state(dir, t->step); /* a full disk needs its space */
    return st;
}

void iso_state_remove_all(const char *dir)
{
    unlink(iso_path_in(dir, "latest").text);
    remove_others(dir, -1, 0);
}

/* --- loading --- */

static enum iso_status open_sound(struct iso_safetensors *f, const char *dir, const char *name,
                                  struct iso_err *err)
{
    const struct iso_path path = iso_path_in(dir, "%s", name);
    enum iso_status st = iso_safetensors_open(f, path.text, err);
    if (st == ISO_OK && !f->checked)
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: no checksum: the file is damaged, or of an older version", path.text);
    return st;
}

static bool read_int(int64_t *out, const struct iso_safetensors *f, const char *key)
{
    const char *text = iso_safetensors_meta(f, key);
    return text && iso_parse_int(text, out) && *out >= 0;
}

static const char *meta_or_none(const struct iso_safetensors *f, const char *key)
{
    const char *value = iso_safetensors_meta(f, key);
    return value ? value : "none"; /* older versions wrote no identity */
}

/* Sound files of two runs or steps, one copied beside the other, are no state. */
static enum iso_status check_halves(const struct iso_state *s, struct iso_err *err)
{
    static const char *const keys[] = {step_key, ISO_IDENTITY_KEY};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *model = meta_or_none(&s->model, keys[i]);
        const char *optim = meta_or_none(&s->optim, keys[i]);
        if (!iso_str_eq(model, optim))
            return iso_fail(err, ISO_BAD_INPUT, "%s: %s has %s %s, %s has %s", s->path, model_file,
                            keys[i], model, optim_file, optim);
    }
    return ISO_OK;
}

static enum iso_status read_notes(struct iso_state *s, struct iso_err *err)
{
    const struct iso_safetensors *f = &s->optim;
    const char *seconds = iso_safetensors_meta(f, "seconds");
    const char *kernels = iso_safetensors_meta(f, "kernels");
    const char *sum = iso_safetensors_meta(f, "metrics_xxh64");
    int64_t macs;
    if (!seconds || !kernels || !sum || !iso_parse_double(seconds, &s->notes.seconds) ||
        !read_int(&s->step, f, step_key) || !read_int(&macs, f, "macs") ||
        !read_int(&s->how.lanes, f, "lanes") || !read_int(&s->how.micro, f, "micro") ||
        !read_int(&s->notes.metrics.bytes, f, "metrics_bytes"))
        return iso_fail(err, ISO_BAD_INPUT, "%s/%s: its metadata is incomplete", s->path,
                        optim_file);
    s->macs = (uint64_t)macs;
    s->notes.identity = iso_safetensors_meta(f, ISO_IDENTITY_KEY);
    s->notes.metrics.sum = strtoull(sum, NULL, 16);
    snprintf(s->how.kernels, sizeof s->how.kernels, "%s", kernels);
    return ISO_OK;
}

static bool is_whole(const char *dir)
{
    return iso_file_exists(iso_path_in(dir, "%s", model_file).text) &&
           iso_file_exists(iso_path_in(dir, "%s", optim_file).text);
}

/* `path` becomes the state's. */
static enum iso_status open_one(struct iso_state *s, char *path, struct iso_err *err)
{
    *s = (struct iso_state){.path = path};
    if (!is_whole(s->path)) { /* killed while it was written: nothing to mention */
        iso_state_close(s);
        return ISO_OK;
    }
    enum iso_status st = open_sound(&s->model, s->path, model_file, err);
    if (st == ISO_OK)
        st = open_sound(&s->optim, s->path, optim_file, err);
    if (st == ISO_OK)
        st = check_halves(s, err);
    if (st == ISO_OK)
        st = read_notes(s, err);
    if (st != ISO_OK)
        iso_state_close(s);
    return st;
}

enum iso_status iso_state_open(struct iso_state *s, const char *dir, struct iso_err *err)
{
    size_t n, damaged = 0;
    int64_t *steps = list_steps(&n, dir);
    enum iso_status st = ISO_OK;
    struct iso_err why;
    *s = (struct iso_state){0};
    for (size_t i = 0; i <= n && !s->path && st != ISO_IO; i++) {
        struct iso_str path = {0};
        iso_str_puts(&path, dir); /* first the one at the end, written before the result */
        if (i > 0)
            iso_str_printf(&path, "/" STATE_NAME, steps[i - 1]);
        st = open_one(s, path.text, &why);
        if (st == ISO_BAD_INPUT) {
            iso_log_warn("%s; not resuming from it", why.msg);
            damaged++;
        }
    }
    free(steps);
    if (st == ISO_IO) /* the file may be sound, only out of reach */
        return iso_fail(err, st, "%s", why.msg);
    if (damaged && !s->path)
        iso_log_warn("%s: no undamaged checkpoint is left; starting again from step 0", dir);
    return ISO_OK;
}

void iso_state_close(struct iso_state *s)
{
    iso_safetensors_close(&s->model);
    iso_safetensors_close(&s->optim);
    free(s->path);
    *s = (struct iso_state){0};
}

static enum iso_status read_optim(struct iso_trainer *t, const struct iso_state *s,
                                  struct iso_err *err)
{
    size_t n;
    struct slot *slots = list_slots(t, &n);
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < n; i++) {
        const struct iso_tensor *x = iso_safetensors_find(&s->optim, slots[i].name);
        size_t want = 1;
        for (int k = 0; k < slots[i].n_dims; k++)
            want *= slots[i].dims[k];
        if (!x || x->n != want)
            st = iso_fail(err, ISO_BAD_INPUT, "%s/%s: tensor \"%s\" is missing or of another size",
                          s->path, optim_file, slots[i].name);
        else
            iso_tensor_floats(slots[i].data, x);
    }
    free(slots);
    return st;
}

enum iso_status iso_state_load(struct iso_trainer *t, const struct iso_state *s,
                               struct iso_err *err)
{
    if (!s->path)
        return ISO_OK;
    if (s->step > t->spec.steps)
        return iso_fail(err, ISO_BAD_INPUT, "%s: step %" PRId64 " of a run of %" PRId64 " steps",
                        s->path, s->step, t->spec.steps);
    enum iso_status st = iso_model_read(t->model, &s->model, s->path, err);
    if (st == ISO_OK)
        st = read_optim(t, s, err);
    if (st != ISO_OK)
        return st;
    t->step = s->step;
    t->macs = s->macs;
    iso_trainer_pack(t);
    return ISO_OK;
}
