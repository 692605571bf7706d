/* Element-wise and row-wise kernels in vector registers; part of kern_vec.inc.h.  The formulas
 * are in kern_ref.c. */

static void copy_vec(float *y, const float *x, size_t n)
{
    memmove(y, x, n * sizeof *y);
}

static void fill_vec(float *y, float a, size_t n)
{
    for (size_t i = 0; i < n; i += VW)
        v_store_some(y + i, v_set1(a), n - i);
}

static void add_vec(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += VW)
        v_store_some(y + i, v_add(v_load_some(y + i, n - i), v_load_some(x + i, n - i)), n - i);
}

static void axpy_vec(float *y, float a, const float *x, size_t n)
{
    vf va = v_set1(a);
    for (size_t i = 0; i < n; i += VW)
        v_store_some(y + i, v_fma(va, v_load_some(x + i, n - i), v_load_some(y + i, n - i)), n - i);
}

static void scale_vec(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += VW)
        v_store_some(y + i, v_mul(v_set1(a), v_load_some(x + i, n - i)), n - i);
}

/* Sum of products of up to a few hundred entries, in float. */
ISO_INLINE float short_dot(const float *x, const float *y, size_t n)
{
    vf sum = v_set1(0), other = v_set1(0);
    size_t i = 0;
    for (; i + 2 * VW <= n; i += 2 * VW) {
        sum = v_fma(v_load(x + i), v_load(y + i), sum);
        other = v_fma(v_load(x + i + VW), v_load(y + i + VW), other);
    }
    for (; i < n; i += VW)
        sum = v_fma(v_load_some(x + i, n - i), v_load_some(y + i, n - i), sum);
    return v_sum(v_add(sum, other));
}

/* Blocks are summed in float, the blocks' sums in double: long vectors lose no digits. */
static double dot_vec(const float *x, const float *y, size_t n)
{
    enum { BLOCK = 512 };
    double sum = 0;
    for (size_t i = 0; i < n; i += BLOCK)
        sum += (double)short_dot(x + i, y + i, n - i < BLOCK ? n - i : BLOCK);
    return sum;
}

static void mul_rows_vec(float *y, const float *g, const float *x, size_t M, size_t D)
{
    for (size_t m = 0; m < M; m++, y += D, x += D)
        for (size_t i = 0; i < D; i += VW) {
            vf product = v_fma(v_load_some(g + i, D - i), v_load_some(x + i, D - i),
                               v_load_some(y + i, D - i));
            v_store_some(y + i, product, D - i);
        }
}

/* A vector of columns at a time, so that its sum stays in registers over all rows. */
static void mul_rows_bwd_vec(float *dg, const float *x, const float *y, size_t M, size_t D)
{
    for (size_t i = 0; i < D; i += VW) {
        vf sum = v_set1(0);
        for (size_t m = 0; m < M; m++)
            sum = v_fma(v_load_some(x + m * D + i, D - i), v_load_some(y + m * D + i, D - i), sum);
        v_store_some(dg + i, v_add(v_load_some(dg + i, D - i), sum), D - i);
    }
}

static void rmsnorm_vec(float *y, float *rstd, const float *x, const float *g, size_t M, size_t D)
{
    for (size_t m = 0; m < M; m++, x += D, y += D) {
        float r = (float)(1 / sqrt(dot_vec(x, x, D) / (double)D + ISO_NORM_EPS));
        for (size_t i = 0; i < D; i += VW) {
            vf n = v_mul(v_load_some(x + i, D - i), v_set1(r));
            v_store_some(y + i, v_mul(n, v_load_some(g + i, D - i)), D - i);
        }
        rstd[m] = r;
    }
}

/* dg is added to row by row: it is short and stays in L1, and x and dy are read once for both. */
static void rmsnorm_bwd_vec(float *dx, float *dg, const float *dy, const float *x, const float *g,
                            const float *rstd, size_t M, size_t D)
{
    for (size_t m = 0; m < M; m++, dx += D, dy += D, x += D) {
        vf r = v_set1(rstd[m]), sum = v_set1(0);
        for (size_t i = 0; i < D; i += VW) {
            vf n_dy = v_mul(v_mul(v_load_some(x + i, D - i), r), v_load_some(dy + i, D - i));
            v_store_some(dg + i, v_add(v_load_some(dg + i, D - i), n_dy), D - i);
            sum = v_fma(n_dy, v_load_some(g + i, D - i), sum);
        }
        vf minus = v_set1(-rstd[m] * rstd[m] * v_sum(sum) / (float)D);
        for (size_t i = 0; i < D; i += VW) {
            vf d = v_mul(v_mul(v_load_some(g + i, D - i), v_load_some(dy + i, D - i)), r);
            d = v_fma(v_load_some(x + i, D - i), minus, d);
            v_store_some(dx + i, v_add(v_load_some(dx + i, D - i), d), D - i);
        }
    }
}

static void qk_rope_norm_vec(float *qkv, float *rstd, const float *cos, const float *sin, size_t M,
                             size_t T, size_t first_pos, size_t H, size_t Q)
{
    size_t half = Q / 2;
    for (size_t m = 0; m < M; m++, qkv += 3 * H * Q) {
        const float *c = cos + (first_pos + m % T) * half, *s = sin + (first_pos + m % T) * half;
        for (size_t h = 0; h < 2 * H; h++) {
            float *x1 = qkv + h * Q, *x2 = x1 + half;
            float r = 1 / sqrtf(short_dot(x1, x1, Q) / (float)Q + (float)ISO_NORM_EPS);
            for (size_t i = 0; i < half; i += VW) {
                vf a = v_load_some(x1 + i, half - i), b = v_load_some(x2 + i, half - i);
                vf rc = v_mul(v_load_some(c + i, half - i), v_set1(r));
                vf rs = v_mul(v_load_some(s + i, half - i), v_set1(r));
                v_store_some(x1 + i, v_fma(a, rc, v_mul(b, rs)), half - i);
                v_store_some(x2 + i, v_sub(v_mul(b, rc), v_mul(a, rs)), half - i);
            }
            *rstd++ = r;
        }
    }
}

static void qk_rope_norm_bwd_vec(float *dqkv, const float *qkv, const float *rstd, const float *cos,
                                 const float *sin, size_t M, size_t T, size_t first_pos, size_t H,
                                 size_t Q)
{
    size_t half = Q / 2;
    for (size_t m = 0; m < M; m++, qkv += 3 * H * Q, dqkv += 3 * H * Q) {
        const float *c = cos + (first_pos + m % T) * half, *s = sin + (first_pos + m % T) * half;
        for (size_t h = 0; h < 2 * H; h++) {
            const float *y1 = qkv + h * Q, *y2 = y1 + half;
            float *d1 = dqkv + h * Q, *d2 = d1 + half;
            vf minus = v_set1(-short_dot(y1, d1, Q) / (float)Q), r = v_set1(*rstd++);
            for (size_t i = 0; i < half; i += VW) {
                size_t n = half - i;
                vf a = v_fma(v_load_some(y1 + i, n), minus, v_load_some(d1 + i, n));
                vf b = v_fma(v_load_some(y2 + i, n), minus, v_load_some(d2 + i, n));
                vf rc = v_mul(v_load_some(c + i, n), r), rs = v_mul(v_load_some(s + i, n), r);
                v_store_some(d1 + i, v_sub(v_mul(a, rc), v_mul(b, rs)), n);
                v_store_some(d2 + i, v_fma(a, rs, v_mul(b, rc)), n);
            }
        }
    }
}

static void relu2_vec(float *y, float *x, size_t n)
{
    for (size_t i = 0; i < n; i += VW) {
        vf a = v_max(v_set1(0), v_load_some(x + i, n - i));
        v_store_some(x + i, a, n - i);
        v_store_some(y + i, v_mul(a, a), n - i);
    }
}

static void relu2_bwd_vec(float *dx, const float *dy, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i += VW) {
        vf twice = v_add(v_load_some(a + i, n - i), v_load_some(a + i, n - i));
        v_store_some(dx + i, v_mul(twice, v_load_some(dy + i, n - i)), n - i);
    }
}

static void gather_vec(float *x, const float *table, const int32_t *token, size_t M, size_t D)
{
    for (size_t m = 0; m < M; m++)
        copy_vec(x + m * D, table + (size_t)token[m] * D, D);
}

static void scatter_add_vec(float *dtable, const float *dx, const int32_t *token, size_t M,
                            size_t D)
{
    for (size_t m = 0; m < M; m++)
        add_vec(dtable + (size_t)token[m] * D, dx + m * D, D);
}

enum { XENT_BLOCK = 256 }; /* logits at a time */

/* One block of logits: u = tanh(z/cap) from E = e^(2z/cap) − 1 as E/(E + 2), with the slope
 * 1 − u² = 4(E + 1)/(E + 2)²; then the sum of e^(cap u).  When `keep`, z becomes e^(cap u) x
 * slope, which is the gradient up to a factor that only the sum over all blocks gives.
 *
 * Two loops, because one chain of both exponentials is too long for the CPU to overlap. */
static float sum_capped(float *z, size_t n, float cap, bool keep)
{
    float capped[XENT_BLOCK], slope[XENT_BLOCK], last[VW];
    for (size_t i = 0; i < n; i += VW) {
        vf E = v_expm1(v_mul(v_load_some(z + i, n - i), v_set1(2 / cap)));
        vf inverse = v_div(v_set1(1), v_add(E, v_set1(2)));
        v_store(capped + i, v_mul(v_mul(E, inverse), v_set1(cap)));
        v_store(slope + i, v_mul(v_mul(v_fma(E, v_set1(4), v_set1(4)), inverse), inverse));
    }
    vf sum = v_set1(0);
    float rest = 0;
    for (size_t i = 0; i < n; i += VW) {
        vf e = v_exp(v_load(capped + i));
        if (keep)
            v_store_some(z + i, v_mul(e, v_load(slope + i)), n - i);
        if (n - i >= VW) {
            sum = v_add(sum, e);
            continue;
        }
        v_store(last, e);
        for (size_t j = 0; j < n - i; j++)
            rest += last[j];
    }
    return v_sum(sum) + rest;
}

/* |cap tanh| ≤ cap, so the exponentials need no shift by the maximum: one pass gives the sum and
 * all of the gradient but a factor, a second cheap pass multiplies by scale/sum. */
static float xent_row_vec(float *z, size_t target, size_t V, size_t V_real, float cap, float scale)
{
    double at = iso_tanh((double)z[target] / cap), sum = 0;
    for (size_t i = 0; i < V_real; i += XENT_BLOCK) {
        size_t n = V_real - i < XENT_BLOCK ? V_real - i : XENT_BLOCK;
        sum += (double)sum_capped(z + i, n, cap, scale != 0);
    }
    if (scale != 0) {
        scale_vec(z, (float)(scale / sum), z, V_real);
        z[target] -= (float)(scale * (1 - at * at));
        fill_vec(z + V_real, 0, V - V_real);
    }
    return (float)(iso_log(sum) - cap * at);
}

static bool none_above(const float *z, float limit, size_t n)
{
    vf largest = v_set1(-INFINITY);
    size_t i = 0;
    for (; i + VW <= n; i += VW)
        largest = v_max(largest, v_load(z + i));
    float most = v_largest(largest);
    for (; i < n; i++)
        most = most > z[i] ? most : z[i];
    return !(most > limit);
}

static void softcap_xent_vec(float *loss, unsigned char *hit, float *z, const int32_t *target,
                             size_t M, size_t V, size_t V_real, float cap, float scale)
{
    for (size_t m = 0; m < M; m++, z += V) {
        bool counted = target[m] >= 0;
        if (hit)
            hit[m] = counted && none_above(z, z[target[m]], V_real);
        loss[m] = 0;
        if (counted)
            loss[m] = xent_row_vec(z, (size_t)target[m], V, V_real, cap, scale);
        else if (scale != 0)
            fill_vec(z, 0, V);
    }
}

static void adamw_vec(float *w, float *m, float *v, const float *g, size_t n, float rate,
                      float beta1, float beta2, float eps, float c1, float c2)
{
    for (size_t i = 0; i < n; i += VW) {
        size_t left = n - i;
        vf vg = v_load_some(g + i, left), vm = v_load_some(m + i, left);
        vf vv = v_load_some(v + i, left);
        vm = v_fma(v_set1(1 - beta1), v_sub(vg, vm), vm);
        vv = v_fma(v_set1(1 - beta2), v_sub(v_mul(vg, vg), vv), vv);
        vf step =
            v_div(v_mul(vm, v_set1(rate * c1)), v_add(v_sqrt(v_mul(vv, v_set1(c2))), v_set1(eps)));
        v_store_some(m + i, vm, left);
        v_store_some(v + i, vv, left);
        v_store_some(w + i, v_sub(v_load_some(w + i, left), step), left);
    }
}

static void nesterov_vec(float *out, float *m, const float *g, size_t n, float mu)
{
    for (size_t i = 0; i < n; i += VW) {
        vf vg = v_load_some(g + i, n - i), vm = v_load_some(m + i, n - i);
        vm = v_fma(v_set1(1 - mu), v_sub(vg, vm), vm);
        v_store_some(m + i, vm, n - i);
        v_store_some(out + i, v_fma(v_set1(mu), v_sub(vm, vg), vg), n - i);
    }
}
