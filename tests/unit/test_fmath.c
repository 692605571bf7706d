/* fmath: against the C library in long double, over the whole range of each function. */
#include "test.h"

#include "base/fmath.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

static const struct {
    const char *name;
    double (*f)(double x);
    long double (*exact)(long double x);
    double low, high; /* of x; of ln x where `logarithmic` */
    bool logarithmic;
    double ulps;     /* largest error in units in the last place, or */
    double absolute; /* largest error */
} cases[] = {
    {"exp", iso_exp, expl, -700, 709, false, 2, 0},
    {"expm1", iso_expm1, expm1l, -50, 50, false, 2, 0},
    {"expm1 near 0", iso_expm1, expm1l, -700, -1, true, 2, 0},
    {"log", iso_log, logl, -700, 709, true, 2, 0},
    {"log near 1", iso_log, logl, -0.5, 0.5, true, 2, 0},
    {"log1p", iso_log1p, log1pl, -700, 50, true, 4, 0},
    {"sin", iso_sin, sinl, -1.6e6, 1.6e6, false, 0, 3e-16},
    {"sin near 0", iso_sin, sinl, -700, 0.5, true, 2, 0},
    {"cos", iso_cos, cosl, -1.6e6, 1.6e6, false, 0, 3e-16},
    {"cos, one turn", iso_cos, cosl, 0, 6.3, false, 0, 3e-16},
    {"tanh", iso_tanh, tanhl, -25, 25, false, 3, 0},
    {"tanh near 0", iso_tanh, tanhl, -700, 0, true, 3, 0},
};

static void test_accuracy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_rng rng = {7, i, 0};
        double worst = 0, worst_ulps = 0;
        for (int k = 0; k < 100000; k++) {
            double x = cases[i].low + (cases[i].high - cases[i].low) * iso_rng_uniform(&rng);
            if (cases[i].logarithmic)
                x = exp(x) * (1 + iso_rng_uniform(&rng) / 64); /* not next to a round logarithm */
            long double want = cases[i].exact(x);
            double error = (double)fabsl((long double)cases[i].f(x) - want);
            double ulp = nextafter(fabs((double)want), INFINITY) - fabs((double)want);
            worst = fmax(worst, error);
            worst_ulps = fmax(worst_ulps, error / ulp);
        }
        print_message("%s: %.2f units in the last place, %.2g\n", cases[i].name, worst_ulps, worst);
        if (cases[i].ulps > 0 ? !(worst_ulps < cases[i].ulps) : !(worst < cases[i].absolute))
            fail_msg("%s: %.2f units in the last place, %.3g", cases[i].name, worst_ulps, worst);
    }
}

static void test_pow(void **state)
{
    (void)state;
    struct iso_rng rng = {7, 99, 0};
    for (int k = 0; k < 100000; k++) {
        double x = exp(40 * iso_rng_uniform(&rng) - 20), y = 10 * iso_rng_uniform(&rng) - 5;
        long double want = powl(x, y);
        double allowed = 2e-16 * (2 + fabs(y * log(x)));
        assert_true(fabsl((iso_pow(x, y) - want) / want) <= (long double)allowed);
    }
}

static void test_ends(void **state)
{
    (void)state;
    assert_true(iso_exp(0) == 1 && iso_log(1) == 0 && iso_cos(0) == 1 && iso_sin(0) == 0);
    assert_true(iso_tanh(0) == 0 && iso_expm1(0) == 0 && iso_log1p(0) == 0 && iso_pow(2, 0) == 1);
    assert_true(iso_exp(1000) == INFINITY && iso_exp(-1000) == 0 && iso_exp(-INFINITY) == 0);
    assert_true(iso_exp(-744) > 0 && iso_exp(-744) < DBL_MIN);
    assert_true(iso_log(0) == -INFINITY && iso_log(INFINITY) == INFINITY && isnan(iso_log(-1)));
    assert_true(iso_tanh(1e300) == 1 && iso_tanh(-INFINITY) == -1);
    double (*all[])(double) = {iso_exp, iso_expm1, iso_log, iso_cos, iso_sin, iso_tanh, iso_log1p};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_true(isnan(all[i](NAN)));
    assert_true(isnan(iso_cos(INFINITY)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_pow),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
