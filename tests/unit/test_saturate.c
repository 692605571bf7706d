/* fit: the saturating law of test-time depth. */
#include "test.h"

#include "fit/saturate.h"

#include <math.h>

/* Known parameters come back. */
static void test_recovered(void **state)
{
    (void)state;
    static const struct {
        double floor, gain, rate, mu;
    } cases[] = {{2.5, 1.2, 3, 4}, {3.1, 0.05, 0.7, 8}, {1.0, 10, 6, 2}, {0, 0.3, 1, 1}};
    static const double T[] = {1, 2, 3, 4, 6, 8, 16};
    enum { N = sizeof T / sizeof *T };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double L[N];
        for (size_t k = 0; k < N; k++)
            L[k] = cases[i].floor + cases[i].gain * exp(-cases[i].rate * T[k] / cases[i].mu);
        struct iso_saturation s = iso_saturation_fit(T, L, N, cases[i].mu);
        assert_int_equal(s.state, ISO_SATURATION_FITTED);
        assert_true(fabs(s.floor - cases[i].floor) < 1e-6);
        assert_true(fabs(s.gain - cases[i].gain) < 1e-6 * cases[i].gain);
        assert_true(fabs(s.rate - cases[i].rate) < 1e-6 * cases[i].rate);
        assert_true(s.rmse < 1e-9);
    }
}

/* With noise the optimum is one: moving any parameter makes it worse. */
static void test_optimum(void **state)
{
    (void)state;
    static const double T[] = {1, 2, 4, 8, 16}, L[] = {4.1, 3.2, 2.9, 2.85, 2.80};
    struct iso_saturation s = iso_saturation_fit(T, L, 5, 4);
    assert_int_equal(s.state, ISO_SATURATION_FITTED);
    for (int k = 0; k < 6; k++) {
        double left = 0, move = k % 2 ? 1e-4 : -1e-4;
        for (size_t i = 0; i < 5; i++) {
            double miss =
                L[i] - (s.floor + (k / 2 == 0) * move) -
                (s.gain + (k / 2 == 1) * move) * exp(-(s.rate + (k / 2 == 2) * move) * T[i] / 4);
            left += miss * miss;
        }
        assert_true(sqrt(left / 5) > s.rmse);
    }
}

static void test_not_fitted(void **state)
{
    (void)state;
    static const double T[] = {1, 2, 4, 8}, up[] = {4, 3, 2.9, 3.5};
    struct iso_saturation s = iso_saturation_fit(T, up, 4, 4);
    assert_int_equal(s.state, ISO_SATURATION_RISES);
    assert_true(s.from == 4 && s.to == 8);
    assert_int_equal(iso_saturation_fit(T, up, 3, 4).state, ISO_SATURATION_FEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recovered),
        cmocka_unit_test(test_optimum),
        cmocka_unit_test(test_not_fitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
