/* grad: the whole model's gradient against finite differences, for every row of the loop table.
 *
 * For each tensor a direction v = g/‖g‖: (loss(w + h v) − loss(w − h v)) / 2h must be ‖g‖.  The
 * forward keeps fp32 activations, so h is large and the tolerance is that of the third derivative
 * and of rounding together. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "model/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T = 10, N = 2, VOCAB = 20 };

static struct iso_model *make_model(const struct iso_loop_ops *loop, int64_t opt, int64_t r)
{
    struct iso_err err;
    struct iso_arch a = {.loop = loop,
                         .loop_opt = {opt},
                         .r = r,
                         .depth = 2 + 2 * r,
                         .prelude = 1,
                         .coda = 1,
                         .d_model = 16,
                         .head = 8,
                         .seq_len = T,
                         .vocab = VOCAB};
    if (iso_arch_build(&a, NULL, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    const char *why;
    struct iso_model *m = iso_model_new(&a, iso_kern_best(&why), true);
    iso_params_start(&m->params, m->w, &a, 5);
    for (size_t i = 0; i < m->params.n; i++) {
        const struct iso_param *p = &m->params.at[i];
        struct iso_rng rng = {9, iso_rng_stream(p->name, 1), 0};
        float size = p->group == ISO_GROUP_HEAD ? 0.3f : 0.05f;
        for (size_t k = 0; k < p->n; k++)
            m->w[p->offset + k] += size * (float)iso_rng_normal(&rng);
    }
    iso_model_pack(m);
    return m;
}

static double loss_at(struct iso_pass *p, struct iso_model *m, const int32_t *rows)
{
    float loss[N * T];
    double sum = 0;
    iso_model_pack(m);
    iso_pass_score(p, loss, NULL, rows, N, T);
    for (int i = 0; i < N * T; i++)
        sum += (double)loss[i];
    return sum;
}

static void check_tensor(struct iso_pass *p, struct iso_model *m, const int32_t *rows,
                         const struct iso_param *t, const float *grad)
{
    double norm = sqrt(m->kern->dot(grad + t->offset, grad + t->offset, t->n));
    float *w = m->w + t->offset, *old = ISO_NEW_N(float, t->n);
    memcpy(old, w, t->n * sizeof *w);
    if (norm < 1e-3) {
        free(old);
        return;
    }
    double h = 4e-3 * (1 + sqrt(m->kern->dot(w, w, t->n) / (double)t->n)), value[2];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < t->n; i++)
            w[i] = (float)(old[i] + (side ? h : -h) * grad[t->offset + i] / norm);
        value[side] = loss_at(p, m, rows);
    }
    memcpy(w, old, t->n * sizeof *w);
    free(old);
    double slope = (value[1] - value[0]) / (2 * h);
    if (!(fabs(slope - norm) < 0.02 * norm))
        fail_msg("%s, %s, r=%d: slope %g, gradient %g", m->arch.loop->name, t->name, (int)m->arch.r,
                 slope, norm);
}

static void check_loop(const struct iso_loop_ops *loop, int64_t opt, int64_t r)
{
    struct iso_model *m = make_model(loop, opt, r);
    int32_t rows[N * (T + 1)];
    struct iso_rng rng = {3, 1, 0};
    for (size_t i = 0; i < N * (T + 1); i++)
        rows[i] = (int32_t)iso_rng_below(&rng, VOCAB);
    float *grad = iso_alloc_aligned(m->params.floats, sizeof(float));
    struct iso_pass *p = iso_pass_new(m, (struct iso_pass_size){T, N, (int)r, (int)r});
    iso_pass_train(p, rows, N, T, 1, grad);
    for (size_t i = 0; i < m->params.n; i++)
        check_tensor(p, m, rows, &m->params.at[i], grad);
    iso_pass_free(p);
    free(grad);
    iso_model_free(m);
}

/* Each row of the table, each option at its least and at its greatest that is still small. */
static void test_loops(void **state)
{
    (void)state;
    for (size_t i = 0; iso_loops[i]; i++) {
        const struct iso_loop_option *o = &iso_loops[i]->option[0];
        int64_t most = o->max < o->min + 2 ? o->max : o->min + 2;
        int64_t r = iso_loops[i]->looped ? 3 : 1;
        check_loop(iso_loops[i], o->name ? o->min : 0, r);
        if (o->name)
            check_loop(iso_loops[i], most, r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
