/* Checks of one kernel table against the reference table, on odd sizes.
 *
 * Inputs are random; every output lies between guard words at an address of 4-byte alignment
 * only, and the gaps of strided outputs must keep what they held.
 *
 * Bounds: the reference sums in double, so a difference is the other table's rounding.  With the
 * unit roundoff u = 2⁻²⁴, a sum of n products in float is off by at most n u Σ|terms| (Higham,
 * "Accuracy and stability of numerical algorithms", section 3.1); each check states its n and its
 * Σ|terms|.  Products in bf16 come with a u of their own, 2⁻⁹. */
#ifndef ISO_TESTS_CHECK_TABLE_H
#define ISO_TESTS_CHECK_TABLE_H

#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT         5.96e-8 /* 2⁻²⁴ */
#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { GUARD = 32 };
static const float guard_word = 12345.678f;

struct buffer {
    float *all, *at; /* `at` has n floats with GUARD words on either side */
    size_t n;
};

static struct buffer buffer_new(size_t n)
{
    struct buffer b = {ISO_NEW_N(float, n + 2 * GUARD + 1), NULL, n};
    b.at = b.all + GUARD + 1; /* never aligned to a vector */
    for (size_t i = 0; i < n + 2 * GUARD + 1; i++)
        b.all[i] = guard_word;
    return b;
}

static struct buffer buffer_random(size_t n, uint64_t stream)
{
    struct buffer b = buffer_new(n);
    struct iso_rng rng = {5, stream, 0};
    for (size_t i = 0; i < n; i++)
        b.at[i] = (float)iso_rng_normal(&rng);
    return b;
}

static struct buffer buffer_copy(const struct buffer *from)
{
    struct buffer b = buffer_new(from->n);
    memcpy(b.at, from->at, from->n * sizeof *b.at);
    return b;
}

static void buffer_check_free(struct buffer *b, const char *what)
{
    for (size_t i = 0; i < GUARD + 1; i++)
        if (b->all[i] != guard_word || (i < GUARD && b->at[b->n + i] != guard_word))
            fail_msg("%s: wrote outside its output", what);
    free(b->all);
}

static size_t smaller_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static double largest(const float *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)x[i]));
    return most;
}

/* |got − wanted| ≤ relative |wanted| + absolute, for every entry (and not NaN); both end here. */
static void compare(const char *what, struct buffer *got, struct buffer *wanted, double relative,
                    double absolute)
{
    for (size_t i = 0; i < got->n; i++) {
        double off = fabs((double)got->at[i] - wanted->at[i]);
        double limit = relative * fabs((double)wanted->at[i]) + absolute;
        if (!(off <= limit))
            fail_msg("%s: entry %zu of %zu is %.9g, wanted %.9g (off by %g, allowed %g)", what, i,
                     got->n, (double)got->at[i], (double)wanted->at[i], off, limit);
    }
    buffer_check_free(got, what);
    buffer_check_free(wanted, what);
}

struct tables {
    const struct iso_kern *k, *ref;
    struct iso_ws ws;   /* exactly iso_kern_ws_bytes, so that a sanitizer sees the end */
    double u_gemm;      /* unit roundoff of the operands of k's gemm; 0: exact */
    double u_attention; /* and of its attention */
};

static void tables_ready(struct tables *t, size_t T, size_t Q)
{
    free(t->ws.bytes);
    size_t bytes = iso_kern_ws_bytes(T, Q);
    t->ws.bytes = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(t->ws.bytes);
    memset(t->ws.bytes, 0xff, bytes); /* NaN: nothing may rely on what was there */
    t->ws.macs = 0;
}

static const size_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 511, 513, 1500};

static void check_vectors(struct tables *t, size_t n)
{
    const struct iso_kern *k = t->k, *ref = t->ref;
    struct buffer x = buffer_random(n, 1), y = buffer_random(n, 2), got, wanted;
#define RUN_BOTH(call)                                                                             \
    got = buffer_copy(&y), wanted = buffer_copy(&y);                                               \
    for (int pass = 0; pass < 2; pass++) {                                                         \
        const struct iso_kern *f = pass ? ref : k;                                                 \
        float *to = pass ? wanted.at : got.at;                                                     \
        f->call;                                                                                   \
    }
    RUN_BOTH(copy(to, x.at, n))
    compare("copy", &got, &wanted, 0, 0);
    RUN_BOTH(fill(to, 0.3f, n))
    compare("fill", &got, &wanted, 0, 0);
    RUN_BOTH(add(to, x.at, n))
    compare("add", &got, &wanted, 0, 0);
    RUN_BOTH(scale(to, 0.7f, x.at, n))
    compare("scale", &got, &wanted, 0, 0);
    /* One rounding here, two there. */
    RUN_BOTH(axpy(to, 0.7f, x.at, n))
    compare("axpy", &got, &wanted, 2 * UNIT, 4 * UNIT);
    RUN_BOTH(relu2_bwd(to, y.at, x.at, n))
    compare("relu2_bwd", &got, &wanted, UNIT, 0);

    double terms = 0;
    for (size_t i = 0; i < n; i++)
        terms += fabs((double)x.at[i] * y.at[i]);
    double off = k->dot(x.at, y.at, n) - ref->dot(x.at, y.at, n);
    if (!(fabs(off) <= ((double)smaller_of(n, 512) / 8 + 8) * UNIT * terms))
        fail_msg("dot of %zu: off by %g of %g", n, off, terms);

    RUN_BOTH(relu2(to, x.at, n))
    compare("relu2", &got, &wanted, 0, 0);

    struct buffer m1 = buffer_random(n, 3), m2 = buffer_copy(&m1);
    RUN_BOTH(nesterov(to, pass ? m2.at : m1.at, x.at, n, 0.95f))
    compare("nesterov m", &m1, &m2, 2 * UNIT, 16 * UNIT);
    compare("nesterov", &got, &wanted, 4 * UNIT, 32 * UNIT);

    m1 = buffer_random(n, 4), m2 = buffer_copy(&m1);
    struct buffer v1 = buffer_random(n, 5);
    for (size_t i = 0; i < n; i++)
        v1.at[i] = v1.at[i] * v1.at[i] + 0.1f;
    struct buffer v2 = buffer_copy(&v1);
    RUN_BOTH(adamw(to, pass ? m2.at : m1.at, pass ? v2.at : v1.at, x.at, n, 0.1f, 0.8f, 0.95f,
                   1e-10f, 1.5f, 2.5f))
    compare("adamw m", &m1, &m2, 2 * UNIT, 16 * UNIT);
    compare("adamw v", &v1, &v2, 8 * UNIT, 16 * UNIT);
    compare("adamw", &got, &wanted, 4 * UNIT, 32 * UNIT);
#undef RUN_BOTH
    buffer_check_free(&x, "vectors");
    buffer_check_free(&y, "vectors");
}

static void check_rows(struct tables *t, size_t M, size_t D)
{
    const struct iso_kern *k = t->k, *ref = t->ref;
    size_t n = M * D;
    struct buffer x = buffer_random(n, 1), y = buffer_random(n, 2), g = buffer_random(D, 3);
    struct buffer got = buffer_copy(&y), wanted = buffer_copy(&y);
    k->mul_rows(got.at, g.at, x.at, M, D);
    ref->mul_rows(wanted.at, g.at, x.at, M, D);
    compare("mul_rows", &got, &wanted, 2 * UNIT, 32 * UNIT);

    /* |entries| < 5, so Σ|terms| < 25 M. */
    got = buffer_copy(&g), wanted = buffer_copy(&g);
    k->mul_rows_bwd(got.at, x.at, y.at, M, D);
    ref->mul_rows_bwd(wanted.at, x.at, y.at, M, D);
    compare("mul_rows_bwd", &got, &wanted, 2 * UNIT, ((double)M + 2) * 25 * (double)M * UNIT);

    struct buffer r1 = buffer_new(M), r2 = buffer_new(M);
    got = buffer_new(n), wanted = buffer_new(n);
    k->rmsnorm(got.at, r1.at, x.at, g.at, M, D);
    ref->rmsnorm(wanted.at, r2.at, x.at, g.at, M, D);
    double d = (double)smaller_of(D, 512) / 8 + 12;
    compare("rmsnorm", &got, &wanted, d * UNIT, 0);

    struct buffer dx1 = buffer_copy(&y), dx2 = buffer_copy(&y), dy = buffer_random(n, 4);
    struct buffer dg1 = buffer_copy(&g), dg2 = buffer_copy(&g);
    k->rmsnorm_bwd(dx1.at, dg1.at, dy.at, x.at, g.at, r2.at, M, D);
    ref->rmsnorm_bwd(dx2.at, dg2.at, dy.at, x.at, g.at, r2.at, M, D);
    /* dx: a mean over D of terms < 5·5·5 r, times x r² < 5 r². */
    double r = largest(r2.at, M);
    compare("rmsnorm_bwd dx", &dx1, &dx2, 4 * UNIT, (d + 8) * UNIT * (125 * r + 625 * r * r * r));
    compare("rmsnorm_bwd dg", &dg1, &dg2, 4 * UNIT, ((double)M + 4) * 25 * r * (double)M * UNIT);
    compare("rmsnorm rstd", &r1, &r2, d * UNIT, 0);

    int32_t *token = ISO_NEW_N(int32_t, M);
    for (size_t m = 0; m < M; m++)
        token[m] = (int32_t)(m * 7 % (M / 2 + 1));
    got = buffer_new(n), wanted = buffer_new(n);
    k->gather(got.at, x.at, token, M, D);
    ref->gather(wanted.at, x.at, token, M, D);
    compare("gather", &got, &wanted, 0, 0);
    got = buffer_copy(&y), wanted = buffer_copy(&y);
    k->scatter_add(got.at, x.at, token, M, D);
    ref->scatter_add(wanted.at, x.at, token, M, D);
    compare("scatter_add", &got, &wanted, 0, 0);
    free(token);
    buffer_check_free(&x, "rows");
    buffer_check_free(&y, "rows");
    buffer_check_free(&g, "rows");
    buffer_check_free(&dy, "rows");
}

enum plus { NOTHING, ITSELF, ANOTHER }; /* what a product is added to */

/* A packed by hand in the layout wanted, C with a gap of three columns.  K = 1022 makes rows of A
 * that lie 4 KB apart. */
static void check_gemm(struct tables *t, size_t M, size_t K, size_t N, bool transposed_a,
                       bool transposed_b, enum plus plus)
{
    size_t lda = (transposed_a ? M : K) + 2, ldb = (transposed_b ? K : N) + 1, ldc = N + 3;
    struct buffer a = buffer_random((transposed_a ? K : M) * lda, 1);
    struct buffer b = buffer_random((transposed_b ? N : K) * ldb, 2);
    struct buffer got = buffer_random(M * ldc, 3), wanted = buffer_copy(&got);
    struct buffer terms = buffer_new(M * ldc), other = buffer_random(M * ldc, 4);
    tables_ready(t, 1, 8);
    for (int pass = 0; pass < 3; pass++) { /* the table, the reference, the reference on |a|, |b| */
        const struct iso_kern *f = pass ? t->ref : t->k;
        struct iso_packed packed = {NULL, K, N};
        size_t bytes = f->pack_bytes(K, N);
        packed.bytes = aligned_alloc(64, (bytes + 63) / 64 * 64);
        memset(packed.bytes, 0xff, bytes);
        for (size_t i = 0; pass == 2 && i < a.n; i++)
            a.at[i] = fabsf(a.at[i]);
        for (size_t i = 0; pass == 2 && i < b.n; i++)
            b.at[i] = fabsf(b.at[i]);
        float *c = (pass == 0 ? got : pass == 1 ? wanted : terms).at;
        f->pack(&packed, b.at, ldb, transposed_b);
        f->gemm(c, ldc, a.at, lda, transposed_a, &packed, M,
                pass == 2 || plus == NOTHING ? NULL
                : plus == ITSELF             ? c
                                             : other.at,
                &t->ws);
        free(packed.bytes);
    }
    assert_int_equal(t->ws.macs, 3 * M * K * N);
    for (size_t i = 0; i < M * ldc; i++) {
        bool gap = i % ldc >= N;
        double u = (double)(K + 2) * UNIT + 2 * t->u_gemm;
        double limit = gap ? 0 : u * terms.at[i] + UNIT * fabs((double)wanted.at[i]);
        double off = fabs((double)got.at[i] - wanted.at[i]);
        if (!(off <= limit))
            fail_msg("%s gemm M=%zu K=%zu N=%zu%s%s plus %d: (%zu, %zu) off by %g, allowed %g",
                     t->k->name, M, K, N, transposed_a ? " A'" : "", transposed_b ? " B'" : "",
                     (int)plus, i / ldc, i % ldc, off, limit);
    }
    buffer_check_free(&a, "gemm");
    buffer_check_free(&b, "gemm");
    buffer_check_free(&got, "gemm");
    buffer_check_free(&wanted, "gemm");
    buffer_check_free(&terms, "gemm");
    buffer_check_free(&other, "gemm");
}

static void check_rope(struct tables *t, size_t M, size_t T, size_t H, size_t Q)
{
    size_t n = M * 3 * H * Q, first = 3;
    struct buffer x = buffer_random(n, 1), c = buffer_new((T + first) * Q / 2);
    struct buffer s = buffer_new(c.n), dy = buffer_random(n, 2);
    for (size_t i = 0; i < c.n; i++)
        c.at[i] = (float)cos((double)i), s.at[i] = (float)sin((double)i);
    struct buffer got = buffer_copy(&x), wanted = buffer_copy(&x);
    struct buffer r1 = buffer_new(M * 2 * H), r2 = buffer_new(M * 2 * H);
    t->k->qk_rope_norm(got.at, r1.at, c.at, s.at, M, T, first, H, Q);
    t->ref->qk_rope_norm(wanted.at, r2.at, c.at, s.at, M, T, first, H, Q);
    double q = (double)Q + 8;
    struct buffer d1 = buffer_copy(&dy), d2 = buffer_copy(&dy);
    t->k->qk_rope_norm_bwd(d1.at, wanted.at, r2.at, c.at, s.at, M, T, first, H, Q);
    t->ref->qk_rope_norm_bwd(d2.at, wanted.at, r2.at, c.at, s.at, M, T, first, H, Q);
    /* A normalised head has entries ≤ √Q; gradients are < 5 and their means, too. */
    double r = largest(r2.at, r2.n), root = sqrt((double)Q);
    compare("qk_rope_norm", &got, &wanted, q * UNIT, 4 * UNIT * root);
    compare("qk_rope_norm_bwd", &d1, &d2, 4 * UNIT, q * UNIT * r * (10 + 10 * root * root));
    compare("qk_rope_norm rstd", &r1, &r2, q * UNIT, 0);
    buffer_check_free(&x, "rope");
    buffer_check_free(&c, "rope");
    buffer_check_free(&s, "rope");
    buffer_check_free(&dy, "rope");
}

/* The gradient of a weight has the bits of pack and gemm. */
static void check_weight_grad(struct tables *t, size_t M, size_t K, size_t N)
{
    struct buffer a = buffer_random(K * M, 1), b = buffer_random(K * N, 2);
    struct buffer got = buffer_random(M * N, 3), wanted = buffer_copy(&got);
    struct iso_packed packed = {iso_alloc_aligned(t->k->pack_bytes(K, N), 1), K, N};
    tables_ready(t, 1, 8);
    t->k->weight_grad(got.at, a.at, b.at, packed.bytes, K, M, N, &t->ws);
    assert_int_equal(t->ws.macs, M * K * N);
    t->k->pack(&packed, b.at, N, false);
    t->k->gemm(wanted.at, N, a.at, M, true, &packed, M, wanted.at, &t->ws);
    compare("weight_grad", &got, &wanted, 0, 0);
    free(packed.bytes);
    buffer_check_free(&a, "weight_grad");
    buffer_check_free(&b, "weight_grad");
}

/* Root mean square of the difference against that of the values: the sums of the backward cancel,
 * so entries have no useful bound of their own.  `u` counts the worst case of a chain of `n`. */
static void compare_norm(const char *what, struct buffer *got, struct buffer *wanted, double n,
                         double u)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < got->n; i++) {
        off += pow((double)got->at[i] - wanted->at[i], 2);
        size += pow(wanted->at[i], 2);
    }
    if (!(sqrt(off) <= n * u * sqrt(size) + 1e-30))
        fail_msg("%s: off by %g of %g, allowed %g", what, sqrt(off), sqrt(size),
                 n * u * sqrt(size));
    buffer_check_free(got, what);
    buffer_check_free(wanted, what);
}

/* The queries in two pieces, and the last one alone, against keys and values in a cache of their
 * own: the same bits as all at once. */
static void check_attention_pieces(struct tables *t, const struct iso_kern *k,
                                   const struct buffer *qkv, const struct buffer *out,
                                   const struct buffer *lse, size_t T, size_t H, size_t Q)
{
    size_t D = H * Q, cut[] = {0, T / 3, T - 1, T};
    struct buffer kv = buffer_new(T * 2 * D);
    for (size_t i = 0; i < T; i++)
        memcpy(kv.at + i * 2 * D, qkv->at + i * 3 * D + D, 2 * D * sizeof(float));
    for (size_t i = 0; i < 3; i++) {
        size_t first = cut[i], n = cut[i + 1] - first;
        struct buffer o = buffer_new(n * D), l = buffer_new(H * n);
        struct iso_attended x = {qkv->at + first * 3 * D, kv.at, 3 * D, 2 * D, first, n};
        uint64_t before = t->ws.macs;
        k->attention(o.at, l.at, x, iso_all_heads(H, Q), &t->ws);
        assert_int_equal(t->ws.macs - before, n * (2 * first + n + 1) * D);
        assert_memory_equal(o.at, out->at + first * D, n * D * sizeof(float));
        for (size_t h = 0; h < H; h++)
            assert_memory_equal(l.at + h * n, lse->at + h * T + first, n * sizeof(float));
        buffer_check_free(&o, "attention in pieces");
        buffer_check_free(&l, "attention in pieces");
    }
    buffer_check_free(&kv, "attention in pieces");
}

static void check_attention(struct tables *t, size_t T, size_t H, size_t Q)
{
    size_t D = H * Q;
    struct buffer qkv = buffer_random(T * 3 * D, 1), dout = buffer_random(T * D, 2);
    struct buffer out1 = buffer_new(T * D), out2 = buffer_new(T * D);
    struct buffer lse1 = buffer_new(H * T), lse2 = buffer_new(H * T);
    struct buffer d1 = buffer_new(T * 3 * D), d2 = buffer_new(T * 3 * D);
    tables_ready(t, T, Q);
    t->k->attention(out1.at, lse1.at, iso_attend_all(qkv.at, T, D), iso_all_heads(H, Q), &t->ws);
    assert_int_equal(t->ws.macs, T * (T + 1) * D);
    t->k->attention_bwd(d1.at, dout.at, out1.at, lse1.at, qkv.at, T, iso_all_heads(H, Q), &t->ws);
    assert_int_equal(t->ws.macs, 3 * T * (T + 1) * D);
    t->ref->attention(out2.at, lse2.at, iso_attend_all(qkv.at, T, D), iso_all_heads(H, Q), &t->ws);
    t->ref->attention_bwd(d2.at, dout.at, out2.at, lse2.at, qkv.at, T, iso_all_heads(H, Q), &t->ws);
    assert_int_equal(t->ws.macs, 6 * T * (T + 1) * D);

    check_attention_pieces(t, t->k, &qkv, &out1, &lse1, T, H, Q);
    check_attention_pieces(t, t->ref, &qkv, &out2, &lse2, T, H, Q);

    /* Scores are sums of Q products with Σ|terms|/√Q ≤ √Q·4 (|q||k|/√Q, |entries| of unit
     * variance); they enter p as a relative error, and p·v is a mean of T values below 6. */
    double u = UNIT + t->u_attention, score = ((double)Q + 8) * 4 * sqrt((double)Q) * u;
    double error = 2 * score + ((double)T + 8) * u + 4e-7;
    compare("attention lse", &lse1, &lse2, 4 * u, score + ((double)T + 8) * UNIT + 4e-7);
    compare("attention out", &out1, &out2, 4 * u, 6 * error);
    compare_norm("attention_bwd", &d1, &d2, (double)(T + 4 * Q + 32), u);
    buffer_check_free(&qkv, "attention");
    buffer_check_free(&dout, "attention");
}

/* Scores between −32 and 32, the most that attention must stand. */
static void check_attention_large(struct tables *t)
{
    enum { T = 40, Q = 16 };
    struct buffer qkv = buffer_random(T * 3 * Q, 1), dout = buffer_random(T * Q, 2);
    struct buffer out1 = buffer_new(T * Q), out2 = buffer_new(T * Q);
    struct buffer lse1 = buffer_new(T), lse2 = buffer_new(T);
    struct buffer d1 = buffer_new(T * 3 * Q), d2 = buffer_new(T * 3 * Q);
    for (size_t i = 0; i < T * 3 * Q; i++)
        if (i % (3 * Q) < 2 * Q) /* of q and k; every eighth row all alike: a score of 32 */
            qkv.at[i] = qkv.at[i] < 0 || i / (3 * Q) % 8 == 0 ? -sqrtf(8) : sqrtf(8);
    tables_ready(t, T, Q);
    t->k->attention(out1.at, lse1.at, iso_attend_all(qkv.at, T, Q), iso_all_heads(1, Q), &t->ws);
    t->k->attention_bwd(d1.at, dout.at, out1.at, lse1.at, qkv.at, T, iso_all_heads(1, Q), &t->ws);
    t->ref->attention(out2.at, lse2.at, iso_attend_all(qkv.at, T, Q), iso_all_heads(1, Q), &t->ws);
    t->ref->attention_bwd(d2.at, dout.at, out2.at, lse2.at, qkv.at, T, iso_all_heads(1, Q), &t->ws);
    double u = UNIT + t->u_attention, score = (Q + 8) * 32 * u; /* the error of a score */
    assert_true(lse2.at[0] > 31.9);
    compare("large scores, lse", &lse1, &lse2, 4 * u, score + 4e-7);
    compare("large scores, out", &out1, &out2, 4 * u, 12 * score);
    compare_norm("large scores, backward", &d1, &d2, 4 * (Q + 8) * 32, u);
    buffer_check_free(&qkv, "large scores");
    buffer_check_free(&dout, "large scores");
}

static void check_xent(struct tables *t, size_t M, size_t V, size_t V_real, float cap, float size)
{
    struct buffer z = buffer_random(M * V, 1), got, wanted;
    int32_t *target = ISO_NEW_N(int32_t, M);
    unsigned char *hit1 = iso_alloc(M + 1, 1), *hit2 = iso_alloc(M + 1, 1);
    for (size_t m = 0; m < M; m++)
        target[m] = m % 5 == 4 ? -1 : (int32_t)(m * 11 % V_real);
    for (size_t i = 0; i < z.n; i++)
        z.at[i] = i % V < V_real ? z.at[i] * size : 1e3f; /* padding would win every maximum */
    if (M > 1)
        z.at[V + (size_t)target[1]] = 5 * size; /* one sure hit */
    for (int with_gradient = 0; with_gradient < 2; with_gradient++) {
        float scale = with_gradient ? 0.25f : 0;
        struct buffer l1 = buffer_new(M), l2 = buffer_new(M);
        got = buffer_copy(&z), wanted = buffer_copy(&z);
        t->k->softcap_xent(l1.at, hit1, got.at, target, M, V, V_real, cap, scale);
        t->ref->softcap_xent(l2.at, hit2, wanted.at, target, M, V, V_real, cap, scale);
        /* Each exponential is off by cap times the error of tanh, plus its own. */
        double error = (double)cap * 6e-7 + 4e-7 + 64 * UNIT;
        compare("softcap_xent loss", &l1, &l2, UNIT, error);
        compare("softcap_xent dz", &got, &wanted, scale != 0 ? 2 * error : 0,
                scale != 0 ? 1e-7 : 0);
        assert_memory_equal(hit1, hit2, M + 1);
    }
    if (M > 1)
        assert_int_equal(hit1[1], 1);
    free(target);
    free(hit1);
    free(hit2);
    buffer_check_free(&z, "softcap_xent");
}

/* A loss that is not finite must not be mended on the way. */
static void check_nan(struct tables *t)
{
    enum { V = 40 };
    const struct iso_kern *k = t->k;
    for (size_t at = 0; at < V; at++) {
        float z[V] = {1}, y[V], loss, rstd, g[V];
        int32_t target = 0;
        unsigned char hit = 1;
        z[at] = NAN; /* the target's logit, or another */
        k->softcap_xent(&loss, &hit, z, &target, 1, V, V, 15, 0);
        assert_true(isnan(loss) && !hit);
        k->relu2(y, z, V);
        assert_true(isnan(y[at]));
        k->fill(g, 1, V);
        k->rmsnorm(y, &rstd, z, g, 1, V);
        assert_true(isnan(y[0]) && isnan(rstd));
    }
    float qkv[2 * 3 * 8] = {0}, out[2 * 8], lse[2];
    qkv[3 * 8 + 2] = NAN; /* in the second query */
    tables_ready(t, 2, 8);
    k->attention(out, lse, iso_attend_all(qkv, 2, 8), iso_all_heads(1, 8), &t->ws);
    assert_true(isnan(lse[1]) && isnan(out[8]) && !isnan(lse[0]) && out[0] == 0);
}

static void check_table(const struct iso_kern *k, double u_gemm, double u_attention)
{
    static const size_t shapes[][3] = {
        {1, 1, 1},     {1, 64, 33},    {2, 3, 5},       {5, 7, 17},    {6, 16, 16},
        {7, 17, 15},   {13, 31, 31},   {14, 32, 32},    {15, 33, 65},  {29, 64, 64},
        {100, 96, 40}, {97, 100, 3},   {17, 321, 48},   {40, 700, 16}, {280, 20, 100},
        {3, 1000, 33}, {113, 65, 192}, {273, 1022, 40}, {9, 20, 1024}, {20, 1024, 40},
    };
    static const size_t widths[] = {1, 6, 8, 15, 16, 33, 64, 100, 600};
    static const size_t heads[][3] = {{1, 1, 2},    {5, 2, 4},    {7, 1, 6},
                                      {33, 3, 16},  {64, 2, 32},  {129, 1, 8},
                                      {260, 1, 64}, {300, 2, 24}, {70, 1, 128}};
    struct tables t = {k, iso_kern_get("ref"), {0}, u_gemm, u_attention};
    for (size_t i = 0; i < COUNT(lengths); i++)
        check_vectors(&t, lengths[i]);
    for (size_t i = 0; i < COUNT(widths); i++)
        for (size_t M = 1; M < 12; M += 5)
            check_rows(&t, M, widths[i]);
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (enum plus plus = NOTHING; plus <= ANOTHER; plus++)
            for (int bits = 0; bits < 4; bits++)
                check_gemm(&t, shapes[i][0], shapes[i][1], shapes[i][2], bits & 1, bits & 2, plus);
    for (size_t i = 0; i < COUNT(shapes); i++)
        check_weight_grad(&t, shapes[i][0], shapes[i][1], shapes[i][2]);
    for (size_t i = 0; i < COUNT(heads); i++) {
        check_rope(&t, 7, 3, heads[i][1], heads[i][2]);
        check_attention(&t, heads[i][0], heads[i][1], heads[i][2]);
    }
    check_attention_large(&t);
    check_xent(&t, 1, 1, 1, 15, 1);
    check_xent(&t, 9, 64, 50, 15, 3);
    check_xent(&t, 6, 64, 64, 2, 30);
    check_xent(&t, 7, 640, 601, 15, 100);
    check_xent(&t, 3, 1088, 1025, 15, 0.01f);
    check_nan(&t);
    free(t.ws.bytes);
}

#endif
