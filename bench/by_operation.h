/* A kernel table that adds up the time of its operations, for bench_train: products by their
 * shape, all else by name.  For one thread. */
#ifndef ISO_BENCH_BY_OPERATION_H
#define ISO_BENCH_BY_OPERATION_H

#include "base/file.h"
#include "kern/kern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct operation {
    char name[48];
    double seconds;
    uint64_t macs;
};

static struct {
    const struct iso_kern *of; /* the table that does the work */
    struct iso_kern table;
    struct operation op[128];
    size_t n;
} by_operation;

static void charge(const char *name, double start, uint64_t macs)
{
    double seconds = iso_time_now() - start;
    size_t i = 0;
    while (i < by_operation.n && strcmp(by_operation.op[i].name, name) != 0)
        i++;
    if (i == sizeof by_operation.op / sizeof *by_operation.op)
        abort();
    struct operation *op = &by_operation.op[i];
    if (i == by_operation.n) {
        *op = (struct operation){0};
        snprintf(op->name, sizeof op->name, "%s", name);
        by_operation.n++;
    }
    op->seconds += seconds;
    op->macs += macs;
}

static void charge_product(const char *name, double start, size_t M, size_t K, size_t N)
{
    char shape[48];
    snprintf(shape, sizeof shape, "%s %zu %zu %zu", name, M, K, N);
    charge(shape, start, (uint64_t)M * K * N);
}

static void timed_gemm(float *c, size_t ldc, const float *a, size_t lda, bool transposed_a,
                       const struct iso_packed *b, size_t M, const float *plus, struct iso_ws *ws)
{
    double start = iso_time_now();
    by_operation.of->gemm(c, ldc, a, lda, transposed_a, b, M, plus, ws);
    charge_product("gemm", start, M, b->K, b->N);
}

static void timed_weight_grad(float *c, const float *a, const float *b, void *room, size_t K,
                              size_t M, size_t N, struct iso_ws *ws)
{
    double start = iso_time_now();
    by_operation.of->weight_grad(c, a, b, room, K, M, N, ws);
    charge_product("weight_grad", start, M, K, N);
}

/* An operation that is a row of its name; `macs` is an expression over its parameters. */
#define TIMED(name, parameters, arguments, macs)                                                   \
    static void timed_##name parameters                                                            \
    {                                                                                              \
        double start = iso_time_now();                                                             \
        by_operation.of->name arguments;                                                           \
        charge(#name, start, macs);                                                                \
    }
#define PAIRS(T) ((T) * ((T) + 1) / 2) /* that causality leaves */
TIMED(attention,
      (float *out, float *lse, struct iso_attended x, struct iso_heads h, struct iso_ws *ws),
      (out, lse, x, h, ws), 2 * h.H * h.Q * PAIRS(x.T))
TIMED(attention_bwd,
      (float *dqkv, const float *dout, const float *out, const float *lse, const float *qkv,
       size_t T, struct iso_heads h, struct iso_ws *ws),
      (dqkv, dout, out, lse, qkv, T, h, ws), 4 * h.H * h.Q * PAIRS(T))
TIMED(copy, (float *y, const float *x, size_t n), (y, x, n), 0)
TIMED(fill, (float *y, float a, size_t n), (y, a, n), 0)
TIMED(add, (float *y, const float *x, size_t n), (y, x, n), 0)
TIMED(rmsnorm, (float *y, float *rstd, const float *x, const float *g, size_t M, size_t D),
      (y, rstd, x, g, M, D), 0)
TIMED(rmsnorm_bwd,
      (float *dx, float *dg, const float *dy, const float *x, const float *g, const float *rstd,
       size_t M, size_t D),
      (dx, dg, dy, x, g, rstd, M, D), 0)
TIMED(qk_rope_norm,
      (float *qkv, float *rstd, const float *cos, const float *sin, size_t M, size_t T,
       size_t first_pos, size_t H, size_t Q),
      (qkv, rstd, cos, sin, M, T, first_pos, H, Q), 0)
TIMED(qk_rope_norm_bwd,
      (float *dqkv, const float *qkv, const float *rstd, const float *cos, const float *sin,
       size_t M, size_t T, size_t first_pos, size_t H, size_t Q),
      (dqkv, qkv, rstd, cos, sin, M, T, first_pos, H, Q), 0)
TIMED(relu2, (float *y, const float *x, size_t n), (y, x, n), 0)
TIMED(relu2_bwd, (float *dx, const float *dy, const float *x, size_t n), (dx, dy, x, n), 0)
TIMED(softcap_xent,
      (float *loss, unsigned char *hit, float *z, const int32_t *target, size_t M, size_t V,
       size_t V_real, float cap, float scale),
      (loss, hit, z, target, M, V, V_real, cap, scale), 0)
#undef TIMED
#undef PAIRS

/* `kern` with its operations timed. */
static const struct iso_kern *time_operations(const struct iso_kern *kern)
{
    by_operation.of = kern;
    by_operation.table = *kern;
#define TIMED(name) by_operation.table.name = timed_##name
    TIMED(gemm);
    TIMED(weight_grad);
    TIMED(attention);
    TIMED(attention_bwd);
    TIMED(copy);
    TIMED(fill);
    TIMED(add);
    TIMED(rmsnorm);
    TIMED(rmsnorm_bwd);
    TIMED(qk_rope_norm);
    TIMED(qk_rope_norm_bwd);
    TIMED(relu2);
    TIMED(relu2_bwd);
    TIMED(softcap_xent);
#undef TIMED
    return &by_operation.table;
}

static void forget_operations(void)
{
    by_operation.n = 0;
}

static int longest_first(const void *a, const void *b)
{
    double x = ((const struct operation *)a)->seconds, y = ((const struct operation *)b)->seconds;
    return (x < y) - (x > y);
}

/* Operations that take a share of `seconds` worth mentioning; `peak` is in GFLOP/s.  A product
 * loses what it takes longer than it would at the peak. */
static void print_operations(double seconds, double peak)
{
    double rest = seconds;
    qsort(by_operation.op, by_operation.n, sizeof *by_operation.op, longest_first);
    for (size_t i = 0; i < by_operation.n; i++) {
        const struct operation *op = &by_operation.op[i];
        double share = 100 * op->seconds / seconds;
        if (share < 0.2)
            break;
        rest -= op->seconds;
        double rate = 2e-9 * (double)op->macs / op->seconds;
        printf("  %-24s %5.1f %%  loses %4.1f", op->name, share, share * (1 - rate / peak));
        if (op->macs > 0)
            printf("  at %3.0f GFLOP/s, %3.0f %% of gemm", rate, 100 * rate / peak);
        printf("\n");
    }
    printf("  %-24s %5.1f %%\n", "all else", 100 * rest / seconds);
}

#endif
