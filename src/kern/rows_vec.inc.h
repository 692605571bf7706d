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

/* Products of x and y, summed lane by lane. */
ISO_INLINE vf lane_dot(const float *x, const float *y, size_t n)
{
    vf sum = v_set1(0), other = v_set1(0);
    size_t i = 0;
    for (; i + 2 * VW <= n; i += 2 * VW) {
        sum = v_fma(v_load(x + i), v_load(y + i), sum);
        other = v_fma(v_load(x + i + VW), v_load(y + i + VW), other);
    }
    for (; i < n; i += VW)
        sum = v_fma(v_load_some(x + i, n - i), v_load_some(y + i, n - i), sum);
    return v_add(sum, other);
}

/* Sum of products of up to a few hundred entries, in float. */
ISO_INLINE float short_dot(const float *x, const float *y, size_t n)
{
    return v_sum(lane_dot(x, y, n));
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

/* Norms take VW rows (or heads) at a time: their sums are then added across lanes together, and
 * the roots and quotients are those of one vector. */
static size_t group_of(size_t left)
{
    return left < VW ? left : VW;
}

/* 1/sqrt(sum/n + eps) */
ISO_INLINE vf rstd_of(vf sum, size_t n)
{
    vf mean = v_mul(sum, v_set1(1 / (float)n));
    return v_div(v_set1(1), v_sqrt(v_add(mean, v_set1((float)ISO_NORM_EPS))));
}

static void rmsnorm_vec(float *y, float *rstd, const float *x, const float *g, size_t M, size_t D)
{
    vf sums[VW] = {v_set1(0)};
    for (size_t m0 = 0, n; m0 < M; m0 += n, x += n * D, y += n * D) {
        n = group_of(M - m0);
        for (size_t m = 0; m < n; m++)
            sums[m] = lane_dot(x + m * D, x + m * D, D);
        v_store_some(rstd + m0, rstd_of(v_sums(sums), D), n);
        for (size_t m = 0; m < n; m++)
            for (size_t i = 0; i < D; i += VW) {
                vf scaled = v_mul(v_load_some(x + m * D + i, D - i), v_set1(rstd[m0 + m]));
                v_store_some(y + m * D + i, v_mul(scaled, v_load_some(g + i, D - i)), D - i);
            }
    }
}

/* Sum over i of x g dy, lane by lane. */
ISO_INLINE vf lane_dot3(const float *x, const float *g, const float *dy, size_t n)
{
    vf sum = v_set1(0);
    for (size_t i = 0; i < n; i += VW)
        sum = v_fma(v_mul(v_load_some(x + i, n - i), v_load_some(g + i, n - i)),
                    v_load_some(dy + i, n - i), sum);
    return sum;
}

static void rmsnorm_bwd_vec(float *dx, float *dg, const float *dy, const float *x, const float *g,
                            const float *rstd, size_t M, size_t D)
{
    float minus[VW]; /* dx = r g dy + minus x */
    vf sums[VW] = {v_set1(0)};
    for (size_t n; M > 0; M -= n, dx += n * D, dy += n * D, x += n * D, rstd += n) {
        n = group_of(M);
        for (size_t m = 0; m < n; m++)
            sums[m] = lane_dot3(x + m * D, g, dy + m * D, D);
        vf r = v_load_some(rstd, n), cube = v_mul(v_mul(r, r), r);
        v_store(minus, v_mul(v_mul(v_sums(sums), cube), v_set1(-1 / (float)D)));
        for (size_t i = 0; i < D; i += VW) {
            vf scale = v_load_some(g + i, D - i), sum = v_load_some(dg + i, D - i);
            for (size_t m = 0; m < n; m++) {
                size_t at = m * D + i;
                vf value = v_load_some(x + at, D - i), d = v_load_some(dx + at, D - i);
                vf r_dy = v_mul(v_load_some(dy + at, D - i), v_set1(rstd[m]));
                sum = v_fma(value, r_dy, sum);
                d = v_fma(value, v_set1(minus[m]), v_fma(scale, r_dy, d));
                v_store_some(dx + at, d, D - i);
            }
            v_store_some(dg + i, sum, D - i);
        }
    }
}

/* A walk over the heads of q and k: where one begins in qkv, and the row's position. */
struct head_walk {
    size_t at, head, position;
};

ISO_INLINE void next_head(struct head_walk *w, size_t T, size_t H, size_t Q)
{
    w->at += Q;
    if (++w->head < 2 * H)
        return;
    w->head = 0;
    w->at += H * Q; /* over the values */
    w->position = w->position + 1 < T ? w->position + 1 : 0;
}

/* Whether a head is one vector: then nothing of it is left over, and no masks are needed. */
ISO_INLINE bool one_vector(const size_t Q)
{
    return V_WIDE && Q == VW;
}

#if V_WIDE
/* x rc + y rs, where y has the halves of x in the other order, and rs the other sign in its second
 * half: (a, b) becomes (a rc + b rs, b rc − a rs). */
ISO_INLINE vf rotate_vector(vf x, const float *c, const float *s, float rc, float rs)
{
    static const float sign[VW] = {1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1};
    vf cosines = v_mul(v_load_twice(c), v_set1(rc));
    vf sines = v_mul(v_load_twice(s), v_mul(v_load(sign), v_set1(rs)));
    return v_fma(x, cosines, v_mul(v_swap_halves(x), sines));
}
#else
ISO_INLINE vf rotate_vector(vf x, const float *c, const float *s, float rc, float rs)
{
    (void)c, (void)s, (void)rc, (void)rs;
    return x;
}
#endif

/* (a, b) = (a c + b s, b c − a s) r for both halves of a head. */
ISO_INLINE void rotate(float *a, const float *c, const float *s, float r, const size_t Q)
{
    size_t half = Q / 2;
    float *b = a + half;
    if (one_vector(Q)) {
        v_store(a, rotate_vector(v_load(a), c, s, r, r));
        return;
    }
    for (size_t i = 0; i < half; i += VW) {
        size_t n = half - i;
        vf x = v_load_some(a + i, n), y = v_load_some(b + i, n);
        vf rc = v_mul(v_load_some(c + i, n), v_set1(r)),
           rs = v_mul(v_load_some(s + i, n), v_set1(r));
        v_store_some(a + i, v_fma(x, rc, v_mul(y, rs)), n);
        v_store_some(b + i, v_sub(v_mul(y, rc), v_mul(x, rs)), n);
    }
}

ISO_INLINE void rope_norm(float *qkv, float *rstd, const float *cos, const float *sin, size_t M,
                          size_t T, size_t H, const size_t Q)
{
    vf sums[VW] = {v_set1(0)};
    struct head_walk walk = {0};
    for (size_t left = M * 2 * H, n; left > 0; left -= n, rstd += n) {
        n = group_of(left);
        struct head_walk again = walk;
        for (size_t j = 0; j < n; j++, next_head(&walk, T, H, Q))
            sums[j] = lane_dot(qkv + walk.at, qkv + walk.at, Q);
        v_store_some(rstd, rstd_of(v_sums(sums), Q), n);
        for (size_t j = 0; j < n; j++, next_head(&again, T, H, Q)) {
            size_t angles = again.position * (Q / 2);
            rotate(qkv + again.at, cos + angles, sin + angles, rstd[j], Q);
        }
    }
}

/* The usual head sizes as constants: no loop, no masks made at run time. */
static void qk_rope_norm_vec(float *qkv, float *rstd, const float *cos, const float *sin, size_t M,
                             size_t T, size_t first_pos, size_t H, size_t Q)
{
    cos += first_pos * (Q / 2), sin += first_pos * (Q / 2);
    if (Q == 16)
        rope_norm(qkv, rstd, cos, sin, M, T, H, 16);
    else if (Q == 32)
        rope_norm(qkv, rstd, cos, sin, M, T, H, 32);
    else
        rope_norm(qkv, rstd, cos, sin, M, T, H, Q);
}

/* d = r (d − y mean), rotated back; y and d are heads of two halves. */
ISO_INLINE void rotate_bwd(float *d, const float *y, const float *c, const float *s, float mean,
                           float r, const size_t Q)
{
    size_t half = Q / 2;
    if (one_vector(Q)) {
        vf x = v_fma(v_load(y), v_set1(-mean), v_load(d));
        v_store(d, rotate_vector(x, c, s, r, -r));
        return;
    }
    for (size_t i = 0; i < half; i += VW) {
        size_t n = half - i;
        vf minus = v_set1(-mean);
        vf a = v_fma(v_load_some(y + i, n), minus, v_load_some(d + i, n));
        vf b = v_fma(v_load_some(y + half + i, n), minus, v_load_some(d + half + i, n));
        vf rc = v_mul(v_load_some(c + i, n), v_set1(r)),
           rs = v_mul(v_load_some(s + i, n), v_set1(r));
        v_store_some(d + i, v_sub(v_mul(a, rc), v_mul(b, rs)), n);
        v_store_some(d + half + i, v_fma(a, rs, v_mul(b, rc)), n);
    }
}

ISO_INLINE void rope_norm_bwd(float *dqkv, const float *qkv, const float *rstd, const float *cos,
                              const float *sin, size_t M, size_t T, size_t H, const size_t Q)
{
    float mean[VW];
    vf sums[VW] = {v_set1(0)};
    struct head_walk walk = {0};
    for (size_t left = M * 2 * H, n; left > 0; left -= n, rstd += n) {
        n = group_of(left);
        struct head_walk again = walk;
        for (size_t j = 0; j < n; j++, next_head(&walk, T, H, Q))
            sums[j] = lane_dot(qkv + walk.at, dqkv + walk.at, Q);
        v_store(mean, v_mul(v_sums(sums), v_set1(1 / (float)Q)));
        for (size_t j = 0; j < n; j++, next_head(&again, T, H, Q)) {
            size_t angles = again.position * (Q / 2);
            rotate_bwd(dqkv + again.at, qkv + again.at, cos + angles, sin + angles, mean[j],
                       rstd[j], Q);
        }
    }
}

static void qk_rope_norm_bwd_vec(float *dqkv, const float *qkv, const float *rstd, const float *cos,
                                 const float *sin, size_t M, size_t T, size_t first_pos, size_t H,
                                 size_t Q)
{
    cos += first_pos * (Q / 2), sin += first_pos * (Q / 2);
    if (Q == 16)
        rope_norm_bwd(dqkv, qkv, rstd, cos, sin, M, T, H, 16);
    else if (Q == 32)
        rope_norm_bwd(dqkv, qkv, rstd, cos, sin, M, T, H, 32);
    else
        rope_norm_bwd(dqkv, qkv, rstd, cos, sin, M, T, H, Q);
}

static void relu2_vec(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += VW) {
        vf a = v_max(v_set1(0), v_load_some(x + i, n - i));
        v_store_some(y + i, v_mul(a, a), n - i);
    }
}

static void relu2_bwd_vec(float *dx, const float *dy, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += VW) {
        vf a = v_max(v_set1(0), v_load_some(x + i, n - i));
        v_store_some(dx + i, v_mul(v_add(a, a), v_load_some(dy + i, n - i)), n - i);
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

/* cap tanh(z/cap) log₂e and the slope of cap tanh(z/cap), which is 1 − tanh², for n logits.  Nearly
 * always |z| ≤ cap, where tanh is an odd polynomial of degree 15, fitted for the smallest largest
 * relative error, 4.7e-9.  Larger ones need E = e^(2z/cap) − 1: tanh is E/(E + 2), and the slope
 * 4(E + 1)/(E + 2)². */
static void cap_logits(float *capped, float *slope, const float *z, size_t n, float cap)
{
    vf largest = v_set1(0);
    for (size_t i = 0; i < n; i += VW) {
        vf x = v_mul(v_load_some(z + i, n - i), v_set1(1 / cap)), s = v_mul(x, x);
        largest = v_max(s, largest);
        vf q = v_set1(-0x1.77dcf8p-12f);
        q = v_fma(q, s, v_set1(0x1.2da4e0p-9f));
        q = v_fma(q, s, v_set1(-0x1.0460bep-7f));
        q = v_fma(q, s, v_set1(0x1.600990p-6f));
        q = v_fma(q, s, v_set1(-0x1.b96222p-5f));
        q = v_fma(q, s, v_set1(0x1.110be2p-3f));
        q = v_fma(q, s, v_set1(-0x1.55553cp-2f));
        vf u = v_fma(v_mul(q, s), x, x);
        v_store(capped + i, v_mul(u, v_set1(cap * V_LOG2_E)));
        v_store(slope + i, v_sub(v_set1(1), v_mul(u, u)));
    }
    if (v_largest(largest) <= 1)
        return;
    for (size_t i = 0; i < n; i += VW) {
        vf E = v_expm1(v_mul(v_load_some(z + i, n - i), v_set1(2 / cap)));
        vf inverse = v_div(v_set1(1), v_add(E, v_set1(2)));
        v_store(capped + i, v_mul(v_mul(E, inverse), v_set1(cap * V_LOG2_E)));
        v_store(slope + i, v_mul(v_mul(v_fma(E, v_set1(4), v_set1(4)), inverse), inverse));
    }
}

/* One block of logits: the sum of e^(cap tanh(z/cap)).  When `keep`, z becomes the same times the
 * slope, which is the gradient up to a factor that only the sum over all blocks gives.
 *
 * Two loops, because one chain of both functions is too long for the CPU to overlap. */
static float sum_capped(float *z, size_t n, float cap, bool keep)
{
    float capped[XENT_BLOCK], slope[XENT_BLOCK], last[VW];
    cap_logits(capped, slope, z, n, cap);
    vf sum = v_set1(0);
    float rest = 0;
    for (size_t i = 0; i < n; i += VW) {
        vf e = v_exp2_small(v_load(capped + i));
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
        if (hit) /* of the logits: xent_row_vec overwrites them */
            hit[m] = counted && none_above(z, z[target[m]], V_real);
        loss[m] = 0;
        if (counted)
            loss[m] = xent_row_vec(z, (size_t)target[m], V, V_real, cap, scale);
        else if (scale != 0)
            fill_vec(z, 0, V);
        if (hit && isnan(loss[m])) /* a maximum skips NaN, the loss does not */
            hit[m] = false;
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
