/* A thin layer over the vector registers: `vf` is VW floats.
 *
 * Three backs, one face, so that the kernels in kern_vec.inc.h are written once:
 *   AVX2                        8 floats
 *   AVX-512                     16 floats
 *   AVX2 with ISO_VEC_PAIRS     16 floats in two registers; slow, it exists so that the tests can
 *                               run the 16-wide kernels on machines without AVX-512.
 *
 * v_max and v_min give their SECOND operand when either is NaN (as maxps does), so a clamp
 * v_max(limit, x) lets NaN through: a diverged loss must stay visible. */
#ifndef ISO_KERN_VEC_H
#define ISO_KERN_VEC_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISO_INLINE static inline __attribute__((always_inline))
/* Before a loop of constant length over registers.  Not under a sanitizer, which would check
 * each copy and need minutes to compile. */
#if !defined(__clang__)
#define ISO_UNROLL _Pragma("GCC unroll 16")
#elif __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ISO_UNROLL
#else
#define ISO_UNROLL _Pragma("unroll")
#endif
/* Whether a vector has 16 lanes. */
#if defined(__AVX512F__) || defined(ISO_VEC_PAIRS)
#define V_WIDE 1
#else
#define V_WIDE 0
#endif

#define V_ROUND  12582912.0f /* 1.5 x 2^23: a small number added to it is rounded to a whole one */
#define V_LOG2_E 1.44269504f
enum { V_ROOT_HALF = 0x3f3504f3 }; /* the bits of √½ */

#if defined(__AVX512F__) && !defined(ISO_VEC_PAIRS)

enum { VW = 16 };
typedef __m512 vf;

ISO_INLINE __mmask16 first_lanes(size_t n)
{
    return (__mmask16)((1u << n) - 1);
}
ISO_INLINE vf v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
ISO_INLINE void v_store(float *p, vf x)
{
    _mm512_storeu_ps(p, x);
}
ISO_INLINE vf v_load_n(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
}
ISO_INLINE void v_store_n(float *p, vf x, size_t n)
{
    _mm512_mask_storeu_ps(p, first_lanes(n), x);
}
ISO_INLINE vf v_set1(float x)
{
    return _mm512_set1_ps(x);
}
ISO_INLINE vf v_add(vf a, vf b)
{
    return _mm512_add_ps(a, b);
}
ISO_INLINE vf v_sub(vf a, vf b)
{
    return _mm512_sub_ps(a, b);
}
ISO_INLINE vf v_mul(vf a, vf b)
{
    return _mm512_mul_ps(a, b);
}
ISO_INLINE vf v_div(vf a, vf b)
{
    return _mm512_div_ps(a, b);
}
ISO_INLINE vf v_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}
ISO_INLINE vf v_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}
ISO_INLINE vf v_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}
ISO_INLINE vf v_sqrt(vf a)
{
    return _mm512_sqrt_ps(a);
}
/* The first n < VW lanes of a, 0 in the others. */
ISO_INLINE vf v_first(vf a, size_t n)
{
    return _mm512_maskz_mov_ps(first_lanes(n), a);
}
/* a 2^n for t = V_ROUND + n, as long as the result is neither too large nor too small. */
ISO_INLINE vf v_times_pow2(vf a, vf t)
{
    __m512i n = _mm512_slli_epi32(_mm512_castps_si512(t), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), n));
}
/* a = m 2^e with m in [√½, √2), for a > 0 that is not denormal. */
ISO_INLINE vf v_mantissa(vf *e, vf a)
{
    __m512i bits = _mm512_castps_si512(a);
    __m512i n = _mm512_srai_epi32(_mm512_sub_epi32(bits, _mm512_set1_epi32(V_ROOT_HALF)), 23);
    *e = _mm512_cvtepi32_ps(n);
    return _mm512_castsi512_ps(_mm512_sub_epi32(bits, _mm512_slli_epi32(n, 23)));
}
ISO_INLINE float v_sum(vf a)
{
    return _mm512_reduce_add_ps(a);
}
ISO_INLINE float v_largest(vf a)
{
    return _mm512_reduce_max_ps(a);
}
/* Eight floats, twice; and the halves of a in the other order. */
ISO_INLINE vf v_load_twice(const float *p)
{
    __m256 x = _mm256_loadu_ps(p);
    return _mm512_insertf32x8(_mm512_castps256_ps512(x), x, 1);
}
ISO_INLINE vf v_swap_halves(vf a)
{
    return _mm512_shuffle_f32x4(a, a, 0x4e);
}
/* Quarters of a and b, added in pairs: a0+a1, a2+a3, b0+b1, b2+b3. */
ISO_INLINE vf add_quarters(vf a, vf b)
{
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}
/* Lane i is the sum of the lanes of x[i]. */
ISO_INLINE vf v_sums(const vf x[16])
{
    vf w[4];
    ISO_UNROLL
    for (size_t i = 0; i < 4; i++) /* quarter j of w[i] is what is left of x[4j + i] */
        w[i] = add_quarters(add_quarters(x[i], x[i + 4]), add_quarters(x[i + 8], x[i + 12]));
    vf low = _mm512_add_ps(_mm512_unpacklo_ps(w[0], w[1]), _mm512_unpackhi_ps(w[0], w[1]));
    vf high = _mm512_add_ps(_mm512_unpacklo_ps(w[2], w[3]), _mm512_unpackhi_ps(w[2], w[3]));
    return _mm512_add_ps(_mm512_shuffle_ps(low, high, 0x44), _mm512_shuffle_ps(low, high, 0xee));
}

#else /* eight lanes first, then pairs of them */

typedef __m256 v8;

ISO_INLINE __m256i first_lanes(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
ISO_INLINE v8 v8_first(v8 a, size_t n)
{
    return _mm256_and_ps(a, _mm256_castsi256_ps(first_lanes(n)));
}
ISO_INLINE v8 v8_times_pow2(v8 a, v8 t)
{
    __m256i n = _mm256_slli_epi32(_mm256_castps_si256(t), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), n));
}
ISO_INLINE v8 v8_mantissa(v8 *e, v8 a)
{
    __m256i bits = _mm256_castps_si256(a);
    __m256i n = _mm256_srai_epi32(_mm256_sub_epi32(bits, _mm256_set1_epi32(V_ROOT_HALF)), 23);
    *e = _mm256_cvtepi32_ps(n);
    return _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(n, 23)));
}
ISO_INLINE float v8_sum(v8 a)
{
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
ISO_INLINE float v8_largest(v8 a)
{
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
ISO_INLINE v8 v8_sums(const v8 x[8])
{
    v8 w[4];
    ISO_UNROLL
    for (size_t i = 0; i < 4; i++) /* half j of w[i] is what is left of x[4j + i] */
        w[i] = _mm256_add_ps(_mm256_permute2f128_ps(x[i], x[i + 4], 0x20),
                             _mm256_permute2f128_ps(x[i], x[i + 4], 0x31));
    v8 low = _mm256_add_ps(_mm256_unpacklo_ps(w[0], w[1]), _mm256_unpackhi_ps(w[0], w[1]));
    v8 high = _mm256_add_ps(_mm256_unpacklo_ps(w[2], w[3]), _mm256_unpackhi_ps(w[2], w[3]));
    return _mm256_add_ps(_mm256_shuffle_ps(low, high, 0x44), _mm256_shuffle_ps(low, high, 0xee));
}

#if !defined(ISO_VEC_PAIRS)

enum { VW = 8 };
typedef v8 vf;

ISO_INLINE vf v_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
ISO_INLINE void v_store(float *p, vf x)
{
    _mm256_storeu_ps(p, x);
}
ISO_INLINE vf v_load_n(const float *p, size_t n)
{
    return _mm256_maskload_ps(p, first_lanes(n));
}
ISO_INLINE void v_store_n(float *p, vf x, size_t n)
{
    _mm256_maskstore_ps(p, first_lanes(n), x);
}
ISO_INLINE vf v_set1(float x)
{
    return _mm256_set1_ps(x);
}
ISO_INLINE vf v_add(vf a, vf b)
{
    return _mm256_add_ps(a, b);
}
ISO_INLINE vf v_sub(vf a, vf b)
{
    return _mm256_sub_ps(a, b);
}
ISO_INLINE vf v_mul(vf a, vf b)
{
    return _mm256_mul_ps(a, b);
}
ISO_INLINE vf v_div(vf a, vf b)
{
    return _mm256_div_ps(a, b);
}
ISO_INLINE vf v_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}
ISO_INLINE vf v_max(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}
ISO_INLINE vf v_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}
ISO_INLINE vf v_sqrt(vf a)
{
    return _mm256_sqrt_ps(a);
}
ISO_INLINE vf v_first(vf a, size_t n)
{
    return v8_first(a, n);
}
ISO_INLINE vf v_times_pow2(vf a, vf t)
{
    return v8_times_pow2(a, t);
}
ISO_INLINE vf v_mantissa(vf *e, vf a)
{
    return v8_mantissa(e, a);
}
ISO_INLINE float v_sum(vf a)
{
    return v8_sum(a);
}
ISO_INLINE float v_largest(vf a)
{
    return v8_largest(a);
}
ISO_INLINE vf v_sums(const vf x[8])
{
    return v8_sums(x);
}

#else

enum { VW = 16 };
typedef struct {
    v8 low, high;
} vf;

#define PAIR(op, ...)                                                                              \
    (vf)                                                                                           \
    {                                                                                              \
        op(PAIR_ARGS(low, __VA_ARGS__)), op(PAIR_ARGS(high, __VA_ARGS__))                          \
    }
#define PAIR_ARGS(half, ...)            PAIR_PICK(__VA_ARGS__, PAIR3, PAIR2, PAIR1, )(half, __VA_ARGS__)
#define PAIR_PICK(a, b, c, chosen, ...) chosen
#define PAIR1(half, a)                  a.half
#define PAIR2(half, a, b)               a.half, b.half
#define PAIR3(half, a, b, c)            a.half, b.half, c.half

ISO_INLINE vf v_load(const float *p)
{
    return (vf){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
ISO_INLINE void v_store(float *p, vf x)
{
    _mm256_storeu_ps(p, x.low);
    _mm256_storeu_ps(p + 8, x.high);
}
ISO_INLINE vf v_load_n(const float *p, size_t n)
{
    return (vf){_mm256_maskload_ps(p, first_lanes(n)),
                n > 8 ? _mm256_maskload_ps(p + 8, first_lanes(n - 8)) : _mm256_setzero_ps()};
}
ISO_INLINE void v_store_n(float *p, vf x, size_t n)
{
    _mm256_maskstore_ps(p, first_lanes(n), x.low);
    if (n > 8)
        _mm256_maskstore_ps(p + 8, first_lanes(n - 8), x.high);
}
ISO_INLINE vf v_set1(float x)
{
    return (vf){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
ISO_INLINE vf v_add(vf a, vf b)
{
    return PAIR(_mm256_add_ps, a, b);
}
ISO_INLINE vf v_sub(vf a, vf b)
{
    return PAIR(_mm256_sub_ps, a, b);
}
ISO_INLINE vf v_mul(vf a, vf b)
{
    return PAIR(_mm256_mul_ps, a, b);
}
ISO_INLINE vf v_div(vf a, vf b)
{
    return PAIR(_mm256_div_ps, a, b);
}
ISO_INLINE vf v_fma(vf a, vf b, vf c)
{
    return PAIR(_mm256_fmadd_ps, a, b, c);
}
ISO_INLINE vf v_max(vf a, vf b)
{
    return PAIR(_mm256_max_ps, a, b);
}
ISO_INLINE vf v_min(vf a, vf b)
{
    return PAIR(_mm256_min_ps, a, b);
}
ISO_INLINE vf v_sqrt(vf a)
{
    return PAIR(_mm256_sqrt_ps, a);
}
ISO_INLINE vf v_first(vf a, size_t n)
{
    return (vf){v8_first(a.low, n), n > 8 ? v8_first(a.high, n - 8) : _mm256_setzero_ps()};
}
ISO_INLINE vf v_times_pow2(vf a, vf t)
{
    return PAIR(v8_times_pow2, a, t);
}
ISO_INLINE vf v_mantissa(vf *e, vf a)
{
    return (vf){v8_mantissa(&e->low, a.low), v8_mantissa(&e->high, a.high)};
}
ISO_INLINE float v_sum(vf a)
{
    return v8_sum(_mm256_add_ps(a.low, a.high));
}
ISO_INLINE float v_largest(vf a)
{
    return v8_largest(_mm256_max_ps(a.low, a.high));
}
ISO_INLINE vf v_load_twice(const float *p)
{
    return (vf){_mm256_loadu_ps(p), _mm256_loadu_ps(p)};
}
ISO_INLINE vf v_swap_halves(vf a)
{
    return (vf){a.high, a.low};
}
ISO_INLINE vf v_sums(const vf x[16])
{
    v8 sum[16];
    for (size_t i = 0; i < 16; i++)
        sum[i] = _mm256_add_ps(x[i].low, x[i].high);
    return (vf){v8_sums(sum), v8_sums(sum + 8)};
}

#endif
#endif

/* --- on top of the three --- */

/* The first min(n, VW) floats; the other lanes are 0, or are not written. */
ISO_INLINE vf v_load_some(const float *p, size_t n)
{
    return n >= VW ? v_load(p) : v_load_n(p, n);
}
ISO_INLINE void v_store_some(float *p, vf x, size_t n)
{
    if (n >= VW)
        v_store(p, x);
    else
        v_store_n(p, x, n);
}

/* x = n ln 2 + r with whole n and |r| ≤ ln 2/2; `t` receives V_ROUND + n. */
ISO_INLINE vf v_mod_ln2(vf *t, vf x)
{
    *t = v_fma(x, v_set1(V_LOG2_E), v_set1(V_ROUND));
    vf n = v_sub(*t, v_set1(V_ROUND));
    /* ln 2 in two pieces, the first with few enough bits that n times it is exact. */
    return v_fma(n, v_set1(2.12194440e-4f), v_fma(n, v_set1(-0.693359375f), x));
}

/* 2^x for |x| ≤ 125, relative error below 2e-7: x is a whole number and r, |r| ≤ ½, and 2^r has
 * degree 5, fitted for the smallest largest relative error, 9.4e-8; the rest is rounding.  NaN
 * stays NaN. */
ISO_INLINE vf v_exp2_small(vf x)
{
    vf t = v_add(x, v_set1(V_ROUND)), r = v_sub(x, v_sub(t, v_set1(V_ROUND)));
    vf q = v_set1(0x1.5bda40p-10f);
    q = v_fma(q, r, v_set1(0x1.3ce8acp-7f));
    q = v_fma(q, r, v_set1(0x1.c6b6d8p-5f));
    q = v_fma(q, r, v_set1(0x1.ebf9c2p-3f));
    q = v_fma(q, r, v_set1(0x1.62e42ap-1f));
    return v_times_pow2(v_fma(q, r, v_set1(1)), t);
}

/* e^x − 1, relative error below 2e-7 near 0, too: (2^n − 1) + 2^n (e^r − 1), where e^r − 1 is
 * r + r² q(r), q of degree 4 fitted as above, 3.1e-9.  x outside ±87 counts as ±87. */
ISO_INLINE vf v_expm1(vf x)
{
    vf t, r = v_mod_ln2(&t, v_min(v_set1(87), v_max(v_set1(-87), x)));
    vf q = v_set1(0x1.6a2434p-10f);
    q = v_fma(q, r, v_set1(0x1.1239e2p-7f));
    q = v_fma(q, r, v_set1(0x1.5558f2p-5f));
    q = v_fma(q, r, v_set1(0x1.555492p-3f));
    q = v_fma(q, r, v_set1(0x1.fffffcp-2f));
    vf scale = v_times_pow2(v_set1(1), t);
    return v_fma(scale, v_fma(v_mul(q, r), r, r), v_sub(scale, v_set1(1)));
}

/* ln x for x > 0 that is not denormal; NaN stays NaN and infinity becomes it.  ln(1 + f) is
 * f − f²/2 + f³ q(f), fitted for the smallest largest relative error, 3.2e-8. */
ISO_INLINE vf v_log(vf x)
{
    vf e, f = v_sub(v_mantissa(&e, x), v_set1(1));
    vf q = v_set1(0x1.645ed6p-4f);
    q = v_fma(q, f, v_set1(-0x1.2432d8p-3f));
    q = v_fma(q, f, v_set1(0x1.31745ep-3f));
    q = v_fma(q, f, v_set1(-0x1.538246p-3f));
    q = v_fma(q, f, v_set1(0x1.98d7f2p-3f));
    q = v_fma(q, f, v_set1(-0x1.000382p-2f));
    q = v_fma(q, f, v_set1(0x1.5556d8p-2f));
    q = v_fma(q, f, v_set1(-0.5f));
    f = v_add(f, v_sub(x, x));
    return v_fma(e, v_set1(0.693147181f), v_fma(v_mul(q, f), f, f));
}

#endif
