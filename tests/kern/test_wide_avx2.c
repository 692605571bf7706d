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

/* Every 1009th float of either sign up to 87, and the ends. */
static void check_exponential(vf (*f)(vf), double (*exact)(double), double limit)
{
    double worst = 0;
    uint32_t last;
    float top = 87;
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

static vf exp_of(vf x)
{
    return v_exp(x);
}

static vf expm1_of(vf x)
{
    return v_expm1(x);
}

static void test_exponentials(void **state)
{
    (void)state;
    check_exponential(exp_of, exp, 2e-7);
    check_exponential(expm1_of, expm1, 2e-7);
    float outside[] = {-1e30f, -100, 100, 1e30f, -INFINITY, INFINITY, NAN, -0.0f};
    float y[VW];
    for (size_t i = 0; i < COUNT(outside); i++) {
        v_store(y, v_exp(v_set1(outside[i])));
        if (isnan(outside[i]))
            assert_true(isnan(y[0]));
        else if (outside[i] < -1)
            assert_true(y[0] >= 0 && y[0] < 2e-38f);
        else if (outside[i] > 1)
            assert_true(y[0] > 6e37f && isfinite(y[0]));
        else
            assert_true(y[0] == 1);
    }
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
