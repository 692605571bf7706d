/* The kernels for AVX-512 with bf16 dot products but no tiles (Cooper Lake, Zen 4 and later):
 * 8 x 32 of C in sixteen registers, a pair of A's row against 32 columns of B at a time. */
#if !defined(ISO_VEC_FILL)
#define ISO_VEC_FILL iso_kern_fill_avx512bf16
#endif
#include "kern/gemm_bf16.inc.h"

#include <immintrin.h>

enum { BAND_ROWS = 8 }; /* of C in registers */

typedef float floats __attribute__((vector_size(64)));

#if !defined(ISO_BF16_EMULATE)

/* c[j] += a.first b[j].first + a.second b[j].second */
ISO_INLINE floats dot_pairs(floats c, uint32_t a, words b)
{
    return (floats)_mm512_dpbf16_ps((__m512)c, (__m512bh)_mm512_set1_epi32((int)a), (__m512bh)b);
}

#else /* its twin in plain C, so that the tests run this file on every machine */

ISO_INLINE floats dot_pairs(floats c, uint32_t a, words b)
{
    words first = (words){0} + (a << 16), second = (words){0} + (a & 0xffff0000u);
    c += (floats)first * (floats)(b << 16);
    return c + (floats)second * (floats)(b & 0xffff0000u);
}

#endif

static void begin_bf16(void)
{
}

static void end_bf16(void)
{
}

ISO_INLINE floats load_floats(const float *p)
{
    floats x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* c[8, 32] from eight rows of a tile of the band, which starts at `a`. */
static void micro_rows(float *c, const float *plus, size_t ldc, const uint32_t *a,
                       const uint32_t *panel, size_t blocks)
{
    floats left[BAND_ROWS] = {{0}}, right[BAND_ROWS] = {{0}};
    for (size_t i = 0; plus && i < BAND_ROWS; i++) {
        left[i] = load_floats(plus + i * ldc);
        right[i] = load_floats(plus + i * ldc + TILE);
    }
    for (size_t block = 0; block < blocks; block++, a += 2 * WORDS, panel += 2 * WORDS) {
        for (size_t k = 0; k < TILE; k++) {
            words b_left, b_right;
            memcpy(&b_left, panel + k * TILE, sizeof b_left);
            memcpy(&b_right, panel + WORDS + k * TILE, sizeof b_right);
#pragma GCC unroll 8
            for (size_t i = 0; i < BAND_ROWS; i++) {
                left[i] = dot_pairs(left[i], a[i * TILE + k], b_left);
                right[i] = dot_pairs(right[i], a[i * TILE + k], b_right);
            }
        }
    }
    for (size_t i = 0; i < BAND_ROWS; i++) {
        memcpy(c + i * ldc, &left[i], sizeof left[i]);
        memcpy(c + i * ldc + TILE, &right[i], sizeof right[i]);
    }
}

static void micro_bf16(float *c, const float *plus, size_t ldc, const uint32_t *band,
                       const uint32_t *panel, size_t blocks)
{
    for (size_t row = 0; row < SIDE; row += BAND_ROWS)
        micro_rows(c + row * ldc, plus ? plus + row * ldc : NULL, ldc,
                   band + row / TILE * WORDS + row % TILE * TILE, panel, blocks);
}
