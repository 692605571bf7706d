/* A crew gives the bits of one thread: products and attention, in every table of this machine, with
 * helpers that come at once, late or never. */
#include "base/mem.h"
#include "kern/crew.h"
#include "kern/tables.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELPERS = 3, ROUNDS = 20 };

static void fill(float *x, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
}

struct helper {
    struct iso_crew *crew;
    int index;
    useconds_t late;
    pthread_t thread;
};

static void *help(void *arg)
{
    struct helper *h = arg;
    usleep(h->late);
    iso_crew_help(h->crew, h->index);
    return NULL;
}

/* The operations, into `out`; a crew's table or one thread's. */
struct operands {
    size_t M, K, N, T, H, Q;
    float *a, *b, *qkv, *dout;
    void *packed;
    size_t out_floats;
};

static void run_all(float *out, const struct operands *o, const struct iso_kern *k,
                    struct iso_ws *ws)
{
    size_t D = o->H * o->Q;
    float *att = out + 2 * o->M * o->N, *lse = att + o->T * D, *dqkv = lse + o->H * o->T;
    struct iso_packed b = {o->packed, o->K, o->N};
    float *grad = out + o->M * o->N;
    k->weight_grad(grad, o->a, o->b, o->packed, o->K, o->M, o->N, ws);
    k->pack(&b, o->b, o->N, false);
    k->gemm(out, o->N, o->a, o->K, false, &b, o->M, grad, ws);
    k->attention(att, lse, iso_attend_all(o->qkv, o->T, D), iso_all_heads(o->H, o->Q), ws);
    k->attention_bwd(dqkv, o->dout, att, lse, o->qkv, o->T, iso_all_heads(o->H, o->Q), ws);
}

static void check_shape(const struct iso_kern *k, struct operands o, useconds_t late)
{
    size_t D = o.H * o.Q, scratch = iso_kern_ws_bytes(o.T, o.Q);
    o.out_floats = 2 * o.M * o.N + o.T * D + o.H * o.T + 3 * o.T * D;
    o.a = ISO_NEW_N(float, o.M *o.K);
    o.b = ISO_NEW_N(float, o.K *o.N);
    o.qkv = ISO_NEW_N(float, 3 * o.T * D);
    o.dout = ISO_NEW_N(float, o.T *D);
    o.packed = iso_alloc_aligned(k->pack_bytes(o.K, o.N), 1);
    fill(o.a, o.M * o.K, 1);
    fill(o.b, o.K * o.N, 2);
    fill(o.qkv, 3 * o.T * D, 3);
    fill(o.dout, o.T * D, 4);
    float *alone = ISO_NEW_N(float, o.out_floats), *shared = ISO_NEW_N(float, o.out_floats);
    struct iso_ws ws = {.bytes = iso_alloc_aligned(scratch, 1)};
    run_all(alone, &o, k, &ws);
    uint64_t macs = ws.macs;

    struct iso_crew *crew = iso_crew_new(k, HELPERS, scratch);
    struct helper helper[HELPERS];
    ws.macs = 0;
    ws.crew = crew;
    iso_crew_open(crew);
    int present = late ? HELPERS : 0;
    for (int i = 0; i < present; i++) {
        helper[i] = (struct helper){crew, i, (useconds_t)i * late, 0};
        assert_int_equal(pthread_create(&helper[i].thread, NULL, help, &helper[i]), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        memset(shared, 0, o.out_floats * sizeof *shared);
        run_all(shared, &o, iso_crew_kern(crew), &ws);
        assert_memory_equal(shared, alone, o.out_floats * sizeof *shared);
    }
    iso_crew_close(crew);
    for (int i = 0; i < present; i++)
        pthread_join(helper[i].thread, NULL);
    assert_int_equal(ws.macs + iso_crew_macs(crew), ROUNDS * macs);
    iso_crew_help(crew, 0); /* a helper that comes after the end goes at once */
    iso_crew_free(crew);
    free(ws.bytes);
    free(o.a);
    free(o.b);
    free(o.qkv);
    free(o.dout);
    free(o.packed);
    free(alone);
    free(shared);
}

static void the_bits_of_one_thread(void **state)
{
    (void)state;
    static const struct operands shape[] = {
        {.M = 128, .K = 64, .N = 192, .T = 140, .H = 4, .Q = 16},
        {.M = 357, .K = 33, .N = 91, .T = 215, .H = 3, .Q = 8},
        {.M = 31, .K = 16, .N = 16, .T = 7, .H = 1, .Q = 32},
        {.M = 515, .K = 350, .N = 64, .T = 130, .H = 5, .Q = 16},
    };
    for (const struct iso_kern_set *set = iso_kern_sets; set->name; set++) {
        const struct iso_kern *k = iso_kern_get(set->name);
        for (size_t i = 0; k && i < sizeof shape / sizeof *shape; i++) {
            check_shape(k, shape[i], 0);
            check_shape(k, shape[i], 1);
            check_shape(k, shape[i], 300);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_bits_of_one_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
