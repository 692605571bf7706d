/* grad: the whole model's gradient g against finite differences, for every row of the loop table
 * and every table of fp32 kernels (a step of the differences is below what bf16 resolves).
 *
 * For each tensor the slope (loss(w + h v) − loss(w − h v)) / 2h must be g·v along
 *   - fixed random signs v, which do not depend on g: an entry that the backward forgot is missing
 *     from g·v in full;
 *   - g itself, which shows small errors of its size.
 * The tolerance is a share of ‖g‖ for the third derivative, and the rounding of the two losses. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "model/pass.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T = 10, N = 2, VOCAB = 20, SIGNS = 3 };
#define STEP      4e-3 /* ‖h v‖ */
#define TOLERANCE 0.02

static struct iso_model *make_model(const struct iso_kern *kern, const struct iso_loop_ops *loop,
                                    int64_t opt, int64_t r, bool unshared)
{
    struct iso_err err;
    struct iso_arch a = {.loop = loop,
                         .loop_opt = {opt},
                         .r = r,
                         .unshared = unshared,
                         .depth = 2 + 2 * r,
                         .prelude = 1,
                         .coda = 1,
                         .d_model = 16,
                         .head = 8,
                         .seq_len = T,
                         .vocab = VOCAB};
    if (iso_arch_build(&a, NULL, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    struct iso_model *m = iso_model_new(&a, kern, true);
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
    iso_pass_score(p, loss, NULL, (struct iso_batch){rows, N, T, 0, NULL});
    for (int i = 0; i < N * T; i++)
        sum += (double)loss[i];
    return sum;
}

static double loss_beside(struct iso_pass *p, struct iso_model *m, const int32_t *rows,
                          const struct iso_param *t, const float *v, double h)
{
    float *w = m->w + t->offset, *old = ISO_NEW_N(float, t->n);
    memcpy(old, w, t->n * sizeof *w);
    for (size_t i = 0; i < t->n; i++)
        w[i] = (float)(old[i] + h * (double)v[i]);
    double loss = loss_at(p, m, rows);
    memcpy(w, old, t->n * sizeof *w);
    free(old);
    return loss;
}

/* v is random signs, or g/‖g‖: either way the slope is of the order of ‖g‖. */
static void check_along(struct iso_pass *p, struct iso_model *m, const int32_t *rows,
                        const struct iso_param *t, const float *v, const float *g)
{
    const struct iso_kern *k = m->kern;
    double h = STEP / sqrt(k->dot(v, v, t->n)), want = k->dot(g, v, t->n);
    double before = loss_beside(p, m, rows, t, v, -h), after = loss_beside(p, m, rows, t, v, h);
    double slope = (after - before) / (2 * h);
    double tolerance = TOLERANCE * sqrt(k->dot(g, g, t->n)) + (double)FLT_EPSILON * after / h;
    if (!(fabs(slope - want) < tolerance))
        fail_msg("%s, %s, %s, r=%d%s: slope %g, gradient %g, tolerance %g", k->name,
                 m->arch.loop->name, t->name, (int)m->arch.r, m->arch.share ? "" : " unshared",
                 slope, want, tolerance);
}

static void check_tensor(struct iso_pass *p, struct iso_model *m, const int32_t *rows,
                         const struct iso_param *t, const float *g)
{
    float *v = ISO_NEW_N(float, t->n);
    for (uint64_t k = 0; k < SIGNS; k++) {
        struct iso_rng rng = {k, iso_rng_stream(t->name, 2), 0};
        for (size_t i = 0; i < t->n; i++)
            v[i] = iso_rng_below(&rng, 2) ? 1 : -1;
        check_along(p, m, rows, t, v, g);
    }
    double norm = sqrt(m->kern->dot(g, g, t->n));
    if (!(norm > 0))
        fail_msg("%s, %s: no gradient", m->arch.loop->name, t->name);
    m->kern->scale(v, (float)(1 / norm), g, t->n);
    check_along(p, m, rows, t, v, g);
    free(v);
}

static void random_rows(int32_t rows[N * (T + 1)])
{
    struct iso_rng rng = {3, 1, 0};
    for (size_t i = 0; i < N * (T + 1); i++)
        rows[i] = (int32_t)iso_rng_below(&rng, VOCAB);
}

/* The gradient through the last `window` of r iterations. */
static float *gradient(struct iso_model *m, const int32_t *rows, int window)
{
    float *grad = iso_alloc_aligned(m->params.floats, sizeof(float));
    struct iso_pass *p = iso_pass_new(m, (struct iso_pass_size){T, N, (int)m->arch.r, window});
    iso_pass_train(p, (struct iso_batch){rows, N, T, 0, NULL}, 1, grad);
    iso_pass_free(p);
    return grad;
}

static void check_loop(const struct iso_kern *kern, const struct iso_loop_ops *loop, int64_t opt,
                       int64_t r, bool unshared)
{
    struct iso_model *m = make_model(kern, loop, opt, r, unshared);
    int32_t rows[N * (T + 1)];
    random_rows(rows);
    float *grad = gradient(m, rows, (int)r);
    struct iso_pass *p = iso_pass_new(m, (struct iso_pass_size){T, N, (int)r, 0});
    for (size_t i = 0; i < m->params.n; i++)
        check_tensor(p, m, rows, &m->params.at[i], grad + m->params.at[i].offset);
    iso_pass_free(p);
    free(grad);
    iso_model_free(m);
}

static size_t zeros_of(const float *x, size_t n)
{
    size_t zeros = 0;
    for (size_t i = 0; i < n; i++)
        zeros += x[i] == 0;
    return zeros;
}

/* The name of a parameter without a gradient, NULL when all have one.  Of a mechanism's own
 * parameters every number counts; a tensor of the layers may hold zeros (tokens that are not in the
 * batch, ReLUs that are off), but not only zeros. */
static const char *starved(const struct iso_model *m, const float *grad)
{
    for (size_t i = 0; i < m->params.n; i++) {
        const struct iso_param *t = &m->params.at[i];
        size_t zeros = zeros_of(grad + t->offset, t->n);
        if (t->init == ISO_INIT_LOOP ? zeros > 0 : zeros == t->n)
            return t->name;
    }
    return NULL;
}

/* full_bptt_only holds exactly when some window starves a parameter. */
static void check_windows(const struct iso_loop_ops *loop, const int32_t *rows)
{
    enum { R = 4 };
    const struct iso_loop_option *o = &loop->option[0];
    struct iso_model *m =
        make_model(iso_kern_get("ref"), loop, o->max > o->min ? o->min + 1 : o->min, R, false);
    bool starves = false;
    for (int window = 1; window <= R; window++) {
        float *grad = gradient(m, rows, window);
        const char *name = starved(m, grad);
        if (name && (window == R || !loop->full_bptt_only))
            fail_msg("%s, window %d of %d: %s gets no gradient", loop->name, window, R, name);
        starves |= name != NULL;
        free(grad);
    }
    if (!starves && loop->full_bptt_only)
        fail_msg("%s has full_bptt_only, but no window starves a parameter", loop->name);
    iso_model_free(m);
}

static void test_windows(void **state)
{
    (void)state;
    int32_t rows[N * (T + 1)];
    random_rows(rows);
    for (size_t i = 0; iso_loops[i]; i++)
        if (iso_loops[i]->looped)
            check_windows(iso_loops[i], rows);
}

/* Each row of the table, each option at its least and at its greatest that is still small, with
 * shared iterations and without. */
static void check_loops(const struct iso_kern *kern)
{
    for (size_t i = 0; iso_loops[i]; i++) {
        const struct iso_loop_option *o = &iso_loops[i]->option[0];
        int64_t most = o->max < o->min + 2 ? o->max : o->min + 2;
        int64_t r = iso_loops[i]->looped ? 3 : 1;
        for (int unshared = 0; unshared <= iso_loops[i]->looped; unshared++) {
            check_loop(kern, iso_loops[i], o->name ? o->min : 0, r, unshared);
            if (o->name)
                check_loop(kern, iso_loops[i], most, r, unshared);
        }
    }
}

static void test_loops(void **state)
{
    (void)state;
    for (const struct iso_kern_set *s = iso_kern_sets; s->name; s++) {
        const struct iso_kern *kern = iso_kern_get(s->name);
        if (kern && !kern->bf16)
            check_loops(kern);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loops),
                                       cmocka_unit_test(test_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
