/* The parameter table: see params.h. */
#include "model/params.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16 }; /* floats: a cache line */

struct iso_dims iso_dims_of(const struct iso_arch *a)
{
    return (struct iso_dims){.d = (size_t)a->d_model,
                             .H = (size_t)a->n_head,
                             .Q = (size_t)a->head,
                             .V = (size_t)a->vocab_padded,
                             .vocab = (size_t)a->vocab,
                             .T = (size_t)a->seq_len,
                             .prelude = (size_t)a->prelude,
                             .recur = (size_t)a->recur,
                             .coda = (size_t)a->coda,
                             .sets = (size_t)a->sets};
}

/* Appends a tensor and gives its offset.  `joined` ones follow the tensor before them without
 * a gap. */
static size_t put(struct iso_params *p, struct iso_param row, bool joined)
{
    row.n = 1;
    while (row.n_dims < 3 && row.dims[row.n_dims] > 0)
        row.n *= row.dims[row.n_dims++];
    if (!joined)
        p->floats = (p->floats + ALIGN - 1) / ALIGN * ALIGN;
    row.offset = p->floats;
    p->floats += row.n;
    *ISO_PUSH(p->at, p->n, p->room) = row;
    return row.offset;
}

static size_t put_named(struct iso_params *p, struct iso_param row, bool joined, const char *part,
                        size_t layer, const char *name)
{
    snprintf(row.name, sizeof row.name, "transformer.%s.%zu.%s.weight", part, layer, name);
    return put(p, row, joined);
}

/* Uniform with the variance 1/in: ±√3/√in. */
static struct iso_param matrix_row(size_t out, size_t in)
{
    return (struct iso_param){.dims = {out, in},
                              .group = ISO_GROUP_MATRIX,
                              .init = ISO_INIT_UNIFORM,
                              .size = sqrt(3) / sqrt((double)in)};
}

static struct iso_param norm_row(size_t d)
{
    return (struct iso_param){.dims = {d}, .group = ISO_GROUP_NORM, .init = ISO_INIT_ONE};
}

static void put_matrices(struct iso_params *p, struct iso_layer_params *l, const char *part,
                         size_t i, size_t d)
{
    l->qkv = put_named(p, matrix_row(d, d), false, part, i, "attn.c_q");
    put_named(p, matrix_row(d, d), true, part, i, "attn.c_k");
    put_named(p, matrix_row(d, d), true, part, i, "attn.c_v");
    l->proj = put_named(p, matrix_row(d, d), false, part, i, "attn.c_proj");
    l->fc = put_named(p, matrix_row(4 * d, d), false, part, i, "mlp.c_fc");
    l->down = put_named(p, matrix_row(d, 4 * d), false, part, i, "mlp.c_proj");
}

static void put_norms(struct iso_params *p, struct iso_layer_params *l, const char *part, size_t i,
                      size_t d)
{
    l->n1 = put_named(p, norm_row(d), false, part, i, "n1");
    l->n3 = put_named(p, norm_row(d), false, part, i, "n3");
}

static void each_layer(struct iso_params *p, const struct iso_dims *dim,
                       void (*fn)(struct iso_params *, struct iso_layer_params *, const char *,
                                  size_t, size_t))
{
    const char *part[] = {"prelude", "recur", "coda"};
    size_t count[] = {dim->prelude, dim->sets * dim->recur, dim->coda};
    struct iso_layer_params *l = p->layer;
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < count[k]; i++)
            fn(p, l++, part[k], i, dim->d);
}

/* The name of a loop's parameter; that of one iteration has its number behind the first part:
 * inject.weight, inject.3.weight. */
static void name_loop_param(char *to, size_t size, const char *name, int set)
{
    int first = (int)strcspn(name, ".");
    if (set < 0)
        snprintf(to, size, "%s", name);
    else
        snprintf(to, size, "%.*s.%d%s", first, name, set, name + first);
}

static void put_loop_row(struct iso_params *p, const struct iso_arch *a, int row, int set)
{
    struct iso_loop_shape shape = iso_arch_loop_shape(a);
    const struct iso_loop_param *lp = &a->loop->param[row];
    struct iso_param t = {
        .group = lp->group, .init = ISO_INIT_LOOP, .loop_row = row, .loop_set = set};
    name_loop_param(t.name, sizeof t.name, lp->name, set);
    lp->shape(t.dims, &shape);
    if (t.dims[0] > 0)
        put(p, t, false);
}

static void put_loop(struct iso_params *p, const struct iso_arch *a, bool matrices)
{
    for (int i = 0; i < ISO_LOOP_PARAMS && a->loop->param[i].name; i++) {
        const struct iso_loop_param *lp = &a->loop->param[i];
        if ((lp->group == ISO_GROUP_MATRIX) != matrices)
            continue;
        if (a->share || a->loop->once[i])
            put_loop_row(p, a, i, -1);
        for (int set = 0; !a->share && !a->loop->once[i] && set < a->sets; set++)
            put_loop_row(p, a, i, set);
    }
}

static size_t put_top(struct iso_params *p, const char *name, struct iso_param row)
{
    snprintf(row.name, sizeof row.name, "%s", name);
    return put(p, row, false);
}

void iso_params_init(struct iso_params *p, const struct iso_arch *a)
{
    struct iso_dims dim = iso_dims_of(a);
    size_t d = dim.d, V = dim.V;
    *p = (struct iso_params){.n_layer = dim.prelude + dim.sets * dim.recur + dim.coda};
    p->layer = ISO_NEW_N(struct iso_layer_params, p->n_layer);
    each_layer(p, &dim, put_matrices);
    put_loop(p, a, true);
    each_layer(p, &dim, put_norms);
    put_loop(p, a, false);
    p->norm_emb = put_top(p, "norm_emb.weight", norm_row(d));
    p->norm_recur = put_top(p, "norm_recur.weight", norm_row(d));
    p->norm_final = put_top(p, "norm_final.weight", norm_row(d));
    p->wte =
        put_top(p, "transformer.wte.weight",
                (struct iso_param){
                    .dims = {V, d}, .group = ISO_GROUP_EMBED, .init = ISO_INIT_NORMAL, .size = 1});
    p->head = put_top(
        p, "lm_head.weight",
        (struct iso_param){
            .dims = {V, d}, .group = ISO_GROUP_HEAD, .init = ISO_INIT_NORMAL, .size = 0.001});
    p->floats = (p->floats + ALIGN - 1) / ALIGN * ALIGN;
}

void iso_params_release(struct iso_params *p)
{
    free(p->at);
    free(p->layer);
    *p = (struct iso_params){0};
}

static void start_tensor(const struct iso_param *p, float *w, const struct iso_arch *arch,
                         uint64_t seed)
{
    struct iso_rng rng = {seed, iso_rng_stream(p->name, 0), 0};
    struct iso_loop_shape shape = iso_arch_loop_shape(arch);
    if (p->init == ISO_INIT_LOOP) {
        arch->loop->param[p->loop_row].init(w, p->n, &shape);
        return;
    }
    for (size_t i = 0; i < p->n; i++) {
        if (p->init == ISO_INIT_ONE)
            w[i] = 1;
        else if (p->init == ISO_INIT_NORMAL)
            w[i] = (float)(p->size * iso_rng_normal(&rng));
        else
            w[i] = (float)(p->size * (2 * iso_rng_uniform(&rng) - 1));
    }
}

void iso_params_start(const struct iso_params *p, float *w, const struct iso_arch *arch,
                      uint64_t seed)
{
    for (size_t i = 0; i < p->n; i++)
        start_tensor(&p->at[i], w + p->at[i].offset, arch, seed);
}

const struct iso_param *iso_params_find(const struct iso_params *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (iso_str_eq(p->at[i].name, name))
            return &p->at[i];
    return NULL;
}
