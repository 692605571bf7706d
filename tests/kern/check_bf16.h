/* What every table of bf16 products must do.  Included after the kernel file itself, compiled with
 * ISO_BF16_EMULATE and the fill function fill_under_test, so that it runs on every machine with
 * AVX2. */
#include "check_table.h"

static struct iso_kern table_under_test;

/* Operands are rounded to bf16, whose unit roundoff is 2⁻⁹ to nearest. */
static void test_table(void **state)
{
    (void)state;
    check_table(&table_under_test, 1.0 / 512, 0);
}

/* Whole numbers up to 256 are exact in bf16, and so are their sums here: any wrong place of an
 * entry shows in full. */
static void test_exact(void **state)
{
    enum { M = 70, K = 700, N = 45 };
    (void)state;
    static float a[M * K], b[K * N], c[M * N];
    for (size_t i = 0; i < M * K; i++)
        a[i] = (float)(i * 7 % 23) - 11;
    for (size_t i = 0; i < K * N; i++)
        b[i] = (float)(i * 5 % 19) - 9;
    struct iso_ws ws = {.bytes = iso_alloc_aligned(iso_kern_ws_bytes(8, 8), 1)};
    struct iso_packed p = {iso_alloc_aligned(table_under_test.pack_bytes(K, N), 1), K, N};
    table_under_test.pack(&p, b, N, false);
    table_under_test.gemm(c, N, a, K, false, &p, M, NULL, &ws);
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            double sum = 0;
            for (size_t k = 0; k < K; k++)
                sum += a[m * K + k] * b[k * N + n];
            assert_true(c[m * N + n] == (float)sum);
        }
    free(ws.bytes);
    free(p.bytes);
}

/* Round to nearest, ties to even; what is not finite stays so. */
static void test_rounding(void **state)
{
    (void)state;
    static const struct {
        uint32_t from, to;
    } known[] = {
        {0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f808001, 0x3f81}, {0x3f818000, 0x3f82},
        {0x3f817fff, 0x3f81}, {0xbf808001, 0xbf81}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80},
        {0x7fc00000, 0x7fc0}, {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x7f7fffff, 0x7f80},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        words pair = bf16_pair((words){0} + known[i].from, (words){0} + known[0].from);
        assert_int_equal(pair[3] & 0xffff, known[i].to);
        assert_int_equal(pair[3] >> 16, 0x3f80);
    }
}

int main(void)
{
    if (!iso_cpu_avx2()) {
        puts("this CPU has no AVX2");
        return 77;
    }
    table_under_test = *iso_kern_get("ref");
    table_under_test.name = UNDER_TEST;
    fill_under_test(&table_under_test);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
