/* Every backward kernel against finite differences of its forward.
 *
 * Each case is a scalar f(x) = Σ w_i y_i(x) with fixed random weights w, computed by the forward
 * kernel and summed in double.  Its gradient comes from the backward kernel with dy = w and is
 * compared, entry by entry, with the five-point difference
 *     (8 (f(x+h) − f(x−h)) − (f(x+2h) − f(x−2h))) / 12h,
 * whose error is h⁴ f⁽⁵⁾/30 plus about 2e-7 |f|/h from the float results of the forward; with
 * h = 0.02 both are near 1e-5 of the gradient's size. */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, WIDTH = 12, HEADS = 2, HEAD = 6, VOCAB = 11, VOCAB_REAL = 9, MOST = 512 };
#define STEP      0.02
#define TOLERANCE 2e-4

struct grad_case {
    const char *name;
    size_t n; /* entries of x */
    /* y = forward(x); returns the number of outputs. */
    size_t (*forward)(const struct iso_kern *k, float *y, const float *x);
    /* dx of Σ dy y; dx holds ones on entry when `adds`, to see that the kernel adds. */
    void (*backward)(const struct iso_kern *k, float *dx, const float *dy, const float *x);
    bool adds;
};

static unsigned char scratch[1 << 20] __attribute__((aligned(64)));
static struct iso_ws ws = {.bytes = scratch};
static const int32_t token[ROWS] = {3, 0, 3, 1, 2};
static const int32_t target[ROWS] = {3, 8, -1, 0, 3};

static float normal(uint64_t stream, size_t i)
{
    struct iso_rng rng = {11, stream, (uint64_t)i * 8};
    return (float)iso_rng_normal(&rng);
}

/* x = (g [WIDTH], x [ROWS, WIDTH]). */
static size_t mul_rows(const struct iso_kern *k, float *y, const float *x)
{
    memset(y, 0, ROWS * WIDTH * sizeof *y);
    k->mul_rows(y, x, x + WIDTH, ROWS, WIDTH);
    return ROWS * WIDTH;
}

static void mul_rows_bwd(const struct iso_kern *k, float *dx, const float *dy, const float *x)
{
    k->mul_rows_bwd(dx, x + WIDTH, dy, ROWS, WIDTH);
    k->mul_rows(dx + WIDTH, x, dy, ROWS, WIDTH);
}

/* x = (A [ROWS, WIDTH], B [HEAD, WIDTH] as a weight, so that y = A Bᵀ is [ROWS, HEAD]). */
static size_t gemm(const struct iso_kern *k, float *y, const float *x)
{
    struct iso_packed b = {iso_alloc_aligned(k->pack_bytes(WIDTH, HEAD), 1), WIDTH, HEAD};
    k->pack(&b, x + ROWS * WIDTH, WIDTH, true);
    k->gemm(y, HEAD, x, WIDTH, false, &b, ROWS, NULL, &ws);
    free(b.bytes);
    return ROWS * HEAD;
}

static void gemm_bwd(const struct iso_kern *k, float *dx, const float *dy, const float *x)
{
    struct iso_packed b = {iso_alloc_aligned(k->pack_bytes(HEAD, WIDTH), 1), HEAD, WIDTH};
    k->pack(&b, x + ROWS * WIDTH, WIDTH, false);
    k->gemm(dx, WIDTH, dy, HEAD, false, &b, ROWS, dx, &ws);
    struct iso_packed a = {iso_alloc_aligned(k->pack_bytes(ROWS, WIDTH), 1), ROWS, WIDTH};
    k->pack(&a, x, WIDTH, false);
    k->gemm(dx + ROWS * WIDTH, WIDTH, dy, HEAD, true, &a, HEAD, dx + ROWS * WIDTH, &ws);
    free(a.bytes);
    free(b.bytes);
}

/* x = (g [WIDTH], x [ROWS, WIDTH]). */
static size_t rmsnorm(const struct iso_kern *k, float *y, const float *x)
{
    float rstd[ROWS];
    k->rmsnorm(y, rstd, x + WIDTH, x, ROWS, WIDTH);
    return ROWS * WIDTH;
}

static void rmsnorm_bwd(const struct iso_kern *k, float *dx, const float *dy, const float *x)
{
    float rstd[ROWS], y[ROWS * WIDTH];
    k->rmsnorm(y, rstd, x + WIDTH, x, ROWS, WIDTH);
    k->rmsnorm_bwd(dx + WIDTH, dx, dy, x + WIDTH, x, rstd, ROWS, WIDTH);
}

enum { POSITIONS = ROWS + 2, QKV = ROWS * 3 * HEADS * HEAD };

static void tables(float *cosine, float *sine)
{
    for (int t = 0; t < POSITIONS; t++)
        for (int i = 0; i < HEAD / 2; i++) {
            double angle = t * pow(10000, -2.0 * i / HEAD);
            cosine[t * HEAD / 2 + i] = (float)cos(angle);
            sine[t * HEAD / 2 + i] = (float)sin(angle);
        }
}

static size_t rope_with(const struct iso_kern *k, float *y, float *rstd, const float *x)
{
    float c[POSITIONS * HEAD / 2], s[POSITIONS * HEAD / 2];
    tables(c, s);
    memcpy(y, x, QKV * sizeof *y);
    k->qk_rope_norm(y, rstd, c, s, ROWS, 3, 2, HEADS, HEAD);
    return QKV;
}

static size_t rope(const struct iso_kern *k, float *y, const float *x)
{
    float rstd[ROWS * 2 * HEADS];
    return rope_with(k, y, rstd, x);
}

static void rope_bwd(const struct iso_kern *k, float *dx, const float *dy, const float *x)
{
    float rstd[ROWS * 2 * HEADS], y[QKV];
    float c[POSITIONS * HEAD / 2], s[POSITIONS * HEAD / 2];
    tables(c, s);
    rope_with(k, y, rstd, x);
    memcpy(dx, dy, QKV * sizeof *dx);
    k->qk_rope_norm_bwd(dx, y, rstd, c, s, ROWS, 3, 2, HEADS, HEAD);
}

static size_t attention(const struct iso_kern *k, float *y, const float *x)
{
    float lse[HEADS * ROWS];
    k->attention(y, lse, iso_attend_all(x, ROWS, HEADS * HEAD), iso_all_heads(HEADS, HEAD), &ws);
    return ROWS * HEADS * HEAD;
}

static void attention_bwd(const struct iso_kern *k, float *dx, const float *dy, const float *x)
{
    float lse[HEADS * ROWS], y[ROWS * HEADS * HEAD];
    k->attention(y, lse, iso_attend_all(x, ROWS, HEADS * HEAD), iso_all_heads(HEADS, HEAD), &ws);
    k->attention_bwd(dx, dy, y, lse, x, ROWS, iso_all_heads(HEADS, HEAD), &ws);
}

static size_t relu2(const struct iso_kern *k, float *y, const float *x)
{
    k->relu2(y, x, ROWS * WIDTH);
    return ROWS * WIDTH;
}

static void relu2_bwd(const struct iso_kern *k, float *dx, const float *dy, const float *x)
{
    k->relu2_bwd(dx, dy, x, ROWS * WIDTH);
}

static size_t gather(const struct iso_kern *k, float *y, const float *x)
{
    k->gather(y, x, token, ROWS, WIDTH);
    return ROWS * WIDTH;
}

static void gather_bwd(const struct iso_kern *k, float *dx, const float *dy, const float *x)
{
    (void)x;
    k->scatter_add(dx, dy, token, ROWS, WIDTH);
}

/* Logits three times as wide as the others, so that the cap of 2 bends them. */
static size_t xent(const struct iso_kern *k, float *y, const float *x)
{
    float z[ROWS * VOCAB];
    memcpy(z, x, sizeof z);
    k->softcap_xent(y, NULL, z, target, ROWS, VOCAB, VOCAB_REAL, 2, 0);
    return ROWS;
}

/* The kernel gives the gradient of the plain sum; the weights of the rows come on top. */
static void xent_bwd(const struct iso_kern *k, float *dx, const float *dy, const float *x)
{
    float loss[ROWS];
    memcpy(dx, x, ROWS * VOCAB * sizeof *dx);
    k->softcap_xent(loss, NULL, dx, target, ROWS, VOCAB, VOCAB_REAL, 2, 0.5f);
    for (size_t i = 0; i < ROWS * VOCAB; i++)
        dx[i] *= 2 * dy[i / VOCAB];
}

static const struct grad_case cases[] = {
    {"mul_rows", WIDTH + ROWS *WIDTH, mul_rows, mul_rows_bwd, true},
    {"gemm", ROWS *WIDTH + HEAD *WIDTH, gemm, gemm_bwd, true},
    {"rmsnorm", WIDTH + ROWS *WIDTH, rmsnorm, rmsnorm_bwd, true},
    {"qk_rope_norm", QKV, rope, rope_bwd, false},
    {"attention", QKV, attention, attention_bwd, false},
    {"relu2", ROWS *WIDTH, relu2, relu2_bwd, false},
    {"gather", 4 * WIDTH, gather, gather_bwd, true},
    {"softcap_xent", ROWS *VOCAB, xent, xent_bwd, false},
};

static double value(const struct iso_kern *k, const struct grad_case *c, const float *x,
                    const float *w)
{
    float y[MOST];
    size_t n = c->forward(k, y, x);
    double f = 0;
    for (size_t i = 0; i < n; i++)
        f += (double)w[i] * y[i];
    return f;
}

static double difference(const struct iso_kern *k, const struct grad_case *c, float *x, size_t i,
                         const float *w)
{
    double f[5];
    float at = x[i];
    for (int j = -2; j <= 2; j++) {
        x[i] = at + (float)(j * STEP);
        f[j + 2] = value(k, c, x, w);
    }
    x[i] = at;
    return (8 * (f[3] - f[1]) - (f[4] - f[0])) / (12 * STEP);
}

static void check(const struct iso_kern *k, const struct grad_case *c)
{
    float x[MOST], w[MOST], dx[MOST];
    assert_true(c->n <= MOST);
    for (size_t i = 0; i < MOST; i++) {
        x[i] = normal(1, i);
        /* relu² has a jump in its second derivative: stay away from it. */
        if (fabsf(x[i]) < 3 * (float)STEP)
            x[i] += 0.2f;
        w[i] = normal(2, i);
        dx[i] = c->adds ? 1 : NAN;
    }
    c->backward(k, dx, w, x);
    double worst = 0, size = 0;
    for (size_t i = 0; i < c->n; i++) {
        double got = dx[i] - (c->adds ? 1 : 0), wanted = difference(k, c, x, i, w);
        size = fmax(size, fabs(wanted));
        /* The negated comparison also catches NaN. */
        if (!(fabs(got - wanted) <= worst))
            worst = fabs(got - wanted);
    }
    if (!(worst <= TOLERANCE * size))
        fail_msg("%s of %s: gradient off by %g of %g", c->name, k->name, worst, size);
    assert_true(size > 0.1);
}

static void test_gradients(void **state)
{
    (void)state;
    for (const struct iso_kern_set *s = iso_kern_sets; s->name; s++) {
        const struct iso_kern *k = iso_kern_get(s->name);
        for (size_t i = 0; k && !k->bf16 && i < sizeof cases / sizeof *cases; i++)
            check(k, &cases[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
