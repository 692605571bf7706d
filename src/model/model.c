/* A model: see model.h. */
#include "model/model.h"

#include "base/fmath.h"
#include "base/mem.h"

#include <stdlib.h>

enum { LINE = 64, ROPE_BASE = 10000 };

static size_t round_up(size_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

/* Lists the matrices of the layers, the head and the loop; the list has room for all. */
static size_t list_matrices(struct iso_matrix *list, const struct iso_params *p,
                            const struct iso_dims *dim)
{
    size_t d = dim->d, n = 0;
    for (size_t i = 0; i < p->n_layer; i++) {
        const struct iso_layer_params *l = &p->layer[i];
        list[n++] = (struct iso_matrix){.offset = l->qkv, .out = 3 * d, .in = d};
        list[n++] = (struct iso_matrix){.offset = l->proj, .out = d, .in = d};
        list[n++] = (struct iso_matrix){.offset = l->fc, .out = 4 * d, .in = d};
        list[n++] = (struct iso_matrix){.offset = l->down, .out = d, .in = 4 * d};
    }
    list[n++] = (struct iso_matrix){.offset = p->head, .out = dim->V, .in = d};
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].init == ISO_INIT_LOOP && p->at[i].group == ISO_GROUP_MATRIX)
            list[n++] = (struct iso_matrix){
                .offset = p->at[i].offset, .out = p->at[i].dims[0], .in = p->at[i].dims[1]};
    return n;
}

static size_t max_matrices(const struct iso_params *p)
{
    return p->n; /* every matrix is a tensor */
}

/* Sets the packed matrices' sizes and places; `base` may be NULL to count only. */
static size_t place_packed(struct iso_matrix *list, size_t n, const struct iso_kern *kern,
                           bool trainable, unsigned char *base)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        struct iso_matrix *x = &list[i];
        x->forward = (struct iso_packed){base ? base + used : NULL, x->in, x->out};
        used += round_up(kern->pack_bytes(x->in, x->out));
        if (!trainable)
            continue;
        x->reverse = (struct iso_packed){base ? base + used : NULL, x->out, x->in};
        used += round_up(kern->pack_bytes(x->out, x->in));
    }
    return used;
}

static void link_layers(struct iso_model *m)
{
    m->layer = ISO_NEW_N(struct iso_layer, m->params.n_layer);
    struct iso_matrix *x = m->matrix;
    for (size_t i = 0; i < m->params.n_layer; i++, x += 4)
        m->layer[i] = (struct iso_layer){
            x, x + 1, x + 2, x + 3, m->params.layer[i].n1, m->params.layer[i].n3};
    m->head = x;
}

const struct iso_matrix *iso_model_matrix(const struct iso_model *m, size_t offset)
{
    for (size_t i = 0; i < m->n_matrix; i++)
        if (m->matrix[i].offset == offset)
            return &m->matrix[i];
    return NULL;
}

struct iso_model *iso_model_new(const struct iso_arch *arch, const struct iso_kern *kern,
                                bool trainable)
{
    struct iso_model *m = ISO_NEW(struct iso_model);
    m->arch = *arch;
    m->dim = iso_dims_of(arch);
    m->kern = kern;
    m->trainable = trainable;
    iso_params_init(&m->params, arch);
    m->w = iso_alloc_aligned(m->params.floats, sizeof *m->w);
    m->matrix = ISO_NEW_N(struct iso_matrix, max_matrices(&m->params));
    m->n_matrix = list_matrices(m->matrix, &m->params, &m->dim);
    m->packed = iso_alloc_aligned(place_packed(m->matrix, m->n_matrix, kern, trainable, NULL), 1);
    place_packed(m->matrix, m->n_matrix, kern, trainable, m->packed);
    link_layers(m);
    iso_model_extend(m, m->dim.T);
    return m;
}

void iso_model_free(struct iso_model *m)
{
    if (!m)
        return;
    iso_params_release(&m->params);
    free(m->w);
    free(m->matrix);
    free(m->packed);
    free(m->layer);
    free(m->cos);
    free(m->sin);
    free(m);
}

size_t iso_model_bytes(const struct iso_arch *arch, const struct iso_kern *kern, bool trainable)
{
    struct iso_params p;
    struct iso_dims dim = iso_dims_of(arch);
    iso_params_init(&p, arch);
    struct iso_matrix *list = ISO_NEW_N(struct iso_matrix, max_matrices(&p));
    size_t n = list_matrices(list, &p, &dim);
    size_t bytes = p.floats * sizeof(float) + place_packed(list, n, kern, trainable, NULL);
    free(list);
    iso_params_release(&p);
    return bytes;
}

void iso_model_pack_item(struct iso_model *m, size_t i)
{
    struct iso_matrix *x = &m->matrix[i];
    m->kern->pack(&x->forward, m->w + x->offset, x->in, true);
    if (m->trainable)
        m->kern->pack(&x->reverse, m->w + x->offset, x->in, false);
}

void iso_model_pack(struct iso_model *m)
{
    for (size_t i = 0; i < m->n_matrix; i++)
        iso_model_pack_item(m, i);
}

void iso_model_extend(struct iso_model *m, size_t n)
{
    size_t half = m->dim.Q / 2;
    if (n <= m->positions)
        return;
    m->cos = iso_realloc(m->cos, n * half, sizeof *m->cos);
    m->sin = iso_realloc(m->sin, n * half, sizeof *m->sin);
    for (size_t t = m->positions; t < n; t++)
        for (size_t j = 0; j < half; j++) {
            double angle = (double)t * iso_pow(ROPE_BASE, -(double)j / (double)half);
            m->cos[t * half + j] = (float)iso_cos(angle);
            m->sin[t * half + j] = (float)iso_sin(angle);
        }
    m->positions = n;
}
