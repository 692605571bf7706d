/* The table of loop mechanisms and what several of them share. */
#include "loop/loop.h"

#include "base/str.h"

const struct iso_loop_ops *const iso_loops[] = {
    &iso_loop_none,
    &iso_loop_linear,
    &iso_loop_additive,
    &iso_loop_passthrough,
    &iso_loop_hyper,
    &iso_loop_diagonal,
    NULL,
};

const struct iso_loop_ops *iso_loop_find(const char *name)
{
    for (size_t i = 0; iso_loops[i]; i++)
        if (iso_str_eq(iso_loops[i]->name, name))
            return iso_loops[i];
    return NULL;
}

void iso_loop_per_channel(size_t dims[3], const struct iso_loop_shape *s)
{
    dims[0] = s->d;
}

static void fill(float *w, float x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w[i] = x;
}

void iso_loop_zeros(float *w, size_t n, const struct iso_loop_shape *s)
{
    (void)s;
    fill(w, 0, n);
}

void iso_loop_ones(float *w, size_t n, const struct iso_loop_shape *s)
{
    (void)s;
    fill(w, 1, n);
}

int64_t iso_loop_no_params(const struct iso_loop_shape *s)
{
    (void)s;
    return 0;
}

double iso_loop_no_flops(const struct iso_loop_shape *s)
{
    (void)s;
    return 0;
}

size_t iso_loop_one_lane(const struct iso_loop_shape *s)
{
    (void)s;
    return 1;
}

void iso_loop_start_copy(struct iso_loop_pass *p, float *S, const float *e)
{
    p->kern->copy(S, e, p->rows * p->shape.d);
}

void iso_loop_start_copy_bwd(struct iso_loop_pass *p, float *de, const float *dS)
{
    p->kern->add(de, dS, p->rows * p->shape.d);
}
