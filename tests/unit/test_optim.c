/* optim: Polar Express on matrices of known singular values, MuonH, AdamW, the schedule. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "optim/optim.h"
#include "plan/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct iso_kern *kern;

/* n orthonormal columns of length len, by Gram-Schmidt in double: column j is q + j len. */
static double *orthonormal(size_t len, size_t n, uint64_t stream)
{
    double *q = ISO_NEW_N(double, (len * n));
    struct iso_rng rng = {4, stream, 0};
    for (size_t j = 0; j < n; j++) {
        double *x = q + j * len, norm = 0;
        for (size_t i = 0; i < len; i++)
            x[i] = iso_rng_normal(&rng);
        for (int twice = 0; twice < 2; twice++)
            for (size_t k = 0; k < j; k++) {
                double dot = 0;
                for (size_t i = 0; i < len; i++)
                    dot += x[i] * q[k * len + i];
                for (size_t i = 0; i < len; i++)
                    x[i] -= dot * q[k * len + i];
            }
        for (size_t i = 0; i < len; i++)
            norm += x[i] * x[i];
        for (size_t i = 0; i < len; i++)
            x[i] /= sqrt(norm);
    }
    return q;
}

/* Singular values from 1e-3 of the normalised input up to what its norm allows all end between
 * 0.858 and 1.142, on the same singular vectors. */
static void check_polar(size_t rows, size_t cols)
{
    size_t n = rows < cols ? rows : cols, longest = rows < cols ? cols : rows;
    double *u = orthonormal(rows, n, 1), *v = orthonormal(cols, n, 2), *s = ISO_NEW_N(double, n);
    double squares = 0;
    for (size_t k = 0; k < n; k++) {
        s[k] = pow(10, -2.2 * (double)k / (double)(n - 1));
        squares += s[k] * s[k];
    }
    s[n - 1] = 1.05e-3 * 1.02 * sqrt(squares); /* the smallest that the claim is about */
    struct iso_polar p;
    iso_polar_init(&p, kern, rows * cols, n, longest);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += u[k * rows + i] * s[k] * v[k * cols + j];
            p.x[i * cols + j] = (float)sum;
        }
    iso_polar_express(&p, rows, cols);
    for (size_t k = 0; k < n; k++)
        for (size_t l = 0; l < n; l++) {
            double sum = 0;
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < cols; j++)
                    sum += u[k * rows + i] * (double)p.x[i * cols + j] * v[l * cols + j];
            if (k == l ? !(sum >= 0.858 && sum <= 1.142) : !(fabs(sum) < 5e-3))
                fail_msg("%zu x %zu: U'YV[%zu, %zu] is %g", rows, cols, k, l, sum);
        }
    iso_polar_release(&p);
    free(u);
    free(v);
    free(s);
}

static void test_polar(void **state)
{
    (void)state;
    if (kern->bf16)
        skip();
    check_polar(24, 24);
    check_polar(24, 96);
    check_polar(96, 24);
    check_polar(33, 47);
}

/* A step keeps the norm, and without any gradient the matrix stays. */
static void test_muonh(void **state)
{
    (void)state;
    enum { R = 12, C = 48, N = R * C };
    float w[N], m[N] = {0}, g[N] = {0}, old[N], kept;
    struct iso_rng rng = {1, 1, 0};
    struct iso_polar p;
    struct iso_param param = {.dims = {R, C}};
    const struct iso_update u = {kern, &p, &param, N, w, g, {m, &kept}, 0, 0.1};
    iso_polar_init(&p, kern, N, R, C);
    for (int i = 0; i < N; i++)
        old[i] = w[i] = (float)iso_rng_normal(&rng);
    double norm0 = sqrt(kern->dot(w, w, N));
    iso_optimiser_muonh.init(&u);
    assert_true(fabs((double)kept / norm0 - 1) < 1e-6);
    iso_optimiser_muonh.step(&u);
    assert_memory_equal(w, old, sizeof w);
    for (int t = 0; t < 5; t++) {
        for (int i = 0; i < N; i++)
            g[i] = (float)iso_rng_normal(&rng);
        iso_optimiser_muonh.step(&u);
        assert_true(fabs(sqrt(kern->dot(w, w, N)) / norm0 - 1) < 1e-6);
    }
    assert_true(memcmp(w, old, sizeof w) != 0);
    iso_polar_release(&p);
}

/* By hand: the first step is rate * sign(g); the second with the same gradient is the same. */
static void test_adamw(void **state)
{
    (void)state;
    float w[3] = {1, 1, 1}, m[3] = {0}, v[3] = {0}, g[3] = {0.5f, -2, 0};
    struct iso_update u = {.kern = kern, .n = 3, .w = w, .g = g, .state = {m, v}, .rate = 0.01};
    for (u.t = 0; u.t < 2; u.t++)
        iso_optimiser_adamw.step(&u);
    assert_true(fabsf(w[0] - 0.98f) < 1e-6f && fabsf(w[1] - 1.02f) < 1e-6f && w[2] == 1);
    assert_true(fabsf(m[0] - 0.5f * (1 - 0.64f)) < 1e-6f);
    assert_true(fabsf(v[1] - 4 * (1 - 0.9025f)) < 1e-5f);
}

static void test_schedule(void **state)
{
    (void)state;
    assert_true(iso_schedule_factor(&iso_schedule_paper, 0, 10) == 1);
    assert_true(fabs(iso_schedule_factor(&iso_schedule_paper, 5, 10) - 0.55) < 1e-12);
    assert_true(fabs(iso_schedule_factor(&iso_schedule_paper, 9, 10) - 0.19) < 1e-12);
    /* Two steps up, ten level, eight down to a fifth. */
    static const struct iso_schedule s = {.warmup = 0.1, .warmdown = 0.4, .final = 0.2};
    static const double wanted[20] = {0.5, 1, 1, 1,  1,  1,  1,  1,  1,  1,
                                      1,   1, 1, .9, .8, .7, .6, .5, .4, .3};
    for (int t = 0; t < 20; t++)
        assert_true(fabs(iso_schedule_factor(&s, t, 20) - wanted[t]) < 1e-12);
    static const struct iso_schedule level = {0};
    assert_true(iso_schedule_factor(&level, 0, 7) == 1 && iso_schedule_factor(&level, 6, 7) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polar),
        cmocka_unit_test(test_muonh),
        cmocka_unit_test(test_adamw),
        cmocka_unit_test(test_schedule),
    };
    iso_kern_best(&kern, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
