/* A model in a file: see checkpoint.h. */
#include "model/checkpoint.h"

#include "base/json.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ARCH_KEY  "isodepth"
#define SHARE_KEY "share" /* of the architecture; files without it have shared iterations */

/* The numbers of an architecture, by the names that they have in the metadata. */
static const struct {
    const char *name;
    size_t offset;
    double min, max;
} numbers[] = {
    {"r", offsetof(struct iso_arch, r), 1, 1e4},
    {"depth", offsetof(struct iso_arch, depth), 1, 1e4},
    {"prelude", offsetof(struct iso_arch, prelude), 0, 1e4},
    {"coda", offsetof(struct iso_arch, coda), 0, 1e4},
    {"bptt", offsetof(struct iso_arch, bptt), 1, 1e4},
    {"d_model", offsetof(struct iso_arch, d_model), 1, 1e6},
    {"head", offsetof(struct iso_arch, head), 2, 1024},
    {"seq_len", offsetof(struct iso_arch, seq_len), 1, 1 << 20},
    {"vocab", offsetof(struct iso_arch, vocab), 2, 1 << 24},
};

enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

/* --- writing --- */

static void put_arch(struct iso_str *s, const struct iso_arch *a)
{
    struct iso_json_out w = {s, 0, 0, false};
    iso_json_begin(&w, NULL, '{');
    iso_json_put_string(&w, "loop", a->loop->name);
    for (int i = 0; i < ISO_LOOP_OPTIONS; i++)
        if (a->loop->option[i].name)
            iso_json_put_int(&w, a->loop->option[i].name, a->loop_opt[i]);
    for (int i = 0; i < N_NUMBERS; i++)
        iso_json_put_int(&w, numbers[i].name,
                         *(const int64_t *)(const void *)((const char *)a + numbers[i].offset));
    iso_json_put_int(&w, SHARE_KEY, a->share);
    iso_json_end(&w, '}');
}

enum iso_status iso_model_save(const struct iso_model *m, const char *path,
                               const struct iso_meta *extra, size_t n_extra, struct iso_err *err)
{
    const struct iso_params *p = &m->params;
    struct iso_tensor_out *out = ISO_NEW_N(struct iso_tensor_out, p->n);
    for (size_t i = 0; i < p->n; i++) {
        out[i] = (struct iso_tensor_out){
            .name = p->at[i].name, .n_dims = p->at[i].n_dims, .data = m->w + p->at[i].offset};
        memcpy(out[i].dims, p->at[i].dims, sizeof out[i].dims);
    }
    struct iso_str arch = {0};
    put_arch(&arch, &m->arch);
    struct iso_meta *meta = ISO_NEW_N(struct iso_meta, n_extra + 2);
    meta[0] = (struct iso_meta){"format", "pt"}; /* what PyTorch's loader expects to see */
    meta[1] = (struct iso_meta){ARCH_KEY, iso_str_text(&arch)};
    for (size_t i = 0; i < n_extra; i++)
        meta[i + 2] = extra[i];
    enum iso_status st = iso_safetensors_write(path, out, p->n, meta, n_extra + 2, err);
    iso_str_release(&arch);
    free(meta);
    free(out);
    return st;
}

/* --- reading --- */

static enum iso_status read_numbers(struct iso_arch *a, const struct iso_json *v, const char *path,
                                    struct iso_err *err)
{
    for (int i = 0; i < N_NUMBERS; i++) {
        double x = iso_json_number(v, numbers[i].name, -1);
        if (!iso_is_whole(x, numbers[i].min, numbers[i].max))
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: metadata: %s must be a whole number from %g to %g", path,
                            numbers[i].name, numbers[i].min, numbers[i].max);
        *(int64_t *)(void *)((char *)a + numbers[i].offset) = (int64_t)x;
    }
    for (int i = 0; i < ISO_LOOP_OPTIONS; i++) {
        const struct iso_loop_option *o = &a->loop->option[i];
        double x = o->name ? iso_json_number(v, o->name, -1) : 0;
        if (o->name && !iso_is_whole(x, (double)o->min, (double)o->max))
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: metadata: %s must be a whole number from %" PRId64 " to %" PRId64,
                            path, o->name, o->min, o->max);
        a->loop_opt[i] = (int64_t)x;
    }
    double share = iso_json_number(v, SHARE_KEY, 1);
    if (!iso_is_whole(share, 0, 1))
        return iso_fail(err, ISO_BAD_INPUT, "%s: metadata: " SHARE_KEY " must be 0 or 1", path);
    a->unshared = share == 0;
    return ISO_OK;
}

enum iso_status iso_checkpoint_arch(struct iso_arch *a, const struct iso_safetensors *f,
                                    const char *path, struct iso_err *err)
{
    const char *text = iso_safetensors_meta(f, ARCH_KEY);
    *a = (struct iso_arch){0};
    if (!text)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: no \"" ARCH_KEY "\" entry in its metadata, so its architecture is "
                        "unknown; docs/training.md says what the entry holds",
                        path);
    struct iso_arena arena = {0};
    const struct iso_json *v;
    enum iso_status st = iso_json_parse(&v, &arena, text, strlen(text), path, err);
    if (st == ISO_OK) {
        a->loop = iso_loop_find(iso_json_string(v, "loop", ""));
        if (!a->loop)
            st = iso_fail(err, ISO_BAD_INPUT, "%s: metadata: unknown loop \"%.40s\"", path,
                          iso_json_string(v, "loop", ""));
    }
    if (st == ISO_OK)
        st = read_numbers(a, v, path, err);
    if (st == ISO_OK && (st = iso_arch_build(a, NULL, err)) != ISO_OK)
        iso_fail_in(err, st, "%s: metadata", path);
    iso_arena_release(&arena);
    return st;
}

static bool same_shape(const struct iso_param *p, const struct iso_tensor *t)
{
    if (p->n_dims != t->n_dims)
        return false;
    for (int i = 0; i < p->n_dims; i++)
        if (p->dims[i] != t->dims[i])
            return false;
    return true;
}

/* The file holds exactly the tensors of the table.  Checked before the model is allocated: a
 * damaged file may announce any size. */
static enum iso_status check_tensors(const struct iso_params *params,
                                     const struct iso_safetensors *f, const char *path,
                                     struct iso_err *err)
{
    for (size_t i = 0; i < params->n; i++) {
        const struct iso_param *p = &params->at[i];
        const struct iso_tensor *t = iso_safetensors_find(f, p->name);
        if (!t)
            return iso_fail(err, ISO_BAD_INPUT, "%s: tensor \"%s\" is missing", path, p->name);
        if (!same_shape(p, t))
            return iso_fail(err, ISO_BAD_INPUT,
                            "%s: tensor \"%s\" has %zu elements in %d dimensions; the "
                            "architecture asks for %zu in %d",
                            path, p->name, t->n, t->n_dims, p->n, p->n_dims);
    }
    if (f->n != params->n)
        return iso_fail(err, ISO_BAD_INPUT, "%s: %zu tensors, the architecture has %zu", path, f->n,
                        params->n);
    return ISO_OK;
}

static enum iso_status check_arch(const struct iso_arch *arch, const struct iso_safetensors *f,
                                  const char *path, struct iso_err *err)
{
    struct iso_params params;
    iso_params_init(&params, arch);
    enum iso_status st = check_tensors(&params, f, path, err);
    iso_params_release(&params);
    return st;
}

enum iso_status iso_model_read(struct iso_model *m, const struct iso_safetensors *f,
                               const char *path, struct iso_err *err)
{
    enum iso_status st = check_tensors(&m->params, f, path, err);
    for (size_t i = 0; st == ISO_OK && i < m->params.n; i++) {
        const struct iso_param *p = &m->params.at[i];
        iso_tensor_floats(m->w + p->offset, iso_safetensors_find(f, p->name));
    }
    return st;
}

uint64_t iso_checkpoint_tokenizer(const struct iso_safetensors *f)
{
    const char *hash = iso_safetensors_meta(f, ISO_TOKENIZER_KEY);
    return hash ? strtoull(hash, NULL, 16) : 0;
}

const char *iso_checkpoint_dir(struct iso_arena *arena, const char *checkpoint)
{
    if (iso_dir_exists(checkpoint))
        return checkpoint;
    char *dir = iso_arena_strdup(arena, checkpoint), *slash = strrchr(dir, '/');
    if (!slash)
        return ".";
    slash[slash == dir] = '\0'; /* the root keeps its slash */
    return dir;
}

enum iso_status iso_checkpoint_path(const char **file, struct iso_arena *arena, const char *path,
                                    struct iso_err *err)
{
    *file = path;
    if (!iso_dir_exists(path))
        return ISO_OK;
    *file = iso_arena_printf(arena, "%s/model.safetensors", path);
    const char *latest = iso_arena_printf(arena, "%s/latest", path);
    if (iso_file_exists(*file) || !iso_file_exists(latest))
        return ISO_OK;
    struct iso_str name = {0};
    enum iso_status st = iso_file_read_regular(&name, latest, err);
    if (st == ISO_OK)
        *file = iso_arena_printf(arena, "%s/%.*s/model.safetensors", path,
                                 (int)strcspn(iso_str_text(&name), "\n"), iso_str_text(&name));
    iso_str_release(&name);
    return st;
}

/* A model that was copied over another run's would get that run's name. */
static enum iso_status check_owner(const struct iso_safetensors *f, const char *path,
                                   struct iso_arena *arena, struct iso_err *err)
{
    const char *config = iso_arena_printf(arena, "%s/config.yaml", iso_checkpoint_dir(arena, path));
    const char *of = iso_safetensors_meta(f, ISO_IDENTITY_KEY);
    bool found = false;
    enum iso_status st = of ? iso_file_find_regular(&found, config, err) : ISO_OK;
    if (!found)
        return st;
    struct iso_str text = {0};
    st = iso_file_read_regular(&text, config, err);
    const char *first = iso_str_text(&text);
    if (st == ISO_OK && iso_str_starts(first, ISO_IDENTITY_MARK)) {
        first += strlen(ISO_IDENTITY_MARK);
        const int len = (int)strcspn(first, "\n");
        if (strncmp(first, of, (size_t)len) != 0 || of[len] != '\0')
            st = iso_fail(err, ISO_BAD_INPUT,
                          "%s: the model of another run (%s) in the directory of this one (%.*s); "
                          "put the run's own model back, or train it again",
                          path, of, len, first);
    }
    iso_str_release(&text);
    return st;
}

enum iso_status iso_model_load(struct iso_model **m, struct iso_safetensors *meta, const char *path,
                               const struct iso_kern *kern, bool trainable, struct iso_err *err)
{
    struct iso_safetensors f = {0};
    struct iso_arena arena = {0};
    struct iso_arch arch;
    const char *file = path;
    *m = NULL;
    enum iso_status st = iso_checkpoint_path(&file, &arena, path, err);
    if (st == ISO_OK)
        st = iso_safetensors_open(&f, file, err);
    if (st == ISO_OK)
        st = check_owner(&f, path, &arena, err);
    if (st == ISO_OK)
        st = iso_checkpoint_arch(&arch, &f, file, err);
    if (st == ISO_OK)
        st = check_arch(&arch, &f, file, err);
    if (st == ISO_OK) {
        *m = iso_model_new(&arch, kern, trainable);
        (*m)->tokenizer_hash = iso_checkpoint_tokenizer(&f);
        st = iso_model_read(*m, &f, file, err);
    }
    if (st == ISO_OK) {
        iso_model_pack(*m);
    } else {
        iso_model_free(*m);
        *m = NULL;
    }
    if (meta && st == ISO_OK)
        *meta = f;
    else
        iso_safetensors_close(&f);
    iso_arena_release(&arena);
    return st;
}

enum iso_status iso_model_open(struct iso_model **m, const char *path, struct iso_err *err)
{
    const struct iso_kern *kern;
    *m = NULL;
    enum iso_status st = iso_kern_best(&kern, err);
    return st == ISO_OK ? iso_model_load(m, NULL, path, kern, false, err) : st;
}

enum iso_status iso_model_check_tokenizer(const struct iso_model *m, int64_t vocab, uint64_t hash,
                                          struct iso_err *err)
{
    bool own = hash == m->tokenizer_hash; /* or both without a tokenizer */
    if (vocab > m->arch.vocab || (vocab < m->arch.vocab && !own))
        return iso_fail(err, ISO_BAD_INPUT,
                        "the tokenizer has %" PRId64 " tokens, the model %" PRId64
                        "; use the tokenizer that the model's training data was packed with",
                        vocab, m->arch.vocab);
    if (hash && m->tokenizer_hash && !own)
        return iso_fail(err, ISO_BAD_INPUT,
                        "the tokenizer has the vocabulary's size, but is not the one that the "
                        "model's training data was packed with (hash %016" PRIx64
                        ", wanted %016" PRIx64 ")",
                        hash, m->tokenizer_hash);
    return ISO_OK;
}
