/* One body, compiled twice: for the compiler's default target and for AVX2 with FMA, chosen at run
 * time; and exp and ln of four numbers at once, several times as fast as libm's.
 *
 * Numbers are worked on four at a time with the vector extension that gcc and clang share; on a
 * machine with narrower registers the compiler splits them.  Products and sums may be fused here
 * (and only here), so the last digits depend on the machine, but not on threads or order.
 *
 *     ISO_INLINE void body(double *out, size_t n) { ... }
 *     ISO_TWICE(static, thing, body, (double *out, size_t n), (out, n))
 */
#ifndef ISO_FIT_SIMD_H
#define ISO_FIT_SIMD_H

#include <stddef.h>
#include <stdint.h>

enum { ISO_LANES = 4 }; /* arrays are padded to a multiple of this */

/* Vectors never cross a call that is not inlined, so no calling convention is at stake. */
#pragma GCC diagnostic ignored "-Wpsabi"
#ifdef __clang__
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif

typedef double v4d __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t v4i __attribute__((vector_size(32), aligned(8), may_alias));

#define ISO_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__) && !defined(__AVX2__)
#define ISO_TWICE(linkage, name, body, parameters, arguments)                                      \
    __attribute__((target("avx2,fma"))) static void name##_avx2 parameters                         \
    {                                                                                              \
        body arguments;                                                                            \
    }                                                                                              \
    linkage void name parameters                                                                   \
    {                                                                                              \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))                       \
            name##_avx2 arguments;                                                                 \
        else                                                                                       \
            body arguments;                                                                        \
    }
#else
#define ISO_TWICE(linkage, name, body, parameters, arguments)                                      \
    linkage void name parameters                                                                   \
    {                                                                                              \
        body arguments;                                                                            \
    }
#endif

/* Adding this to |x| < 2^51 leaves the rounded integer in the low bits of the sum. */
#define ISO_ROUNDER 0x1.8p52
/* ln 2 in two parts, so that k ln 2 is exact in its first one. */
#define ISO_LN2_HI 0x1.62e42fefa0000p-1
#define ISO_LN2_LO 0x1.cf79abc9e3b3ap-40

ISO_INLINE v4d splat(double x)
{
    return (v4d){x, x, x, x};
}

ISO_INLINE v4d load4(const double *p)
{
    return *(const v4d *)p;
}

ISO_INLINE void store4(double *p, v4d x)
{
    *(v4d *)p = x;
}

/* yes where the mask is set, else no. */
ISO_INLINE v4d pick4(v4i mask, v4d yes, v4d no)
{
    return (v4d)(((v4i)yes & mask) | ((v4i)no & ~mask));
}

/* exp within 2 units in the last place for x <= 700; 0 below -700.
 * x = k ln 2 + t with |t| <= ln(2)/2, then the Taylor series to t^13 (remainder below 5e-18). */
ISO_INLINE v4d exp4(v4d x)
{
    const v4i too_small = x < splat(-700.0);
    x = pick4(too_small, splat(-700.0), x);
    const v4d shifted = x * 1.4426950408889634 + ISO_ROUNDER;
    const v4d k = shifted - ISO_ROUNDER;
    const v4d t = (x - k * ISO_LN2_HI) - k * ISO_LN2_LO;
    /* Grouped by powers (Estrin): a chain of 13 steps would wait for itself. */
    const v4d t2 = t * t, t4 = t2 * t2;
    const v4d low = (0.5 + t * (1.0 / 6.0)) + t2 * (1.0 / 24.0 + t * (1.0 / 120.0));
    const v4d mid =
        (1.0 / 720.0 + t * (1.0 / 5040.0)) + t2 * (1.0 / 40320.0 + t * (1.0 / 362880.0));
    const v4d high = (1.0 / 3628800.0 + t * (1.0 / 39916800.0)) +
                     t2 * (1.0 / 479001600.0 + t * (1.0 / 6227020800.0));
    const v4d p = 1.0 + (t + t2 * (low + t4 * (mid + t4 * high)));
    /* The low bits of `shifted` are k; moved into the exponent they multiply by 2^k. */
    const v4i scale = ((v4i)shifted + 1023) << 52;
    return (v4d)((v4i)(p * (v4d)scale) & ~too_small);
}

/* ln within 2 units in the last place for normal positive x.
 * x = 2^k m with m in [sqrt(1/2), sqrt(2)) and z = (m-1)/(m+1), |z| <= 0.172, then
 * ln m = 2 (z + z^3/3 + ... + z^23/23) (remainder below 1e-20). */
ISO_INLINE v4d log4(v4d x)
{
    /* Subtracting the bits of sqrt(1/2) first puts the cut between exponents there. */
    const int64_t cut = 0x3fe6a09e667f3bcd;
    const v4i bits = (v4i)x - cut;
    const v4i k = bits >> 52; /* rounds down */
    const v4d m = (v4d)((v4i)x - (k << 52));
    const v4d kd = (v4d)((v4i)splat(ISO_ROUNDER) + k) - ISO_ROUNDER;
    const v4d z = (m - 1.0) / (m + 1.0), w = z * z;
    const v4d w2 = w * w, w4 = w2 * w2;
    const v4d low = (1.0 / 3.0 + w * (1.0 / 5.0)) + w2 * (1.0 / 7.0 + w * (1.0 / 9.0));
    const v4d mid = (1.0 / 11.0 + w * (1.0 / 13.0)) + w2 * (1.0 / 15.0 + w * (1.0 / 17.0));
    const v4d high = (1.0 / 19.0 + w * (1.0 / 21.0)) + w2 * (1.0 / 23.0);
    const v4d p = z + (z * w) * (low + w4 * (mid + w4 * high));
    return kd * ISO_LN2_HI + (p * 2.0 + kd * ISO_LN2_LO);
}

#endif
