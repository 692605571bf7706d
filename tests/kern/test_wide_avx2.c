/* The 16-wide kernels of the AVX-512 table, run in pairs of AVX2 registers, against the
 * reference; and the exponentials of vec.h against libm over their whole range. */
#define ISO_VEC_PAIRS
#define ISO_VEC_FILL fill_wide
struct iso_kern;
void fill_wide(struct iso_kern *k);
#include "kern/kern_vec.inc.h"

#include "check_table.h"

static void test_wide(void **state)
{
    (void)state;
    struct iso_kern wide = *iso_kern_get("ref");
    wide.name = "avx512 in pairs";
    fill_wide(&wide);
    check_table(&wide, 0, 0);
}

/* Every 1009th float of either sign up to `top`, and the ends. */
static void check_exponential(vf (*f)(vf), double (*exact)(double), float top, double limit)
{
    double worst = 0;
    uint32_t last;
    memcpy(&last, &top, sizeof last);
    for (uint32_t bits = 0; bits < last; bits += VW / 2 * 1009) {
        float x[VW], y[VW];
        for (uint32_t i = 0; i < VW; i++) {
            uint32_t b = bits + i / 2 * 1009;
            b = b < last ? b : last;
            memcpy(&x[i], &b, sizeof b);
            x[i] = i % 2 ? -x[i] : x[i];
        }
        v_store(y, f(v_load(x)));
        for (uint32_t i = 0; i < VW; i++) {
            double e = exact(x[i]);
            /* Denormal results lose digits, which no caller can see. */
            worst = fmax(worst, fabs(y[i] - e) / fmax(fabs(e), 1.2e-38));
        }
    }
    print_message("largest relative error %.3g\n", worst);
    assert_true(worst <= limit && worst > 1e-8);
}

static vf exp2_of(vf x)
{
    return v_exp2_small(x);
}

static vf expm1_of(vf x)
{
    return v_expm1(x);
}

static void test_exponentials(void **state)
{
    (void)state;
    check_exponential(exp2_of, exp2, 125, 2e-7);
    check_exponential(expm1_of, expm1, 87, 2e-7);
    float outside[] = {-1e30f, -100, 100, 1e30f, -INFINITY, INFINITY, NAN, -0.0f};
    float y[VW];
    for (size_t i = 0; i < COUNT(outside); i++) {
        v_store(y, v_expm1(v_set1(outside[i])));
        if (isnan(outside[i]))
            assert_true(isnan(y[0]));
        else if (outside[i] < -1)
            assert_true(y[0] == -1);
        else if (outside[i] > 1)
            assert_true(y[0] > 6e37f && isfinite(y[0]));
        else
            assert_true(y[0] == 0);
    }
    v_store(y, v_exp2_small(v_set1(NAN)));
    assert_true(isnan(y[0]));
}

static void test_log(void **state)
{
    (void)state;
    double worst = 0;
    float y[VW];
    for (double x = 1.2e-38; x < 3e38; x *= 1.00037) {
        v_store(y, v_log(v_set1((float)x)));
        double e = log((double)(float)x);
        worst = fmax(worst, fabs(y[0] - e) / fmax(fabs(e), 1e-30));
    }
    print_message("largest relative error %.3g\n", worst);
    assert_true(worst <= 2e-7 && worst > 1e-8);
    v_store(y, v_log(v_set1(1)));
    assert_true(y[0] == 0);
    v_store(y, v_log(v_set1(NAN)));
    assert_true(isnan(y[0]));
}

static void test_sums(void **state)
{
    (void)state;
    vf x[VW];
    float y[VW];
    for (size_t i = 0; i < VW; i++) {
        for (size_t j = 0; j < VW; j++)
            y[j] = (float)((i * 37 + j * j * 11) % 101);
        x[i] = v_load(y);
    }
    v_store(y, v_sums(x));
    for (size_t i = 0; i < VW; i++)
        assert_true(y[i] == v_sum(x[i])); /* whole numbers: no rounding */
}

int main(void)
{
    if (!iso_cpu_avx2()) {
        puts("this CPU has no AVX2");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_exponentials),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
