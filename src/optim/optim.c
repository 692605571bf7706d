/* The optimiser's state and its step: see optim.h. */
#include "optim/optim.h"

#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { SLICE = 1 << 15 }; /* floats of an item that may be cut: small enough to share evenly */

const struct iso_optimiser *const iso_optimiser_of[ISO_N_GROUP] = {
    [ISO_GROUP_MATRIX] = &iso_optimiser_muonh, [ISO_GROUP_EMBED] = &iso_optimiser_adamw,
    [ISO_GROUP_HEAD] = &iso_optimiser_adamw,   [ISO_GROUP_NORM] = &iso_optimiser_adamw,
    [ISO_GROUP_SCALAR] = &iso_optimiser_adamw,
};

static const struct iso_optimiser *method(const struct iso_param *t)
{
    return iso_optimiser_of[t->group];
}

static void list_items(struct iso_optim *o)
{
    const struct iso_params *p = &o->m->params;
    for (size_t i = 0; i < p->n; i++) {
        const struct iso_param *t = &p->at[i];
        size_t step = method(t)->whole ? t->n : SLICE;
        for (size_t at = 0; at < t->n; at += step)
            *ISO_PUSH(o->item, o->n_item, o->room) =
                (struct iso_optim_item){.param = t,
                                        .first = at,
                                        .n = t->n - at < step ? t->n - at : step,
                                        .at = t->offset + at};
    }
}

/* Floats of state k of n elements of a tensor. */
static size_t state_floats(const struct iso_param *t, int k, size_t n)
{
    return !method(t)->state[k].name ? 0 : method(t)->state[k].number ? 1 : n;
}

size_t iso_optim_all_floats(const struct iso_params *p)
{
    size_t floats = 0;
    for (size_t i = 0; i < p->n; i++)
        for (int k = 0; k < ISO_OPTIM_STATES; k++)
            floats += state_floats(&p->at[i], k, p->at[i].n);
    return floats;
}

void iso_optim_each_state(struct iso_optim *o,
                          void (*visit)(void *ctx, size_t item, int state, size_t at, size_t n),
                          void *ctx)
{
    size_t at = 0;
    for (size_t first = 0, end = 0; first < o->n_item; first = end) {
        const struct iso_param *t = o->item[first].param;
        while (end < o->n_item && o->item[end].param == t)
            end++;
        for (int k = 0; k < ISO_OPTIM_STATES && method(t)->state[k].name; k++)
            for (size_t i = first; i < end; i++) {
                size_t n = state_floats(t, k, o->item[i].n);
                visit(ctx, i, k, at, n);
                at += n;
            }
    }
}

static void place_state(void *ctx, size_t item, int k, size_t at, size_t n)
{
    (void)at;
    struct iso_optim *o = ctx;
    if (o->item[item].others)
        return;
    o->item[item].state_at[k] = o->state_floats;
    o->state_floats += n;
}

static struct iso_update update_of(const struct iso_optim *o, const struct iso_optim_item *it)
{
    struct iso_update u = {.kern = o->m->kern,
                           .param = it->param,
                           .n = it->n,
                           .w = o->m->w + it->param->offset + it->first};
    for (int k = 0; k < ISO_OPTIM_STATES; k++)
        if (method(it->param)->state[k].name)
            u.state[k] = o->states + it->state_at[k];
    return u;
}

void iso_optim_begin(struct iso_optim *o)
{
    if (!o->states) {
        iso_optim_each_state(o, place_state, o);
        o->states = iso_alloc_aligned(o->state_floats, sizeof *o->states);
    }
    o->m->kern->fill(o->states, 0, o->state_floats);
    for (size_t i = 0; i < o->n_item; i++) {
        if (o->item[i].others || !method(o->item[i].param)->init)
            continue;
        struct iso_update u = update_of(o, &o->item[i]);
        method(u.param)->init(&u);
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
        if (!method(t)->whole)
            continue;
        bool wide = t->dims[0] <= t->dims[1];
        size_t side = t->dims[wide ? 0 : 1], longest = t->dims[wide ? 1 : 0];
        l.floats = t->n > l.floats ? t->n : l.floats;
        l.side = side > l.side ? side : l.side;
        l.longest = longest > l.longest ? longest : l.longest;
    }
    return l;
}

struct iso_optim *iso_optim_new(struct iso_model *m, const struct iso_rates *peak, int workers)
{
    struct iso_optim *o = ISO_NEW(struct iso_optim);
    o->m = m;
    o->workers = workers;
    o->peak = *peak;
    list_items(o);
    o->squares = ISO_NEW_N(struct iso_squares, o->n_item);
    o->polar = ISO_NEW_N(struct iso_polar, (size_t)workers);
    struct largest l = largest_matrix(&m->params);
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
    free(o->states);
    free(o->item);
    free(o->squares);
    free(o);
}

size_t iso_optim_bytes(const struct iso_params *p, const struct iso_kern *kern, int workers,
                       int processes)
{
    struct largest l = largest_matrix(p);
    size_t tall = kern->pack_bytes(l.longest, l.side), wide = kern->pack_bytes(l.side, l.longest);
    size_t scratch = (2 * l.floats + 4 * l.side * l.side) * sizeof(float) +
                     (tall > wide ? tall : wide) + iso_kern_ws_bytes(1, 2);
    size_t states = iso_optim_all_floats(p);
    if (processes > 1) /* sharing out leaves one at most an item above its part */
        states = states / (size_t)processes + l.floats + 2 * SLICE;
    return states * sizeof(float) + (size_t)workers * scratch;
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
        if (!method(t)->whole)
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

void iso_optim_run_item(struct iso_optim *o, size_t i, int worker, const struct iso_gradient *grad,
                        int64_t t, double factor)
{
    const struct iso_optim_item *it = &o->item[i];
    const struct iso_kern *k = o->m->kern;
    const float *g = grad->total + it->at;
    for (size_t j = 0; j < grad->n_add; j++)
        k->add(grad->add[j].to + it->at, grad->add[j].from + it->at, it->n);
    o->squares[i].grad = k->dot(g, g, it->n);
    struct iso_update u = update_of(o, it);
    u.polar = &o->polar[worker];
    u.g = g;
    u.t = t;
    u.rate = o->peak.of[it->param->group] * factor;
    method(it->param)->step(&u);
    o->squares[i].weight = k->dot(u.w, u.w, it->n);
}

struct iso_norms iso_optim_norms(const struct iso_optim *o)
{
    struct iso_norms norms = {0};
    bool used[ISO_N_GROUP] = {false};
    for (size_t i = 0; i < o->n_item; i++) {
        int g = (int)o->item[i].param->group;
        used[g] = true;
        norms.grad += o->squares[i].grad;
        norms.group_grad[g] += o->squares[i].grad;
        norms.group_weight[g] += o->squares[i].weight;
    }
    norms.grad = sqrt(norms.grad);
    for (int g = 0; g < ISO_N_GROUP; g++) {
        norms.group_grad[g] = used[g] ? sqrt(norms.group_grad[g]) : NAN;
        norms.group_weight[g] = used[g] ? sqrt(norms.group_weight[g]) : NAN;
    }
    return norms;
}
