/* Every kernel table that this machine can run, against the reference; with ISO_KERN_NS=1 also
 * the time of each kernel per table, at the shapes of a small model. */
#include "check_table.h"

#include <time.h>

static void test_tables(void **state)
{
    (void)state;
    for (const struct iso_kern_set *s = iso_kern_sets; s->name; s++) {
        const struct iso_kern *k = iso_kern_get(s->name);
        print_message("%s: %s\n", s->name, k ? "checked" : "not on this CPU");
        if (!k)
            continue;
        assert_string_equal(k->name, s->name);
        check_table(k, k->bf16 ? 1.0 / 512 : 0, 0); /* bf16's unit roundoff to nearest */
    }
    print_message("this CPU: %s\n", iso_cpu_features());
}

/* A set overrides what it has and leaves the rest of the plain table. */
static void test_override(void **state)
{
    (void)state;
    const struct iso_kern *ref = iso_kern_get("ref");
    for (const struct iso_kern_set *s = iso_kern_sets; s->name; s++) {
        const struct iso_kern *table = iso_kern_get(s->name);
        if (!table)
            continue; /* its fill function is compiled for a CPU that this is not */
        struct iso_kern k = {.bf16 = false};
        s->fill(&k);
        assert_ptr_equal(table->copy, k.copy ? k.copy : ref->copy);
        assert_true((k.gemm != NULL) == (k.pack != NULL && k.pack_bytes != NULL));
    }
}

static void test_choice(void **state)
{
    (void)state;
    char *before = getenv("ISO_CPU") ? strdup(getenv("ISO_CPU")) : NULL;
    const struct iso_kern *k, *last = NULL; /* of those that are fast here */
    struct iso_err err;
    for (const struct iso_kern_set *s = iso_kern_sets; s->name; s++) {
        setenv("ISO_CPU", s->name, 1);
        enum iso_status st = iso_kern_best(&k, &err);
        assert_int_equal(st, s->runs_here() ? ISO_OK : ISO_MISSING);
        assert_ptr_equal(k, iso_kern_get(s->name));
        last = k && s->fast_here() ? k : last;
    }
    setenv("ISO_CPU", "z80", 1);
    assert_int_equal(iso_kern_best(&k, &err), ISO_MISSING);
    assert_null(k);
    assert_non_null(strstr(err.msg, "ISO_CPU: "));
    assert_non_null(strstr(err.msg, "there are: ref"));
    unsetenv("ISO_CPU");
    assert_int_equal(iso_kern_best(&k, &err), ISO_OK);
    assert_ptr_equal(k, last);
    assert_null(iso_kern_get("z80"));
    if (before)
        setenv("ISO_CPU", before, 1);
    free(before);
}

/* --- time --- */

enum { ROWS = 256, WIDTH = 64, CELLS = ROWS * WIDTH, HEADS = 2, HEAD = 32, VOCAB = 1024 };

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
TIMED(add, add(t->y, t->x, CELLS))
TIMED(dot, dot(t->y, t->x, CELLS))
TIMED(mul_rows, mul_rows(t->y, t->g, t->x, ROWS, WIDTH))
TIMED(mul_rows_bwd, mul_rows_bwd(t->g, t->x, t->y, ROWS, WIDTH))
TIMED(pack, pack(&t->weight, t->x, WIDTH, false))
TIMED(pack_transposed, pack(&t->weight, t->x, WIDTH, true))
TIMED(gemm, gemm(t->y, WIDTH, t->x, WIDTH, false, &t->weight, ROWS, NULL, &t->ws))
TIMED(gemm_transposed, gemm(t->small, WIDTH, t->x, WIDTH, true, &t->rows, WIDTH, t->small, &t->ws))
TIMED(rmsnorm, rmsnorm(t->y, t->small, t->x, t->g, ROWS, WIDTH))
TIMED(rmsnorm_bwd, rmsnorm_bwd(t->y, t->g, t->z, t->x, t->g, t->small, ROWS, WIDTH))
TIMED(qk_rope_norm, qk_rope_norm(t->z, t->small, t->x, t->y, ROWS, ROWS, 0, HEADS, HEAD))
TIMED(qk_rope_norm_bwd,
      qk_rope_norm_bwd(t->z, t->logits, t->small, t->x, t->y, ROWS, ROWS, 0, HEADS, HEAD))
TIMED(attention, attention(t->y, t->small, iso_attend_all(t->z, ROWS, WIDTH),
                           iso_all_heads(HEADS, HEAD), &t->ws))
TIMED(attention_bwd, attention_bwd(t->logits, t->y, t->x, t->small, t->z, ROWS,
                                   iso_all_heads(HEADS, HEAD), &t->ws))
TIMED(attention_one,
      attention(t->y, t->small, (struct iso_attended){t->x, t->z, WIDTH, 2 * WIDTH, ROWS - 1, 1},
                iso_all_heads(HEADS, HEAD), &t->ws))
TIMED(relu2, relu2(t->y, t->x, CELLS))
TIMED(relu2_bwd, relu2_bwd(t->y, t->x, t->z, CELLS))
TIMED(softcap_xent,
      softcap_xent(t->small, NULL, t->logits, t->token, ROWS, VOCAB, VOCAB, 15, 0.01f))
TIMED(adamw, adamw(t->y, t->x, t->z, t->logits, CELLS, 1e-3f, 0.8f, 0.95f, 1e-10f, 1, 1))

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
        for (const struct iso_kern_set *s = iso_kern_sets + 1; s->name; s++) {
            const struct iso_kern *k = iso_kern_get(s->name);
            double ns = k ? ns_of(k, &t, i) : 0;
            if (k)
                printf("   %s %9.0f ns (%.1fx)", s->name, ns, ref / ns);
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
        cmocka_unit_test(test_override),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
