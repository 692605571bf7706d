/* Matrix products of bf16 operands with fp32 sums, for the files that bring a micro-kernel:
 *
 *     static void begin_bf16(void), end_bf16(void);   around every product
 *     static void micro_bf16(float *c, const float *plus, size_t ldc, const uint32_t *band,
 *                            const uint32_t *panel, size_t blocks);
 *
 * where c[32, 32] = plus + one band times one panel, over `blocks` blocks of 32 steps; a `plus` of
 * NULL counts as zeros.
 *
 * A product over k does not depend on the order of the k, so a pair of bf16 in a tile is
 * (k, k + 16) of a block of 32 steps, for both sides alike: packing is then plain arithmetic on
 * whole vectors, without a shuffle.
 *
 *   tile:       16 rows of 16 words, a word being a pair
 *   B, packed:  panels of 32 columns; a panel has, per block of 32 steps, two tiles of 16 columns
 *   A, packed in scratch memory per block of BF16_MC rows and BF16_KC steps:
 *               bands of 32 rows; a band has, per block of 32 steps, two tiles of 16 rows
 *   C:          32 x 32 at a time; at the edges through a buffer
 *
 * Rows, columns and steps that do not exist are packed as zeros.
 *
 * A file kern_<isa>.c defines ISO_VEC_FILL, includes this and then defines the three; every
 * other kernel of its set is the AVX-512 code. */
#define ISO_VEC_PACK_BYTES  pack_bytes_bf16
#define ISO_VEC_PACK        pack_bf16
#define ISO_VEC_GEMM        gemm_bf16
#define ISO_VEC_WEIGHT_GRAD weight_grad_bf16
#define ISO_VEC_BF16

#include "kern/kern.h"

static size_t pack_bytes_bf16(size_t K, size_t N);
static void pack_bf16(struct iso_packed *b, const float *src, size_t ld, bool transposed);
static void gemm_bf16(float *c, size_t ldc, const float *a, size_t lda, bool transposed_a,
                      const struct iso_packed *b, size_t M, const float *plus, struct iso_ws *ws);
static void weight_grad_bf16(float *c, const float *a, const float *b, void *room, size_t K,
                             size_t M, size_t N, struct iso_ws *ws);
static void begin_bf16(void), end_bf16(void);
static void micro_bf16(float *c, const float *plus, size_t ldc, const uint32_t *band,
                       const uint32_t *panel, size_t blocks);

#include "kern/kern_vec.inc.h"

enum {
    TILE = 16,           /* rows of a tile, and its columns of 4 bytes */
    SIDE = 2 * TILE,     /* rows, columns and steps that are handled together */
    WORDS = TILE * TILE, /* 4-byte words of a tile */
    BF16_KC = 640,
    BF16_MC = 128, /* the packed part of A: 160 KB */
};

typedef uint32_t words __attribute__((vector_size(64)));

ISO_INLINE words load_words(const float *p, size_t n)
{
    words x = {0};
    if (n >= TILE)
        memcpy(&x, p, sizeof x);
    else
        memcpy(&x, p, n * sizeof *p);
    return x;
}

/* Two floats to a pair of bf16, rounded to nearest even. */
ISO_INLINE words bf16_pair(words first, words second)
{
    first += 0x7fff + ((first >> 16) & 1);
    second += 0x7fff + ((second >> 16) & 1);
    return (first >> 16) | (second & 0xffff0000u);
}

static size_t blocks_of(size_t n)
{
    return (n + SIDE - 1) / SIDE;
}

/* A tile of pairs down the rows of `src`: word [i][j] pairs src[i*ld + j] with
 * src[(i+16)*ld + j], for `steps` rows and `across` columns that exist. */
static void tile_down(uint32_t *to, const float *src, size_t ld, size_t steps, size_t across)
{
    for (size_t i = 0; i < TILE; i++, to += TILE) {
        words none = {0};
        words low = i < steps ? load_words(src + i * ld, across) : none;
        words high = i + TILE < steps ? load_words(src + (i + TILE) * ld, across) : none;
        words pair = bf16_pair(low, high);
        memcpy(to, &pair, sizeof pair);
    }
}

/* A tile of pairs along the rows: word [i][j] pairs src[i*ld + j] with src[i*ld + j + 16]. */
static void tile_along(uint32_t *to, const float *src, size_t ld, size_t rows, size_t steps)
{
    for (size_t i = 0; i < TILE; i++, to += TILE) {
        words none = {0};
        words low = i < rows ? load_words(src + i * ld, steps) : none;
        words high =
            i < rows && steps > TILE ? load_words(src + i * ld + TILE, steps - TILE) : none;
        words pair = bf16_pair(low, high);
        memcpy(to, &pair, sizeof pair);
    }
}

static void transpose_tile(uint32_t *tile)
{
    float from[WORDS], to[WORDS]; /* bits on the move, never numbers */
    memcpy(from, tile, sizeof from);
    for (size_t i = 0; i < TILE; i += 8)
        for (size_t j = 0; j < TILE; j += 8) {
            __m256 row[8];
            for (size_t n = 0; n < 8; n++)
                row[n] = _mm256_loadu_ps(from + (j + n) * TILE + i);
            transpose8(to + i * TILE + j, TILE, row);
        }
    memcpy(tile, to, sizeof to);
}

static size_t pack_bytes_bf16(size_t K, size_t N)
{
    return blocks_of(K) * blocks_of(N) * 2 * WORDS * sizeof(uint32_t);
}

static void pack_bf16(struct iso_packed *b, const float *src, size_t ld, bool transposed)
{
    uint32_t *to = b->bytes;
    for (size_t n0 = 0; n0 < b->N; n0 += SIDE)
        for (size_t k = 0; k < b->K; k += SIDE)
            for (size_t n = n0; n < n0 + SIDE; n += TILE, to += WORDS) {
                size_t columns = n < b->N ? b->N - n : 0, steps = b->K - k;
                if (columns == 0) {
                    memset(to, 0, WORDS * sizeof *to);
                } else if (transposed) {
                    tile_along(to, src + n * ld + k, ld, columns, steps);
                    transpose_tile(to);
                } else {
                    tile_down(to, src + k * ld + n, ld, steps, columns);
                }
            }
}

/* M rows and K steps of A as tiles, in bands of 32 rows. */
static void pack_lhs_bf16(uint32_t *to, const float *a, size_t lda, bool transposed, size_t M,
                          size_t K)
{
    for (size_t m0 = 0; m0 < M; m0 += SIDE)
        for (size_t k = 0; k < K; k += SIDE)
            for (size_t m = m0; m < m0 + SIDE; m += TILE, to += WORDS) {
                size_t rows = m < M ? M - m : 0;
                if (rows == 0) {
                    memset(to, 0, WORDS * sizeof *to);
                } else if (transposed) {
                    tile_down(to, a + k * lda + m, lda, K - k, rows);
                    transpose_tile(to);
                } else {
                    tile_along(to, a + m * lda + k, lda, rows, K - k);
                }
            }
}

/* The same where only rows x columns of the 32 x 32 exist. */
static void micro_edge(float *c, const float *plus, size_t ldc, const uint32_t *band,
                       const uint32_t *panel, size_t blocks, size_t rows, size_t columns)
{
    float whole[SIDE * SIDE] = {0};
    for (size_t i = 0; plus && i < rows; i++)
        memcpy(whole + i * SIDE, plus + i * ldc, columns * sizeof *c);
    micro_bf16(whole, plus ? whole : NULL, SIDE, band, panel, blocks);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * ldc, whole + i * SIDE, columns * sizeof *c);
}

static void gemm_bf16(float *c, size_t ldc, const float *a, size_t lda, bool transposed_a,
                      const struct iso_packed *b, size_t M, const float *plus, struct iso_ws *ws)
{
    uint32_t *bands = (uint32_t *)(void *)ws->bytes;
    const uint32_t *panels = b->bytes;
    size_t K = b->K, N = b->N;
    begin_bf16();
    for (size_t k0 = 0; k0 < K; k0 += BF16_KC, plus = c) {
        size_t k = smaller(BF16_KC, K - k0), blocks = blocks_of(k);
        for (size_t m0 = 0; m0 < M; m0 += BF16_MC) {
            size_t m = smaller(BF16_MC, M - m0);
            pack_lhs_bf16(bands, transposed_a ? a + k0 * lda + m0 : a + m0 * lda + k0, lda,
                          transposed_a, m, k);
            for (size_t n = 0; n < N; n += SIDE)
                for (size_t i = 0; i < m; i += SIDE) {
                    size_t at = (m0 + i) * ldc + n;
                    float *to = c + at;
                    const float *more = plus ? plus + at : NULL;
                    const uint32_t *band = bands + i / SIDE * blocks * 2 * WORDS;
                    const uint32_t *panel =
                        panels + (n / SIDE * blocks_of(K) + k0 / SIDE) * 2 * WORDS;
                    if (m - i >= SIDE && N - n >= SIDE)
                        micro_bf16(to, more, ldc, band, panel, blocks);
                    else
                        micro_edge(to, more, ldc, band, panel, blocks, smaller(SIDE, m - i),
                                   smaller(SIDE, N - n));
                }
        }
    }
    end_bf16();
    ws->macs += (uint64_t)M * K * N;
}

static void weight_grad_bf16(float *c, const float *a, const float *b, void *room, size_t K,
                             size_t M, size_t N, struct iso_ws *ws)
{
    struct iso_packed packed = {room, K, N};
    pack_bf16(&packed, b, N, false);
    gemm_bf16(c, N, a, M, true, &packed, M, c, ws);
}
