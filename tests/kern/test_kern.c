/* Every kernel table that this machine can run, against the reference; with ISO_KERN_NS=1 also
 * the time of each kernel per table, at the shapes of a small model. */
#include "check_table.h"

#include <time.h>

static const char *const names[] = {"avx2", "avx512", "avx512bf16", "amx"};

static void test_tables(void **state)
{
    (void)state;
    size_t checked = 0;
    check_table(iso_kern_get("ref"), 0, 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct iso_kern *k = iso_kern_get(names[i]);
        if (k)
            check_table(k, k->bf16 ? 1.0 / 512 : 0, 0); /* bf16's unit roundoff to nearest */
        checked += k != NULL;
    }
    print_message("tables beside ref: %zu; this CPU: %s\n", checked, iso_cpu_features());
}

static void test_choice(void **state)
{
    (void)state;
    char *before = getenv("ISO_CPU") ? strdup(getenv("ISO_CPU")) : NULL;
    const char *why = NULL;
    setenv("ISO_CPU", "ref", 1);
    assert_string_equal(iso_kern_best(&why)->name, "ref");
    setenv("ISO_CPU", "z80", 1);
    assert_null(iso_kern_best(&why));
    assert_non_null(strstr(why, "ISO_CPU"));
    unsetenv("ISO_CPU");
    const char *best = iso_kern_best(NULL)->name;
    for (size_t i = 0; i < COUNT(names); i++)
        if (iso_kern_get(names[i]))
            assert_string_not_equal(best, "ref");
    assert_null(iso_kern_get("z80"));
    if (before)
        setenv("ISO_CPU", before, 1);
    free(before);
}

/* --- time --- */

enum { ROWS = 256, WIDTH = 64, HEADS = 2, HEAD = 32, VOCAB = 1024 };

struct timing {
    struct iso_ws ws;
    struct iso_packed weight, rows;
    float *x, *y, *z, *g, *small, *logits;
    int32_t *token;
};

#define TIMED(name, call)                                                                          \
    static void time_##name(const struct iso_kern *k, struct timing *t)                            \
    {                                                                                              \
        k->call;                                                                                   \
    }
TIMED(add, add(t->y, t->x, ROWS *WIDTH))
TIMED(dot, dot(t->y, t->x, ROWS *WIDTH))
TIMED(mul_rows, mul_rows(t->y, t->g, t->x, ROWS, WIDTH))
TIMED(mul_rows_bwd, mul_rows_bwd(t->g, t->x, t->y, ROWS, WIDTH))
TIMED(pack, pack(&t->weight, t->x, WIDTH, false))
TIMED(pack_transposed, pack(&t->weight, t->x, WIDTH, true))
TIMED(gemm, gemm(t->y, WIDTH, t->x, WIDTH, false, &t->weight, ROWS, 0, &t->ws))
TIMED(gemm_transposed, gemm(t->small, WIDTH, t->x, WIDTH, true, &t->rows, WIDTH, 1, &t->ws))
TIMED(rmsnorm, rmsnorm(t->y, t->small, t->x, t->g, ROWS, WIDTH))
TIMED(rmsnorm_bwd, rmsnorm_bwd(t->y, t->g, t->z, t->x, t->g, t->small, ROWS, WIDTH))
TIMED(qk_rope_norm, qk_rope_norm(t->z, t->small, t->x, t->y, ROWS, ROWS, 0, HEADS, HEAD))
TIMED(qk_rope_norm_bwd,
      qk_rope_norm_bwd(t->z, t->logits, t->small, t->x, t->y, ROWS, ROWS, 0, HEADS, HEAD))
TIMED(attention,
      attention(t->y, t->small, iso_attend_all(t->z, ROWS, HEADS *HEAD), HEADS, HEAD, &t->ws))
TIMED(attention_bwd,
      attention_bwd(t->logits, t->y, t->x, t->small, t->z, ROWS, HEADS, HEAD, &t->ws))
TIMED(attention_one,
      attention(t->y, t->small, (struct iso_attended){t->x, t->z, WIDTH, 2 * WIDTH, ROWS - 1, 1},
                HEADS, HEAD, &t->ws))
TIMED(relu2, relu2(t->y, t->x, ROWS *WIDTH))
TIMED(relu2_bwd, relu2_bwd(t->y, t->x, t->z, ROWS *WIDTH))
TIMED(softcap_xent,
      softcap_xent(t->small, NULL, t->logits, t->token, ROWS, VOCAB, VOCAB, 15, 0.01f))
TIMED(adamw, adamw(t->y, t->x, t->z, t->logits, ROWS *WIDTH, 1e-3f, 0.8f, 0.95f, 1e-10f, 1, 1))

static const struct {
    const char *name;
    void (*run)(const struct iso_kern *k, struct timing *t);
} timed[] = {
    {"add", time_add},
    {"dot", time_dot},
    {"mul_rows", time_mul_rows},
    {"mul_rows_bwd", time_mul_rows_bwd},
    {"pack", time_pack},
    {"pack transposed", time_pack_transposed},
    {"gemm 256x64x64", time_gemm},
    {"gemm 64x256x64 A'", time_gemm_transposed},
    {"rmsnorm", time_rmsnorm},
    {"rmsnorm_bwd", time_rmsnorm_bwd},
    {"qk_rope_norm", time_qk_rope_norm},
    {"qk_rope_norm_bwd", time_qk_rope_norm_bwd},
    {"attention", time_attention},
    {"attention_bwd", time_attention_bwd},
    {"attention of one query", time_attention_one},
    {"relu2", time_relu2},
    {"relu2_bwd", time_relu2_bwd},
    {"softcap_xent V=1024", time_softcap_xent},
    {"adamw", time_adamw},
};

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void refill(struct timing *t)
{
    float *all[] = {t->x, t->y, t->z, t->g, t->small, t->logits};
    for (size_t i = 0; i < COUNT(all); i++)
        for (size_t j = 0; j < ROWS * VOCAB; j++)
            all[i][j] = 0.5f + (float)(j % 13) * 0.1f;
}

/* The best of a few runs of at least a millisecond each. */
static double ns_of(const struct iso_kern *k, struct timing *t, size_t which)
{
    double best = INFINITY;
    for (int repeat = 0; repeat < 5; repeat++) {
        refill(t);
        double start = cpu_ns(), spent = 0;
        int calls = 0;
        for (; spent < 1e6; spent = cpu_ns() - start, calls++)
            timed[which].run(k, t);
        best = fmin(best, spent / calls);
    }
    return best;
}

static void test_time(void **state)
{
    (void)state;
    if (!getenv("ISO_KERN_NS"))
        return;
    struct timing t = {0};
    t.ws.bytes = iso_alloc_aligned(iso_kern_ws_bytes(ROWS, HEAD), 1);
    t.weight = (struct iso_packed){iso_alloc_aligned(1 << 20, 1), WIDTH, WIDTH};
    t.rows = (struct iso_packed){iso_alloc_aligned(1 << 20, 1), ROWS, WIDTH};
    float **all[] = {&t.x, &t.y, &t.z, &t.g, &t.small, &t.logits};
    for (size_t i = 0; i < COUNT(all); i++)
        *all[i] = iso_alloc_aligned(ROWS * VOCAB, sizeof(float));
    t.token = ISO_NEW_N(int32_t, ROWS);
    for (size_t i = 0; i < COUNT(timed); i++) {
        double ref = ns_of(iso_kern_get("ref"), &t, i);
        printf("%-20s ref %11.0f ns", timed[i].name, ref);
        for (size_t j = 0; j < COUNT(names); j++) {
            const struct iso_kern *k = iso_kern_get(names[j]);
            double ns = k ? ns_of(k, &t, i) : 0;
            if (k)
                printf("   %s %9.0f ns (%.1fx)", names[j], ns, ref / ns);
        }
        printf("\n");
    }
    for (size_t i = 0; i < COUNT(all); i++)
        free(*all[i]);
    free(t.token);
    free(t.ws.bytes);
    free(t.weight.bytes);
    free(t.rows.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
