/* The tile instructions that kern_amx.c needs, and their twin in plain C.
 *
 * A tile is 16 rows of 64 bytes.  iso_tile_dp(c, a, b) adds to the 16 x 16 floats of tile c the
 * product of tile a (row m: 16 pairs of bf16) and tile b (row k: 16 columns, a pair of bf16 each):
 *     c[m][n] += a[m][k].first b[k][n].first + a[m][k].second b[k][n].second,  k = 0..15.
 * (Intel, "Architecture instruction set extensions programming reference", TDPBF16PS.)
 *
 * TILE is that of gemm_bf16.inc.h.  With ISO_BF16_EMULATE the tiles are arrays, so the tests run
 * kern_amx.c on every machine. */
#ifndef ISO_KERN_AMX_H
#define ISO_KERN_AMX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(ISO_BF16_EMULATE)

#include <immintrin.h>

/* GCC 12's tile intrinsics do not say which memory they read and write, so every
 * one that touches memory is between barriers. */
#define ISO_TILE_MEMORY(p) __asm__ volatile("" : : "r"(p) : "memory")

/* Gives all eight tiles of this thread their full size. */
static inline void iso_tile_begin(void)
{
    struct {
        uint8_t palette, start_row, unused[14];
        uint16_t bytes_per_row[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.bytes_per_row[i] = 64;
        config.rows[i] = TILE;
    }
    ISO_TILE_MEMORY(&config);
    _tile_loadconfig(&config);
}

#define iso_tile_end()   _tile_release()
#define iso_tile_zero(t) _tile_zero(t)
#define iso_tile_load(t, p, stride)                                                                \
    do {                                                                                           \
        ISO_TILE_MEMORY(p);                                                                        \
        _tile_loadd(t, p, stride);                                                                 \
    } while (0)
#define iso_tile_store(t, p, stride)                                                               \
    do {                                                                                           \
        _tile_stored(t, p, stride);                                                                \
        ISO_TILE_MEMORY(p);                                                                        \
    } while (0)
#define iso_tile_dp(c, a, b) _tile_dpbf16ps(c, a, b)

#else

static _Thread_local uint32_t iso_tiles[8][TILE][TILE];

static inline float iso_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline void iso_tile_begin(void)
{
}

static inline void iso_tile_end(void)
{
    memset(iso_tiles, 0xff, sizeof iso_tiles); /* NaN: nothing may outlive its use */
}

static inline void iso_tile_zero(int t)
{
    memset(iso_tiles[t], 0, sizeof iso_tiles[t]);
}

static inline void iso_tile_load(int t, const void *p, size_t stride)
{
    for (size_t i = 0; i < TILE; i++)
        memcpy(iso_tiles[t][i], (const char *)p + i * stride, 64);
}

static inline void iso_tile_store(int t, void *p, size_t stride)
{
    for (size_t i = 0; i < TILE; i++)
        memcpy((char *)p + i * stride, iso_tiles[t][i], 64);
}

static inline void iso_tile_dp(int c, int a, int b)
{
    for (size_t m = 0; m < TILE; m++)
        for (size_t n = 0; n < TILE; n++) {
            float sum = iso_float_of(iso_tiles[c][m][n]);
            for (size_t k = 0; k < TILE; k++) {
                uint32_t x = iso_tiles[a][m][k], y = iso_tiles[b][k][n];
                sum += iso_float_of(x << 16) * iso_float_of(y << 16);
                sum += iso_float_of(x & 0xffff0000u) * iso_float_of(y & 0xffff0000u);
            }
            memcpy(&iso_tiles[c][m][n], &sum, sizeof sum);
        }
}

#endif
#endif
