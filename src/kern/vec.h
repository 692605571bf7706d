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
ISO_INLINE vf v_round(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/* 2^a for whole a in [-126, 127]. */
ISO_INLINE vf v_pow2(vf a)
{
    __m512i n = _mm512_add_epi32(_mm512_cvtps_epi32(a), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(n, 23));
}
ISO_INLINE float v_sum(vf a)
{
    return _mm512_reduce_add_ps(a);
}
ISO_INLINE float v_largest(vf a)
{
    return _mm512_reduce_max_ps(a);
}

#else /* eight lanes first, then pairs of them */

typedef __m256 v8;

ISO_INLINE __m256i first_lanes(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
ISO_INLINE v8 v8_pow2(v8 a)
{
    __m256i n = _mm256_add_epi32(_mm256_cvtps_epi32(a), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(n, 23));
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
ISO_INLINE vf v_round(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ISO_INLINE vf v_pow2(vf a)
{
    return v8_pow2(a);
}
ISO_INLINE float v_sum(vf a)
{
    return v8_sum(a);
}
ISO_INLINE float v_largest(vf a)
{
    return v8_largest(a);
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
ISO_INLINE vf v_round(vf a)
{
    return (vf){_mm256_round_ps(a.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                _mm256_round_ps(a.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
ISO_INLINE vf v_pow2(vf a)
{
    return PAIR(v8_pow2, a);
}
ISO_INLINE float v_sum(vf a)
{
    return v8_sum(_mm256_add_ps(a.low, a.high));
}
ISO_INLINE float v_largest(vf a)
{
    return v8_largest(_mm256_max_ps(a.low, a.high));
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

/* e^x − 1 for |x| ≤ 87, split as (2^n − 1) + 2^n (e^r − 1) with n = round(x/ln 2), |r| ≤ ln 2/2.
 * e^r − 1 = r + r² q(r), q of degree 4 fitted for the smallest largest relative error of e^r,
 * 3.1e-9; what remains is rounding.  `scale` receives 2^n and `part` e^r − 1. */
ISO_INLINE void v_exp_parts(vf *scale, vf *part, vf x)
{
    vf n = v_round(v_mul(x, v_set1(1.44269504f)));
    /* ln 2 in two pieces, the first with few enough bits that n times it is exact. */
    vf r = v_fma(n, v_set1(-0.693359375f), x);
    r = v_fma(n, v_set1(2.12194440e-4f), r);
    vf q = v_set1(0x1.6a2434p-10f);
    q = v_fma(q, r, v_set1(0x1.1239e2p-7f));
    q = v_fma(q, r, v_set1(0x1.5558f2p-5f));
    q = v_fma(q, r, v_set1(0x1.555492p-3f));
    q = v_fma(q, r, v_set1(0x1.fffffcp-2f));
    *part = v_fma(v_mul(q, r), r, r);
    *scale = v_pow2(n);
}

/* e^x, relative error below 2e-7; x below −87 counts as −87 (1.6e-38), above 87 as 87. */
ISO_INLINE vf v_exp(vf x)
{
    vf scale, part;
    x = v_min(v_set1(87), v_max(v_set1(-87), x));
    v_exp_parts(&scale, &part, x);
    return v_fma(scale, part, scale);
}

/* e^x − 1 with the same relative error near 0, too. */
ISO_INLINE vf v_expm1(vf x)
{
    vf scale, part;
    x = v_min(v_set1(87), v_max(v_set1(-87), x));
    v_exp_parts(&scale, &part, x);
    return v_fma(scale, part, v_sub(scale, v_set1(1)));
}

#endif
