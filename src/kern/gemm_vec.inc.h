/* Matrix product in vector registers; part of kern_vec.inc.h.
 *
 * C[M,N] = A B in the manner of Goto and van de Geijn ("Anatomy of high-performance matrix
 * multiplication", 2008), around the micro-kernel of panel_vec.inc.h:
 *
 *   for each block of KC steps                        a panel's part, KC x NR, fills half of L1
 *     for each block of MC rows                       its part of A, MC x KC, stays in L2
 *       for each panel, for each MR rows: micro
 *
 * The blocks of k are equal and are added in ascending order, so an element depends on K alone. */

enum { KC = 320, MC = 266 / MR * MR }; /* a sequence of 256 is one block */

static size_t pack_bytes_vec(size_t K, size_t N)
{
    return padded(N) * K * sizeof(float);
}

static void pack_vec(struct iso_packed *b, const float *src, size_t ld, bool transposed)
{
    if (transposed)
        pack_transposed(b->bytes, src, ld, b->K, b->N, 1);
    else
        pack_plain(b->bytes, src, ld, b->K, b->N);
}

/* A transposed block, M rows and K steps, as groups of MR rows [K][MR]: the strided rows of the
 * source are read along once instead of MR numbers at a time.  `left` ≥ M columns of the source
 * may be read. */
static void pack_lhs(float *to, const float *a, size_t lda, size_t M, size_t K, size_t left)
{
    enum { BLOCK = 16 };
    for (size_t k0 = 0; k0 < K; k0 += BLOCK)
        for (size_t m = 0; m < M; m += MR)
            for (size_t k = k0; k < K && k < k0 + BLOCK; k++) {
                float *at = to + m * K + k * MR;
                vf x = v_load_some(a + k * lda + m, left - m);
                /* A whole vector spills into the next step, which is written later; behind the
                 * last step lies the next group, which must not be touched. */
                if (k + 1 < K)
                    v_store(at, x);
                else
                    v_store_n(at, x, MR);
            }
}

/* Addresses 4 KB apart share a set of L1, which holds 8 to 12 lines: rows that lie so push each
 * other out. */
static bool rows_collide(size_t ld)
{
    return ld % (4096 / sizeof(float)) == 0;
}

/* A block of M rows and K steps, as rows that lie `ld` apart. */
static void spread_lhs(float *to, size_t ld, const float *a, size_t lda, size_t M, size_t K)
{
    for (size_t m = 0; m < M; m++)
        copy_vec(to + m * ld, a + m * lda, K);
}

/* C[M,N] = (plus ? plus : 0) + A[M,K] · b. */
static void multiply(float *c, const float *plus, size_t ldc, const float *a, size_t lda,
                     bool transposed_a, struct rhs b, size_t K, size_t N, size_t M,
                     struct iso_ws *ws)
{
    float *packed = (float *)(void *)ws->bytes;
    size_t blocks = (K + KC - 1) / KC, panels = (N + NR - 1) / NR;
    size_t kc = blocks ? (K + blocks - 1) / blocks : 0; /* equal blocks, none of a few steps */
    /* For a few panels packing costs more than it gains, unless the steps lie so far apart that
     * they push each other out of L1. */
    bool pack = transposed_a && (panels > 4 || panels * lda > 4096);
    /* MR rows are read together: 6 find room in one set, 14 do not. */
    bool spread = MR > 8 && !transposed_a && panels > 1 && rows_collide(lda);
    size_t apart = kc + VW;
    for (size_t k0 = 0; k0 < K; k0 += kc, b.at += kc * b.step, plus = c) {
        size_t k = K - k0 < kc ? K - k0 : kc;
        for (size_t m0 = 0; m0 < M; m0 += MC) {
            size_t m = M - m0 < MC ? M - m0 : MC;
            struct lhs rows = {a + m0 * lda + k0, lda, 1, MR * lda};
            if (pack) {
                pack_lhs(packed, a + k0 * lda + m0, lda, m, k, M - m0);
                rows = (struct lhs){packed, 1, MR, MR * k};
            } else if (transposed_a) {
                rows = (struct lhs){a + k0 * lda + m0, 1, lda, MR};
            } else if (spread) {
                spread_lhs(packed, apart, a + m0 * lda + k0, lda, m, k);
                rows = (struct lhs){packed, apart, 1, MR * apart};
            }
            multiply_rows(c + m0 * ldc, plus ? plus + m0 * ldc : NULL, ldc, rows, b, k, m, N);
        }
    }
    ws->macs += (uint64_t)M * K * N;
}

static void gemm_vec(float *c, size_t ldc, const float *a, size_t lda, bool transposed_a,
                     const struct iso_packed *b, size_t M, const float *plus, struct iso_ws *ws)
{
    multiply(c, plus, ldc, a, lda, transposed_a, packed_rhs(b->bytes, b->K), b->K, b->N, M, ws);
}

/* B is read where it is, as long as whole vectors of it exist and a panel of it fits L1: every step
 * of the panel is used by all groups of rows while it is there, and to pack B would cost a third of
 * a small product. */
static void weight_grad_vec(float *c, const float *a, const float *b, void *room, size_t K,
                            size_t M, size_t N, struct iso_ws *ws)
{
    struct rhs right = {b, N, NR};
    if (N % VW != 0 || rows_collide(N)) {
        pack_plain(room, b, N, K, N);
        right = packed_rhs(room, K);
    }
    multiply(c, c, N, a, M, true, right, K, N, M, ws);
}
