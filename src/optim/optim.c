/* The optimiser's state and its step: see optim.h. */
#include "optim/optim.h"

#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { SLICE = 1 << 15 }; /* floats of an AdamW item: small enough to share out evenly */

double iso_schedule(int64_t t, int64_t steps)
{
    return 1 - 0.9 * (double)t / (double)steps;
}

static void list_items(struct iso_optim *o)
{
    const struct iso_params *p = &o->m->params;
    for (size_t i = 0; i < p->n; i++) {
        const struct iso_param *t = &p->at[i];
        size_t step = t->group == ISO_GROUP_MATRIX ? t->n : SLICE;
        for (size_t at = 0; at < t->n; at += step)
            *ISO_PUSH(o->item, o->n_item, o->room) =
                (struct iso_optim_item){t, t->offset + at, t->n - at < step ? t->n - at : step};
    }
}

struct largest {
    size_t floats, side, longest;
};

static struct largest largest_matrix(const struct iso_params *p)
{
    struct largest l = {1, 1, 1};
    for (size_t i = 0; i < p->n; i++) {
        const struct iso_param *t = &p->at[i];
        if (t->group != ISO_GROUP_MATRIX)
            continue;
        bool wide = t->dims[0] <= t->dims[1];
        size_t side = t->dims[wide ? 0 : 1], longest = t->dims[wide ? 1 : 0];
        l.floats = t->n > l.floats ? t->n : l.floats;
        l.side = side > l.side ? side : l.side;
        l.longest = longest > l.longest ? longest : l.longest;
    }
    return l;
}

struct iso_optim *iso_optim_new(struct iso_model *m, const double peak[ISO_N_GROUP], int workers)
{
    const struct iso_params *p = &m->params;
    struct iso_optim *o = ISO_NEW(struct iso_optim);
    o->m = m;
    o->workers = workers;
    for (int g = 0; g < ISO_N_GROUP; g++)
        o->peak[g] = peak[g];
    o->m1 = iso_alloc_aligned(p->floats, sizeof(float));
    o->m2 = iso_alloc_aligned(p->floats - p->matrix_floats, sizeof(float));
    o->norm0 = ISO_NEW_N(float, p->n);
    for (size_t i = 0; i < p->n; i++) {
        const float *w = m->w + p->at[i].offset;
        if (p->at[i].group == ISO_GROUP_MATRIX)
            o->norm0[i] = (float)sqrt(m->kern->dot(w, w, p->at[i].n));
    }
    list_items(o);
    o->squares = ISO_NEW_N(double, o->n_item);
    o->polar = ISO_NEW_N(struct iso_polar, (size_t)workers);
    struct largest l = largest_matrix(p);
    for (int i = 0; i < workers; i++)
        iso_polar_init(&o->polar[i], m->kern, l.floats, l.side, l.longest);
    return o;
}

void iso_optim_free(struct iso_optim *o)
{
    if (!o)
        return;
    for (int i = 0; i < o->workers; i++)
        iso_polar_release(&o->polar[i]);
    free(o->polar);
    free(o->m1);
    free(o->m2);
    free(o->norm0);
    free(o->item);
    free(o->squares);
    free(o);
}

size_t iso_optim_bytes(const struct iso_params *p, const struct iso_kern *kern, int workers)
{
    struct largest l = largest_matrix(p);
    size_t moments = (2 * p->floats - p->matrix_floats) * sizeof(float);
    size_t tall = kern->pack_bytes(l.longest, l.side), wide = kern->pack_bytes(l.side, l.longest);
    size_t scratch = (2 * l.floats + 4 * l.side * l.side) * sizeof(float) +
                     (tall > wide ? tall : wide) + iso_kern_ws_bytes(1, 2);
    return moments + (size_t)workers * scratch;
}

double iso_optim_seconds(struct iso_optim *o)
{
    enum { SHAPES = 8 }; /* a mechanism adds one to the three of a layer */
    struct {
        size_t rows, cols;
        double seconds;
    } known[SHAPES] = {0};
    double sum = 0;
    for (size_t i = 0; i < o->m->params.n; i++) {
        const struct iso_param *t = &o->m->params.at[i];
        if (t->group != ISO_GROUP_MATRIX)
            continue;
        size_t k = 0;
        while (k < SHAPES - 1 && known[k].rows > 0 &&
               (known[k].rows != t->dims[0] || known[k].cols != t->dims[1]))
            k++;
        if (known[k].rows == 0) {
            double start = iso_time_now();
            iso_polar_express(&o->polar[0], t->dims[0], t->dims[1]);
            known[k].rows = t->dims[0];
            known[k].cols = t->dims[1];
            known[k].seconds = iso_time_now() - start;
        }
        sum += known[k].seconds;
    }
    return sum;
}

void iso_optim_run_item(struct iso_optim *o, size_t i, int worker, float *const *grad, int n,
                        int64_t t, double factor)
{
    const struct iso_optim_item *it = &o->item[i];
    const struct iso_kern *k = o->m->kern;
    const struct iso_params *p = &o->m->params;
    double rate = o->peak[it->param->group] * factor;
    float *g = grad[0] + it->offset, *w = o->m->w + it->offset, *m1 = o->m1 + it->offset;
    for (int j = 1; j < n; j++)
        k->add(g, grad[j] + it->offset, it->n);
    o->squares[i] = k->dot(g, g, it->n);
    if (it->param->group == ISO_GROUP_MATRIX)
        iso_muonh(&o->polar[worker], w, m1, g, it->param->dims[0], it->param->dims[1],
                  o->norm0[it->param - p->at], rate);
    else
        iso_adamw(k, w, m1, o->m2 + (it->offset - p->matrix_floats), g, it->n, t, rate);
}

double iso_optim_grad_norm(const struct iso_optim *o)
{
    double sum = 0;
    for (size_t i = 0; i < o->n_item; i++)
        sum += o->squares[i];
    return sqrt(sum);
}
