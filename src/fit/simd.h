/* One body, compiled twice: for the compiler's default target and for AVX2, chosen at run time.
 *
 * Numbers are worked on four at a time with the vector extension that gcc and clang share; on a
 * machine with narrower registers the compiler splits them.  No fused operations are used, so
 * both versions give the same digits.
 *
 *     ISO_INLINE void body(double *out, size_t n) { ... }
 *     ISO_TWICE(static, thing, body, (double *out, size_t n), (out, n))
 */
#ifndef ISO_FIT_SIMD_H
#define ISO_FIT_SIMD_H

#include <stdint.h>

/* Vectors never cross a call that is not inlined, so no calling convention is at stake. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef double v4d __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t v4i __attribute__((vector_size(32), aligned(8), may_alias));

#define ISO_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__) && !defined(__AVX2__)
#define ISO_TWICE(linkage, name, body, parameters, arguments)                                      \
    __attribute__((target("avx2"))) static void name##_avx2 parameters                             \
    {                                                                                              \
        body arguments;                                                                            \
    }                                                                                              \
    linkage void name parameters                                                                   \
    {                                                                                              \
        if (__builtin_cpu_supports("avx2"))                                                        \
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

#endif
