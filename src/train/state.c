/* Saved states of a run: see state.h. */
#include "train/state.h"

#include "base/mem.h"
#include "base/str.h"
#include "model/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "checkpoint-"

static const char model_file[] = "model.safetensors", optim_file[] = "optimiser.safetensors";

/* A list of the optimiser's states, for writing and for reading. */
struct slot {
    char name[80];
    size_t dims[3];
    int n_dims;
    float *data;
};

static struct slot *optim_slots(const struct iso_optim *o, size_t *n)
{
    const struct iso_params *p = &o->m->params;
    struct slot *slots = ISO_NEW_N(struct slot, ISO_OPTIM_STATES * p->n);
    *n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct iso_param *t = &p->at[i];
        const struct iso_optimiser *method = iso_optimiser_of[t->group];
        for (int k = 0; k < ISO_OPTIM_STATES && method->state[k].name; k++) {
            struct slot *s = &slots[(*n)++];
            *s = (struct slot){.dims = {1}, .n_dims = 1, .data = o->state[i][k]};
            snprintf(s->name, sizeof s->name, "%s.%s", method->state[k].name, t->name);
            if (method->state[k].number)
                continue;
            memcpy(s->dims, t->dims, sizeof s->dims);
            s->n_dims = t->n_dims;
        }
    }
    return slots;
}

static enum iso_status save_optim(const struct iso_trainer *t, const char *path, double seconds,
                                  struct iso_err *err)
{
    size_t n;
    struct slot *slots = optim_slots(t->optim, &n);
    struct iso_tensor_out *out = ISO_NEW_N(struct iso_tensor_out, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct iso_tensor_out){
            .name = slots[i].name, .n_dims = slots[i].n_dims, .data = slots[i].data};
        memcpy(out[i].dims, slots[i].dims, sizeof out[i].dims);
    }
    char step[32], macs[32], time[32], workers[32], micro[32];
    snprintf(step, sizeof step, "%" PRId64, t->step);
    snprintf(macs, sizeof macs, "%" PRIu64, t->macs);
    snprintf(workers, sizeof workers, "%d", t->spec.workers);
    snprintf(micro, sizeof micro, "%zu", t->spec.micro);
    iso_format_double(time, seconds);
    struct iso_meta meta[] = {{"step", step},    {"macs", macs},
                              {"seconds", time}, {"workers", workers},
                              {"micro", micro},  {"kernels", t->model->kern->name}};
    enum iso_status st = iso_safetensors_write(path, out, n, meta, sizeof meta / sizeof *meta, err);
    free(out);
    free(slots);
    return st;
}

static enum iso_status save_pair(const struct iso_trainer *t, const char *dir, double seconds,
                                 const struct iso_meta *meta, size_t n_meta, struct iso_err *err)
{
    struct iso_str path = {0};
    iso_str_printf(&path, "%s/%s", dir, model_file);
    enum iso_status st = iso_model_save(t->model, path.text, meta, n_meta, err);
    if (st == ISO_OK) {
        iso_str_clear(&path);
        iso_str_printf(&path, "%s/%s", dir, optim_file);
        st = save_optim(t, path.text, seconds, err);
    }
    iso_str_release(&path);
    return st;
}

static void remove_state(const char *dir, const char *name)
{
    struct iso_str path = {0};
    iso_str_printf(&path, "%s/%s", dir, name);
    iso_dir_remove(path.text);
    iso_str_release(&path);
}

/* Removes all states but `but` (NULL: all).  What cannot be removed only takes space. */
static void remove_others(const char *dir, const char *but)
{
    char **names;
    size_t n;
    if (iso_dir_list(&names, &n, dir, NULL) != ISO_OK)
        return;
    for (size_t i = 0; i < n; i++)
        if (iso_str_starts(names[i], PREFIX) && !(but && iso_str_eq(names[i], but)))
            remove_state(dir, names[i]);
    iso_dir_list_free(names, n);
}

/* The name of the latest state's directory; empty without one. */
static enum iso_status read_latest(struct iso_str *name, const char *dir, struct iso_err *err)
{
    struct iso_str latest = {0};
    iso_str_printf(&latest, "%s/latest", dir);
    enum iso_status st = ISO_OK;
    if (iso_file_exists(latest.text))
        st = iso_file_read(name, latest.text, err);
    if (st == ISO_OK && name->len > 0 &&
        (!iso_str_starts(iso_str_text(name), PREFIX) || strchr(name->text, '/')))
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: names no checkpoint; remove the file to start again from step 0",
                      latest.text);
    iso_str_release(&latest);
    return st;
}

static void remove_unless_latest(const char *dir, const char *name)
{
    struct iso_str latest = {0};
    if (read_latest(&latest, dir, NULL) == ISO_OK && !iso_str_eq(iso_str_text(&latest), name))
        remove_state(dir, name);
    iso_str_release(&latest);
}

enum iso_status iso_state_save(const struct iso_trainer *t, const char *dir, double seconds,
                               const struct iso_meta *meta, size_t n_meta, struct iso_err *err)
{
    struct iso_str state = {0}, latest = {0};
    char name[64];
    snprintf(name, sizeof name, PREFIX "%09" PRId64, t->step);
    iso_str_printf(&state, "%s/%s", dir, name);
    iso_str_printf(&latest, "%s/latest", dir);
    enum iso_status st = iso_dir_make(state.text, err);
    if (st == ISO_OK)
        st = save_pair(t, state.text, seconds, meta, n_meta, err);
    if (st == ISO_OK)
        st = iso_file_write(latest.text, name, strlen(name), err);
    if (st == ISO_OK)
        remove_others(dir, name);
    else
        remove_unless_latest(dir, name); /* a full disk needs its space */
    iso_str_release(&state);
    iso_str_release(&latest);
    return st;
}

/* --- loading --- */

static enum iso_status read_optim(struct iso_trainer *t, const struct iso_safetensors *f,
                                  const char *path, struct iso_err *err)
{
    size_t n;
    struct slot *slots = optim_slots(t->optim, &n);
    enum iso_status st = ISO_OK;
    for (size_t i = 0; st == ISO_OK && i < n; i++) {
        const struct iso_tensor *x = iso_safetensors_find(f, slots[i].name);
        size_t want = 1;
        for (int k = 0; k < slots[i].n_dims; k++)
            want *= slots[i].dims[k];
        if (!x || x->n != want)
            st = iso_fail(err, ISO_BAD_INPUT, "%s: tensor \"%s\" is missing or of another size",
                          path, slots[i].name);
        else
            iso_tensor_floats(slots[i].data, x);
    }
    free(slots);
    return st;
}

static enum iso_status read_counts(struct iso_trainer *t, double *seconds,
                                   const struct iso_safetensors *f, const char *path,
                                   struct iso_err *err)
{
    const char *step = iso_safetensors_meta(f, "step"), *macs = iso_safetensors_meta(f, "macs");
    const char *time = iso_safetensors_meta(f, "seconds");
    int64_t counted;
    if (!step || !macs || !time || !iso_parse_int(step, &t->step) || t->step < 0 ||
        t->step > t->spec.steps || !iso_parse_int(macs, &counted) || counted < 0 ||
        !iso_parse_double(time, seconds))
        return iso_fail(err, ISO_BAD_INPUT, "%s: metadata: step, macs and seconds are not right",
                        path);
    t->macs = (uint64_t)counted;
    return ISO_OK;
}

static enum iso_status load_pair(struct iso_trainer *t, const char *dir, double *seconds,
                                 struct iso_err *err)
{
    struct iso_safetensors f = {0};
    struct iso_str path = {0};
    iso_str_printf(&path, "%s/%s", dir, model_file);
    enum iso_status st = iso_safetensors_open(&f, path.text, err);
    if (st == ISO_OK)
        st = iso_model_read(t->model, &f, path.text, err);
    iso_safetensors_close(&f);
    iso_str_clear(&path);
    iso_str_printf(&path, "%s/%s", dir, optim_file);
    if (st == ISO_OK && (st = iso_safetensors_open(&f, path.text, err)) == ISO_OK) {
        st = read_optim(t, &f, path.text, err);
        if (st == ISO_OK)
            st = read_counts(t, seconds, &f, path.text, err);
        iso_safetensors_close(&f);
    }
    iso_str_release(&path);
    if (st == ISO_OK)
        iso_trainer_pack(t);
    return st;
}

static int64_t count_of(const struct iso_safetensors *f, const char *key)
{
    const char *text = iso_safetensors_meta(f, key);
    int64_t n;
    return text && iso_parse_int(text, &n) && n > 0 ? n : 0;
}

enum iso_status iso_state_look(struct iso_state_how *how, const char *dir, struct iso_err *err)
{
    struct iso_str name = {0}, path = {0};
    struct iso_safetensors f = {0};
    *how = (struct iso_state_how){0};
    enum iso_status st = read_latest(&name, dir, err);
    if (st == ISO_OK && name.len > 0) {
        iso_str_printf(&path, "%s/%s/%s", dir, name.text, optim_file);
        st = iso_safetensors_open(&f, path.text, err);
    }
    if (st == ISO_OK && name.len > 0) {
        const char *kernels = iso_safetensors_meta(&f, "kernels");
        how->workers = count_of(&f, "workers");
        how->micro = count_of(&f, "micro");
        snprintf(how->kernels, sizeof how->kernels, "%s", kernels ? kernels : "");
        iso_safetensors_close(&f);
    }
    iso_str_release(&path);
    iso_str_release(&name);
    return st;
}

enum iso_status iso_state_load(struct iso_trainer *t, const char *dir, double *seconds,
                               struct iso_err *err)
{
    struct iso_str name = {0}, state = {0};
    enum iso_status st = read_latest(&name, dir, err);
    if (st == ISO_OK && name.len > 0) {
        iso_str_printf(&state, "%s/%s", dir, name.text);
        st = load_pair(t, state.text, seconds, err);
    }
    iso_str_release(&name);
    iso_str_release(&state);
    return st;
}

/* --- the end of a run --- */

enum iso_status iso_state_finish(const struct iso_trainer *t, const char *dir, double seconds,
                                 const struct iso_meta *meta, size_t n_meta, struct iso_err *err)
{
    return save_pair(t, dir, seconds, meta, n_meta, err);
}

void iso_state_remove_all(const char *dir)
{
    struct iso_str latest = {0};
    iso_str_printf(&latest, "%s/latest", dir);
    unlink(latest.text);
    iso_str_release(&latest);
    remove_others(dir, NULL);
}
