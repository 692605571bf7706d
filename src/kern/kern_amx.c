/* The kernels for AMX: the bf16 products in tile registers, 32 x 32 in four of them. */
#if !defined(ISO_VEC_FILL)
#define ISO_VEC_FILL iso_kern_fill_amx
#endif
#include "kern/gemm_bf16.inc.h"

#include "kern/amx.h"

static void begin_bf16(void)
{
    iso_tile_begin();
}

static void end_bf16(void)
{
    iso_tile_end();
}

static void micro_bf16(float *c, const float *plus, size_t ldc, const uint32_t *band,
                       const uint32_t *panel, size_t blocks)
{
    size_t stride = ldc * sizeof *c, row = TILE * sizeof *c; /* in bytes */
    if (plus) {
        iso_tile_load(0, plus, stride);
        iso_tile_load(1, plus + TILE, stride);
        iso_tile_load(2, plus + TILE * ldc, stride);
        iso_tile_load(3, plus + TILE * ldc + TILE, stride);
    } else {
        iso_tile_zero(0);
        iso_tile_zero(1);
        iso_tile_zero(2);
        iso_tile_zero(3);
    }
    for (size_t k = 0; k < blocks; k++, band += 2 * WORDS, panel += 2 * WORDS) {
        iso_tile_load(4, band, row);
        iso_tile_load(5, band + WORDS, row);
        iso_tile_load(6, panel, row);
        iso_tile_load(7, panel + WORDS, row);
        iso_tile_dp(0, 4, 6);
        iso_tile_dp(1, 4, 7);
        iso_tile_dp(2, 5, 6);
        iso_tile_dp(3, 5, 7);
    }
    iso_tile_store(0, c, stride);
    iso_tile_store(1, c + TILE, stride);
    iso_tile_store(2, c + TILE * ldc, stride);
    iso_tile_store(3, c + TILE * ldc + TILE, stride);
}
