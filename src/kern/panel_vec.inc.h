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

/* What pieces ask for ahead of time: the rows that they are going to write, and the next panel,
 * towards L2, two lines of every step.  A few lines every few steps, for many at once keep the
 * loads waiting. */
struct ahead {
    size_t every, rows, lines; /* steps; rows and lines each time */
    const float *panel;
    size_t step, line; /* the next line */
};

static struct ahead look_ahead(size_t rows, size_t K, size_t groups, struct rhs b, bool last)
{
    struct ahead f = {.every = K, .panel = b.at + b.panel, .step = b.step};
    if (groups == 1) /* attention, whose rows are in the cache, or what remains of a product */
        return f;
    if (V_WIDE) {
        f.every = 8;
        f.rows = (rows * f.every + K - 1) / K;
    }
    if (!last && (V_WIDE || b.step == NR))
        f.lines = (2 * f.every + groups - 1) / groups;
    return f;
}

/* Asks for some lines of the panel and rows of c; `asked` rows were asked for before. */
ISO_INLINE size_t ask(struct ahead *f, const float *c, size_t ldc, size_t asked, const size_t rows)
{
    enum { LINE = 16 };
    for (size_t i = 0; i < f->lines; i++, f->line++)
        _mm_prefetch((const char *)(f->panel + f->line / 2 * f->step + f->line % 2 * LINE),
                     _MM_HINT_T1);
    for (size_t i = 0; i < f->rows && asked < rows; i++, asked++) {
        _mm_prefetch((const char *)(c + asked * ldc), _MM_HINT_ET0);
        _mm_prefetch((const char *)(c + asked * ldc + VW), _MM_HINT_ET0);
    }
    return asked;
}

/* c[rows, columns] = (plus ? plus : 0) + a[rows, K] · panel[K, NR], of which only the first
 * `vectors` vectors of columns; rows and vectors are constants after inlining, and so is row or
 * step. */
ISO_INLINE void micro(float *c, const float *plus, size_t ldc, const float *a, size_t row,
                      size_t step, const float *panel, size_t next, size_t K, size_t columns,
                      struct ahead *ahead, const size_t rows, const size_t vectors)
{
    vf sum[MR][NV];
    ISO_UNROLL
    for (size_t r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = v_set1(0);
    /* A pointer to every third row, whose relation the compiler must not see: addresses of 14 rows
     * from one pointer are more than there are registers. */
    enum { APART = 3 };
    const float *at[(MR + APART - 1) / APART];
    const size_t pointers = (rows + APART - 1) / APART;
    ISO_UNROLL
    for (size_t i = 0; i < pointers; i++) {
        at[i] = a + i * APART * row;
        __asm__("" : "+r"(at[i]));
    }
    for (size_t k0 = 0, asked = 0, every = ahead->every; k0 < K; k0 += every) {
        asked = ask(ahead, c, ldc, asked, rows);
        size_t n = K - k0 < every ? K - k0 : every;
        for (size_t k = 0; k < n; k++, panel += next) {
            vf b0 = v_load(panel), b1 = vectors > 1 ? v_load(panel + VW) : b0;
            ISO_UNROLL
            for (size_t r = 0; r < rows; r++) {
                vf x = v_set1(at[r / APART][r % APART * row]);
                sum[r][0] = v_fma(x, b0, sum[r][0]);
                if (vectors > 1)
                    sum[r][1] = v_fma(x, b1, sum[r][1]);
            }
            ISO_UNROLL
            for (size_t i = 0; i < pointers; i++)
                at[i] += step;
        }
    }
    size_t last = columns - (vectors - 1) * VW; /* columns of the last vector */
    size_t end = (vectors - 1) * VW;
    if (plus) {
        ISO_UNROLL
        for (size_t r = 0; r < rows; r++, plus += ldc) {
            if (vectors > 1)
                sum[r][0] = v_add(v_load(plus), sum[r][0]);
            sum[r][vectors - 1] = v_add(
                last == VW ? v_load(plus + end) : v_load_n(plus + end, last), sum[r][vectors - 1]);
        }
    }
    ISO_UNROLL
    for (size_t r = 0; r < rows; r++, c += ldc) {
        if (vectors > 1)
            v_store(c, sum[r][0]);
        if (last == VW)
            v_store(c + end, sum[r][vectors - 1]);
        else
            v_store_n(c + end, sum[r][vectors - 1], last);
    }
}

/* `groups` groups of `rows` rows times all panels of a matrix with N columns. */
ISO_INLINE void micro_all(float *c, const float *plus, size_t ldc, const float *a, size_t row,
                          size_t step, size_t group, struct rhs b, size_t K, size_t N,
                          size_t groups, const size_t rows)
{
    for (size_t n = 0; n < N; n += NR, b.at += b.panel) {
        struct ahead ahead = look_ahead(rows, K, groups, b, n + NR >= N);
        for (size_t g = 0; g < groups; g++) {
            size_t at = g * rows * ldc + n;
            float *to = c + at;
            const float *more = plus ? plus + at : NULL;
            const float *from = a + g * group;
            size_t columns = N - n < NR ? N - n : NR;
            if (ahead.line >= 2 * K)
                ahead.lines = 0;
            if (columns > VW)
                micro(to, more, ldc, from, row, step, b.at, b.step, K, columns, &ahead, rows, 2);
            else
                micro(to, more, ldc, from, row, step, b.at, b.step, K, columns, &ahead, rows, 1);
        }
    }
}

/* micro_all for a constant number of rows and either layout of A, each a function of its own. */
#define MICRO(n)                                                                                   \
    static void micro_along_##n(float *c, const float *plus, size_t ldc, struct lhs a,             \
                                struct rhs b, size_t K, size_t N, size_t groups)                   \
    {                                                                                              \
        micro_all(c, plus, ldc, a.at, a.row, 1, a.group, b, K, N, groups, n);                      \
    }                                                                                              \
    static void micro_across_##n(float *c, const float *plus, size_t ldc, struct lhs a,            \
                                 struct rhs b, size_t K, size_t N, size_t groups)                  \
    {                                                                                              \
        micro_all(c, plus, ldc, a.at, 1, a.step, a.group, b, K, N, groups, n);                     \
    }
typedef void micro_fn(float *c, const float *plus, size_t ldc, struct lhs a, struct rhs b, size_t K,
                      size_t N, size_t groups);
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

/* c[rows, N] = (plus ? plus : 0) + a[rows, K] · b; plus may be c, whose row length it has. */
static void multiply_rows(float *c, const float *plus, size_t ldc, struct lhs a, struct rhs b,
                          size_t K, size_t rows, size_t N)
{
    size_t n = MR, groups = rows / MR;
    while (rows) {
        if (groups) {
            micros[n][a.step != 1](c, plus, ldc, a, b, K, N, groups);
            rows -= n * groups;
            c += n * groups * ldc;
            plus = plus ? plus + n * groups * ldc : NULL;
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

/* to[k*ldto + j] = entry k of row j. */
ISO_INLINE void transpose8(float *to, size_t ldto, const __m256 row[8])
{
    __m256 r[8], s[8];
    ISO_UNROLL
    for (size_t j = 0; j < 8; j += 2) { /* pairs of rows, then fours, then both halves */
        s[j] = _mm256_unpacklo_ps(row[j], row[j + 1]);
        s[j + 1] = _mm256_unpackhi_ps(row[j], row[j + 1]);
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

/* Packs a K x N matrix whose element (k, n) is factor src[n*ld + k]. */
static void pack_transposed(float *to, const float *src, size_t ld, size_t K, size_t N,
                            float factor)
{
    for (size_t n = 0; n < N; n += NR, to += K * NR)
        for (size_t j = 0; j < NR; j += 8) {
            const float *from = src + (n + j) * ld;
            size_t columns = n + j >= N ? 0 : N - n - j < 8 ? N - n - j : 8, k = 0;
            for (; columns == 8 && k + 8 <= K; k += 8) {
                __m256 row[8];
                ISO_UNROLL
                for (size_t i = 0; i < 8; i++)
                    row[i] =
                        _mm256_mul_ps(_mm256_loadu_ps(from + i * ld + k), _mm256_set1_ps(factor));
                transpose8(to + k * NR + j, NR, row);
            }
            for (; k < K; k++)
                for (size_t i = 0; i < 8; i++)
                    to[k * NR + j + i] = i < columns ? factor * from[i * ld + k] : 0;
        }
}
