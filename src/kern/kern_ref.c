/* The reference kernels: plain C, one formula after the other.
 *
 * They are the oracle of every faster table and the table of machines that have none.  Sums are
 * kept in double and rounded once, so a difference between this table and another one is the
 * other one's rounding.  The formulas are at each kernel, the shapes in kern.h.
 *
 * The packed right-hand side is simply B in row-major order. */
#include "kern/tables.h"

#include "base/fmath.h"

#include <math.h>
#include <string.h>

static void copy_ref(float *y, const float *x, size_t n)
{
    memmove(y, x, n * sizeof *y);
}

static void fill_ref(float *y, float a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a;
}

static void add_ref(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void axpy_ref(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

static void scale_ref(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i];
}

static double dot_ref(const float *x, const float *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * y[i];
    return sum;
}

static void mul_rows_ref(float *y, const float *g, const float *x, size_t M, size_t D)
{
    for (size_t m = 0; m < M; m++)
        for (size_t i = 0; i < D; i++)
            y[m * D + i] += g[i] * x[m * D + i];
}

static void mul_rows_bwd_ref(float *dg, const float *x, const float *y, size_t M, size_t D)
{
    for (size_t i = 0; i < D; i++) {
        double sum = 0;
        for (size_t m = 0; m < M; m++)
            sum += (double)x[m * D + i] * y[m * D + i];
        dg[i] += (float)sum;
    }
}

static size_t pack_bytes_ref(size_t K, size_t N)
{
    return K * N * sizeof(float);
}

static void pack_ref(struct iso_packed *b, const float *src, size_t ld, bool transposed)
{
    float *to = b->bytes;
    for (size_t k = 0; k < b->K; k++)
        for (size_t n = 0; n < b->N; n++)
            to[k * b->N + n] = transposed ? src[n * ld + k] : src[k * ld + n];
}

static void gemm_ref(float *c, size_t ldc, const float *a, size_t lda, bool transposed_a,
                     const struct iso_packed *b, size_t M, const float *plus, struct iso_ws *ws)
{
    enum { COLUMNS = 16 }; /* at a time, so that the rows of B are read along */
    const float *B = b->bytes;
    for (size_t m = 0; m < M; m++)
        for (size_t n0 = 0; n0 < b->N; n0 += COLUMNS) {
            size_t columns = b->N - n0 < COLUMNS ? b->N - n0 : COLUMNS;
            double sum[COLUMNS] = {0};
            for (size_t k = 0; k < b->K; k++) {
                double x = transposed_a ? a[k * lda + m] : a[m * lda + k];
                for (size_t j = 0; j < columns; j++)
                    sum[j] += x * B[k * b->N + n0 + j];
            }
            for (size_t j = 0; j < columns; j++) {
                size_t at = m * ldc + n0 + j;
                c[at] = (float)(plus ? plus[at] + sum[j] : sum[j]);
            }
        }
    ws->macs += (uint64_t)M * b->K * b->N;
}

static void weight_grad_ref(float *c, const float *a, const float *b, void *room, size_t K,
                            size_t M, size_t N, struct iso_ws *ws)
{
    struct iso_packed packed = {room, K, N};
    pack_ref(&packed, b, N, false);
    gemm_ref(c, N, a, M, true, &packed, M, c, ws);
}

/* rstd = 1/sqrt(mean(x²) + eps),  y = x rstd g. */
static void rmsnorm_ref(float *y, float *rstd, const float *x, const float *g, size_t M, size_t D)
{
    for (size_t m = 0; m < M; m++) {
        const float *row = x + m * D;
        double r = 1 / sqrt(dot_ref(row, row, D) / (double)D + ISO_NORM_EPS);
        for (size_t i = 0; i < D; i++)
            y[m * D + i] = (float)(row[i] * r * g[i]);
        rstd[m] = (float)r;
    }
}

/* With n = x rstd:  dx += rstd (g dy − n mean(n g dy)),  dg += Σ_m n dy. */
static void rmsnorm_bwd_ref(float *dx, float *dg, const float *dy, const float *x, const float *g,
                            const float *rstd, size_t M, size_t D)
{
    for (size_t m = 0; m < M; m++) {
        double r = rstd[m], mean = 0;
        for (size_t i = m * D; i < (m + 1) * D; i++)
            mean += x[i] * r * g[i - m * D] * dy[i];
        mean /= (double)D;
        for (size_t i = m * D; i < (m + 1) * D; i++)
            dx[i] += (float)(r * ((double)g[i - m * D] * dy[i] - x[i] * r * mean));
    }
    for (size_t i = 0; i < D; i++) {
        double sum = 0;
        for (size_t m = 0; m < M; m++)
            sum += (double)x[m * D + i] * rstd[m] * dy[m * D + i];
        dg[i] += (float)sum;
    }
}

/* A head (x1, x2) of two halves becomes (x1 cos + x2 sin, −x1 sin + x2 cos), then y = x rstd.
 * The 2H heads of q and k lie side by side, so one loop serves both. */
static void qk_rope_norm_ref(float *qkv, float *rstd, const float *cos, const float *sin, size_t M,
                             size_t T, size_t first_pos, size_t H, size_t Q)
{
    size_t half = Q / 2;
    for (size_t m = 0; m < M; m++) {
        const float *c = cos + (first_pos + m % T) * half, *s = sin + (first_pos + m % T) * half;
        for (size_t h = 0; h < 2 * H; h++) {
            float *x1 = qkv + m * 3 * H * Q + h * Q, *x2 = x1 + half;
            /* A rotation keeps the length, so the norm is known before it. */
            double r = 1 / sqrt(dot_ref(x1, x1, Q) / (double)Q + ISO_NORM_EPS);
            for (size_t i = 0; i < half; i++) {
                double a = x1[i], b = x2[i];
                x1[i] = (float)((a * c[i] + b * s[i]) * r);
                x2[i] = (float)((b * c[i] - a * s[i]) * r);
            }
            rstd[m * 2 * H + h] = (float)r;
        }
    }
}

/* With y the forward's output: d(rotated) = rstd (dy − y mean(y dy)), then the inverse rotation. */
static void qk_rope_norm_bwd_ref(float *dqkv, const float *qkv, const float *rstd, const float *cos,
                                 const float *sin, size_t M, size_t T, size_t first_pos, size_t H,
                                 size_t Q)
{
    size_t half = Q / 2;
    for (size_t m = 0; m < M; m++) {
        const float *c = cos + (first_pos + m % T) * half, *s = sin + (first_pos + m % T) * half;
        for (size_t h = 0; h < 2 * H; h++) {
            const float *y1 = qkv + m * 3 * H * Q + h * Q, *y2 = y1 + half;
            float *d1 = dqkv + m * 3 * H * Q + h * Q, *d2 = d1 + half;
            double mean = dot_ref(y1, d1, Q) / (double)Q, r = rstd[m * 2 * H + h];
            for (size_t i = 0; i < half; i++) {
                double a = r * (d1[i] - y1[i] * mean), b = r * (d2[i] - y2[i] * mean);
                d1[i] = (float)(a * c[i] - b * s[i]);
                d2[i] = (float)(a * s[i] + b * c[i]);
            }
        }
    }
}

/* out = softmax(q·Kᵀ/√Q) V over n keys and values whose rows lie `stride` apart; returns the
 * log-sum-exp.  `y` has room for Q doubles. */
static double attend_row(float *out, double *y, const float *q, const float *keys,
                         const float *values, size_t n, size_t stride, size_t Q)
{
    double max = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++)
        max = fmax(max, dot_ref(q, keys + j * stride, Q) / sqrt((double)Q));
    for (size_t i = 0; i < Q; i++)
        y[i] = 0;
    for (size_t j = 0; j < n; j++) {
        double p = iso_exp(dot_ref(q, keys + j * stride, Q) / sqrt((double)Q) - max);
        sum += p;
        for (size_t i = 0; i < Q; i++)
            y[i] += p * values[j * stride + i];
    }
    for (size_t i = 0; i < Q; i++)
        out[i] = (float)(y[i] / sum);
    return max + iso_log(sum);
}

static void attention_ref(float *out, float *lse, struct iso_attended x, struct iso_heads heads,
                          struct iso_ws *ws)
{
    size_t H = heads.H, Q = heads.Q, D = heads.D;
    for (size_t h = 0; h < H; h++)
        for (size_t t = 0; t < x.T; t++)
            lse[h * x.T + t] = (float)attend_row(out + t * D + h * Q, (double *)(void *)ws->bytes,
                                                 x.q + t * x.ldq + h * Q, x.kv + h * Q,
                                                 x.kv + D + h * Q, x.first + t + 1, x.ldkv, Q);
    ws->macs += iso_attention_macs(x.first, x.T, H * Q);
}

/* With p = iso_exp(s − lse):  dv_j += p dout,  ds = p (dout·v_j − dout·out),  dq += ds k_j/√Q,
 * dk_j += ds q/√Q. */
static void attention_bwd_ref(float *dqkv, const float *dout, const float *out, const float *lse,
                              const float *qkv, size_t T, struct iso_heads heads, struct iso_ws *ws)
{
    size_t H = heads.H, Q = heads.Q, D = heads.D;
    double root = sqrt((double)Q);
    for (size_t third = 0; third < 3 * T; third++)
        fill_ref(dqkv + third * D, 0, H * Q);
    for (size_t h = 0; h < H; h++)
        for (size_t t = 0; t < T; t++) {
            const float *q = qkv + t * 3 * D + h * Q, *dy = dout + t * D + h * Q;
            double drop = dot_ref(dy, out + t * D + h * Q, Q);
            float *dq = dqkv + t * 3 * D + h * Q;
            for (size_t j = 0; j <= t; j++) {
                const float *k = qkv + j * 3 * D + D + h * Q, *v = k + D;
                float *dk = dqkv + j * 3 * D + D + h * Q, *dv = dk + D;
                double p = iso_exp(dot_ref(q, k, Q) / root - lse[h * T + t]);
                double ds = p * (dot_ref(dy, v, Q) - drop) / root;
                for (size_t i = 0; i < Q; i++) {
                    dv[i] += (float)(p * dy[i]);
                    dq[i] += (float)(ds * k[i]);
                    dk[i] += (float)(ds * q[i]);
                }
            }
        }
    ws->macs += 2 * iso_attention_macs(0, T, H * Q);
}

static float relu(float x)
{
    return x < 0 ? 0 : x; /* NaN stays NaN */
}

static void relu2_ref(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = relu(x[i]) * relu(x[i]);
}

static void relu2_bwd_ref(float *dx, const float *dy, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = 2 * relu(x[i]) * dy[i];
}

static void gather_ref(float *x, const float *table, const int32_t *token, size_t M, size_t D)
{
    for (size_t m = 0; m < M; m++)
        copy_ref(x + m * D, table + (size_t)token[m] * D, D);
}

static void scatter_add_ref(float *dtable, const float *dx, const int32_t *token, size_t M,
                            size_t D)
{
    for (size_t m = 0; m < M; m++)
        add_ref(dtable + (size_t)token[m] * D, dx + m * D, D);
}

/* One row: y = cap iso_tanh(z/cap), loss = log Σ iso_exp(y) − y[target],
 * dz = scale (softmax(y) − onehot(target)) (1 − (y/cap)²). */
static float xent_row(float *z, size_t target, size_t V, size_t V_real, float cap, float scale)
{
    double sum = 0;
    /* |y| ≤ cap, so exp needs no shift by the maximum. */
    for (size_t j = 0; j < V_real; j++)
        sum += iso_exp(cap * iso_tanh((double)z[j] / cap));
    double loss = iso_log(sum) - cap * iso_tanh((double)z[target] / cap);
    if (scale != 0) {
        for (size_t j = 0; j < V_real; j++) {
            double u = iso_tanh((double)z[j] / cap);
            z[j] = (float)(scale * (iso_exp(cap * u) / sum - (j == target)) * (1 - u * u));
        }
        fill_ref(z + V_real, 0, V - V_real);
    }
    return (float)loss;
}

static void softcap_xent_ref(float *loss, unsigned char *hit, float *z, const int32_t *target,
                             size_t M, size_t V, size_t V_real, float cap, float scale)
{
    for (size_t m = 0; m < M; m++) {
        float *row = z + m * V;
        bool best = target[m] >= 0;
        for (size_t j = 0; best && j < V_real; j++)
            best = row[j] <= row[target[m]]; /* false for NaN */
        if (hit)
            hit[m] = best;
        loss[m] = 0;
        if (target[m] >= 0)
            loss[m] = xent_row(row, (size_t)target[m], V, V_real, cap, scale);
        else if (scale != 0)
            fill_ref(row, 0, V);
    }
}

static void adamw_ref(float *w, float *m, float *v, const float *g, size_t n, float rate,
                      float beta1, float beta2, float eps, float c1, float c2)
{
    for (size_t i = 0; i < n; i++) {
        m[i] += (1 - beta1) * (g[i] - m[i]);
        v[i] += (1 - beta2) * (g[i] * g[i] - v[i]);
        w[i] -= rate * (m[i] * c1) / (sqrtf(v[i] * c2) + eps);
    }
}

static void nesterov_ref(float *out, float *m, const float *g, size_t n, float mu)
{
    for (size_t i = 0; i < n; i++) {
        m[i] += (1 - mu) * (g[i] - m[i]);
        out[i] = g[i] + mu * (m[i] - g[i]);
    }
}

const struct iso_kern iso_kern_ref = {
    .name = "ref",
    .copy = copy_ref,
    .fill = fill_ref,
    .add = add_ref,
    .axpy = axpy_ref,
    .scale = scale_ref,
    .dot = dot_ref,
    .mul_rows = mul_rows_ref,
    .mul_rows_bwd = mul_rows_bwd_ref,
    .pack_bytes = pack_bytes_ref,
    .pack = pack_ref,
    .gemm = gemm_ref,
    .weight_grad = weight_grad_ref,
    .rmsnorm = rmsnorm_ref,
    .rmsnorm_bwd = rmsnorm_bwd_ref,
    .qk_rope_norm = qk_rope_norm_ref,
    .qk_rope_norm_bwd = qk_rope_norm_bwd_ref,
    .attention = attention_ref,
    .attention_bwd = attention_bwd_ref,
    .relu2 = relu2_ref,
    .relu2_bwd = relu2_bwd_ref,
    .gather = gather_ref,
    .scatter_add = scatter_add_ref,
    .softcap_xent = softcap_xent_ref,
    .adamw = adamw_ref,
    .nesterov = nesterov_ref,
};
