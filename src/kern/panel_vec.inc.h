/* The innermost piece of every product, and the packing it wants; part of kern_vec.inc.h.
 *
 * A right-hand side is packed into panels of NR columns, [K][NR] each, the last one padded with
 * zeros.  MR rows of the left-hand side times one panel is the piece: MR x NV accumulators stay in
 * registers, each step of k loads one row of the panel and broadcasts MR numbers of the left.
 *
 * Every element is the chain fma(a_k, b_k, ...) over ascending k: the result depends on K alone,
 * not on the place of the row or the column. */

#if V_WIDE
enum { MR = 14 };
#else
enum { MR = 6 };
#endif
enum { NV = 2, NR = NV * VW };

/* A left-hand side in groups of MR rows: element (m, k) of a group is at[m*row + k*step], where
 * one of row and step is 1; the next group lies `group` further. */
struct lhs {
    const float *at;
    size_t row, step, group;
};

/* A right-hand side in panels of NR columns: step k of the first one is NR floats at[k*step], the
 * next panel lies `panel` further. */
struct rhs {
    const float *at;
    size_t step, panel;
};

/* A packed matrix of K steps. */
static struct rhs packed_rhs(const float *b, size_t K)
{
    return (struct rhs){b, NR, K * NR};
}

/* b without its first k steps. */
static struct rhs rhs_from(struct rhs b, size_t k)
{
    b.at += k * b.step;
    return b;
}

/* c[rows, columns] = (add ? c : 0) + a[rows, K] · panel[K, NR], of which only the first `vectors`
 * vectors of columns; rows and vectors are constants after inlining, and so is row or step. */
ISO_INLINE void micro(float *c, size_t ldc, const float *a, size_t row, size_t step,
                      const float *panel, size_t next, size_t K, size_t columns, bool add,
                      const size_t rows, const size_t vectors)
{
    vf sum[MR][NV];
    ISO_UNROLL
    for (size_t r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = v_set1(0);
    for (size_t k = 0; k < K; k++, a += step, panel += next) {
        vf b0 = v_load(panel), b1 = vectors > 1 ? v_load(panel + VW) : b0;
        ISO_UNROLL
        for (size_t r = 0; r < rows; r++) {
            vf x = v_set1(a[r * row]);
            sum[r][0] = v_fma(x, b0, sum[r][0]);
            if (vectors > 1)
                sum[r][1] = v_fma(x, b1, sum[r][1]);
        }
    }
    size_t last = columns - (vectors - 1) * VW; /* columns of the last vector */
    ISO_UNROLL
    for (size_t r = 0; r < rows; r++, c += ldc) {
        float *end = c + (vectors - 1) * VW;
        if (vectors > 1)
            v_store(c, add ? v_add(v_load(c), sum[r][0]) : sum[r][0]);
        if (last == VW)
            v_store(end, add ? v_add(v_load(end), sum[r][vectors - 1]) : sum[r][vectors - 1]);
        else
            v_store_n(end,
                      add ? v_add(v_load_n(end, last), sum[r][vectors - 1]) : sum[r][vectors - 1],
                      last);
    }
}

/* Asks for part g of `parts` of the n floats at p, towards L2. */
ISO_INLINE void fetch_part(const float *p, size_t n, size_t g, size_t parts)
{
    enum { LINE = 16 };
    size_t lines = (n + parts * LINE - 1) / (parts * LINE);
    for (size_t i = g * lines; i < (g + 1) * lines; i++)
        _mm_prefetch((const char *)(p + i * LINE), _MM_HINT_T1);
}

/* Asks for the rows that a piece is going to write. */
ISO_INLINE void fetch_rows(float *c, size_t ldc, const size_t rows)
{
    ISO_UNROLL
    for (size_t r = 0; r < rows; r++) {
        _mm_prefetch((const char *)(c + r * ldc), _MM_HINT_ET0);
        _mm_prefetch((const char *)(c + r * ldc + VW), _MM_HINT_ET0);
    }
}

/* `groups` groups of `rows` rows times all panels of a matrix with N columns. */
ISO_INLINE void micro_all(float *c, size_t ldc, const float *a, size_t row, size_t step,
                          size_t group, struct rhs b, size_t K, size_t N, bool add, size_t groups,
                          const size_t rows)
{
    for (size_t n = 0; n < N; n += NR, b.at += b.panel)
        for (size_t g = 0; g < groups; g++) {
            if (groups > 1 && n + NR < N && b.step == NR) /* the next panel, while this is in use */
                fetch_part(b.at + b.panel, K * NR, g, groups);
            float *to = c + g * rows * ldc + n;
            const float *from = a + g * group;
            size_t columns = N - n < NR ? N - n : NR;
            if (V_WIDE)
                fetch_rows(to, ldc, rows);
            if (columns > VW)
                micro(to, ldc, from, row, step, b.at, b.step, K, columns, add, rows, 2);
            else
                micro(to, ldc, from, row, step, b.at, b.step, K, columns, add, rows, 1);
        }
}

/* micro_all for a constant number of rows and either layout of A, each a function of its own. */
#define MICRO(n)                                                                                   \
    static void micro_along_##n(float *c, size_t ldc, struct lhs a, struct rhs b, size_t K,        \
                                size_t N, bool add, size_t groups)                                 \
    {                                                                                              \
        micro_all(c, ldc, a.at, a.row, 1, a.group, b, K, N, add, groups, n);                       \
    }                                                                                              \
    static void micro_across_##n(float *c, size_t ldc, struct lhs a, struct rhs b, size_t K,       \
                                 size_t N, bool add, size_t groups)                                \
    {                                                                                              \
        micro_all(c, ldc, a.at, 1, a.step, a.group, b, K, N, add, groups, n);                      \
    }
typedef void micro_fn(float *c, size_t ldc, struct lhs a, struct rhs b, size_t K, size_t N,
                      bool add, size_t groups);
#if V_WIDE
MICRO(1)
MICRO(2)
MICRO(4)
MICRO(8)
MICRO(14)
#define BOTH(n)                                                                                    \
    {                                                                                              \
        micro_along_##n, micro_across_##n                                                          \
    }
/* Remainders are put together from the powers of two. */
static micro_fn *const micros[MR + 1][2] = {
    [1] = BOTH(1), [2] = BOTH(2), [4] = BOTH(4), [8] = BOTH(8), [14] = BOTH(14)};
#else
MICRO(1)
MICRO(2)
MICRO(3)
MICRO(4)
MICRO(5)
MICRO(6)
#define BOTH(n)                                                                                    \
    {                                                                                              \
        micro_along_##n, micro_across_##n                                                          \
    }
static micro_fn *const micros[MR + 1][2] = {
    [1] = BOTH(1), [2] = BOTH(2), [3] = BOTH(3), [4] = BOTH(4), [5] = BOTH(5), [6] = BOTH(6)};
#endif
#undef MICRO
#undef BOTH

/* c[rows, N] = (add ? c : 0) + a[rows, K] · b. */
static void multiply_rows(float *c, size_t ldc, struct lhs a, struct rhs b, size_t K, size_t rows,
                          size_t N, bool add)
{
    size_t n = MR, groups = rows / MR;
    while (rows) {
        if (groups) {
            micros[n][a.step != 1](c, ldc, a, b, K, N, add, groups);
            rows -= n * groups;
            c += n * groups * ldc;
            a.at += n == MR ? groups * a.group : n * a.row;
        }
        for (n = rows; n && !micros[n][0]; n--) {
        }
        groups = 1;
    }
}

static size_t padded(size_t N)
{
    return (N + NR - 1) / NR * NR;
}

/* Packs a K x N matrix whose element (k, n) is src[k*ld + n]. */
static void pack_plain(float *to, const float *src, size_t ld, size_t K, size_t N)
{
    for (size_t n = 0; n < N; n += NR)
        for (size_t k = 0; k < K; k++, to += NR)
            for (size_t v = 0; v < NR; v += VW) {
                size_t left = n + v < N ? N - n - v : 0;
                v_store(to + v, v_load_some(src + k * ld + n + v, left));
            }
}

/* to[k*ldto + j] = from[j*ld + k] for 8 x 8 numbers. */
ISO_INLINE void transpose8(float *to, size_t ldto, const float *from, size_t ld)
{
    __m256 r[8], s[8];
    ISO_UNROLL
    for (size_t j = 0; j < 8; j++)
        r[j] = _mm256_loadu_ps(from + j * ld);
    ISO_UNROLL
    for (size_t j = 0; j < 8; j += 2) { /* pairs of rows, then fours, then both halves */
        s[j] = _mm256_unpacklo_ps(r[j], r[j + 1]);
        s[j + 1] = _mm256_unpackhi_ps(r[j], r[j + 1]);
    }
    ISO_UNROLL
    for (size_t j = 0; j < 8; j += 4) {
        r[j] = _mm256_shuffle_ps(s[j], s[j + 2], 0x44);
        r[j + 1] = _mm256_shuffle_ps(s[j], s[j + 2], 0xee);
        r[j + 2] = _mm256_shuffle_ps(s[j + 1], s[j + 3], 0x44);
        r[j + 3] = _mm256_shuffle_ps(s[j + 1], s[j + 3], 0xee);
    }
    ISO_UNROLL
    for (size_t j = 0; j < 4; j++) {
        _mm256_storeu_ps(to + j * ldto, _mm256_permute2f128_ps(r[j], r[j + 4], 0x20));
        _mm256_storeu_ps(to + (j + 4) * ldto, _mm256_permute2f128_ps(r[j], r[j + 4], 0x31));
    }
}

/* Packs a K x N matrix whose element (k, n) is src[n*ld + k]. */
static void pack_transposed(float *to, const float *src, size_t ld, size_t K, size_t N)
{
    for (size_t n = 0; n < N; n += NR, to += K * NR)
        for (size_t j = 0; j < NR; j += 8) {
            const float *from = src + (n + j) * ld;
            size_t columns = n + j >= N ? 0 : N - n - j < 8 ? N - n - j : 8, k = 0;
            for (; columns == 8 && k + 8 <= K; k += 8)
                transpose8(to + k * NR + j, NR, from + k, ld);
            for (; k < K; k++)
                for (size_t i = 0; i < 8; i++)
                    to[k * NR + j + i] = i < columns ? from[i * ld + k] : 0;
        }
}
