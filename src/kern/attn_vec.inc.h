/* Causal attention in vector registers; part of kern_vec.inc.h.
 *
 * Flash-style (Dao et al., "FlashAttention", 2022), with the tiles chosen for a CPU: a chunk of
 * keys and values is packed for the gemm and stays in L2, and MR query rows at a time pass by it.
 * Their scores, MR x chunk, never leave L1, and each group of rows stops at its own diagonal, so
 * next to nothing above the diagonal is computed.  Scores are small (kern.h), so exponentials need
 * no shift by the maximum, and only the sum of each row carries over from chunk to chunk.
 *
 * In memory at any time: one chunk, one band of scores, one number per row; never T x T. */

enum {
    FWD_KEYS = 256, /* keys of a chunk, forward */
    BWD_KEYS = 128, /* and backward, where a block of scores must stay in L2 as well */
    BWD_ROWS = (V_WIDE ? 10 : 8) *
               MR, /* query rows of such a block: the depth of the products dSᵀQ and PᵀdO */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Cuts n floats off the scratch memory, on a 64-byte boundary. */
static float *take(float **scratch, size_t n)
{
    float *p = *scratch;
    *scratch += (n + 15) / 16 * 16;
    return p;
}

/* The query rows first..first+rows-1 see this many keys of the n that start at c0. */
static size_t seen(size_t first, size_t rows, size_t c0, size_t n)
{
    return smaller(n, first + rows - c0);
}

static float score_scale(size_t Q)
{
    return (float)(1 / sqrt((double)Q));
}

/* n rows of a head, Q columns that lie `ld` apart, as a right-hand side: where they are when they
 * are whole vectors, else packed in `room`. */
static struct rhs head_rhs(float *room, const float *x, size_t ld, size_t n, size_t Q)
{
    if (Q % VW == 0)
        return (struct rhs){x, ld, NR};
    pack_plain(room, x, ld, n, Q);
    return packed_rhs(room, n);
}

/* Asks for rows of Q floats, ld apart.  Those of a head come from far away, and lie in too many
 * pages for the CPU to foresee them; to ask for rows that are not there harms nothing. */
static void fetch_rows(const float *x, size_t ld, size_t rows, size_t Q)
{
    enum { LINE = 16 };
    for (size_t t = 0; t < rows; t++)
        for (size_t i = 0; i < Q; i += LINE)
            _mm_prefetch((const char *)(x + t * ld + i), _MM_HINT_T0);
}

/* One row of `n` scores becomes 2^s; entries n..width become 0.  Returns their sum. */
static float exp_row(float *s, size_t n, size_t width)
{
    vf total = v_set1(0);
    size_t i = 0;
    for (; i + VW <= n; i += VW) {
        vf p = v_exp2_small(v_load(s + i));
        total = v_add(total, p);
        v_store(s + i, p);
    }
    for (; i < width; i += VW) { /* of the first of these a part is seen, of the others nothing */
        vf p = v_set1(0);
        if (i < n)
            p = v_first(v_exp2_small(v_load(s + i)), n - i);
        total = v_add(total, p);
        v_store(s + i, p);
    }
    return v_sum(total);
}

/* One head against the chunk of keys c0..c0+n-1.  Query t is at position first + t. */
static void attend_chunk(float *out, float *sum, const struct iso_attended *x, float *scratch,
                         size_t c0, size_t n, size_t D, size_t Q)
{
    enum { WIDTH = FWD_KEYS + NR };
    float *keys = take(&scratch, Q * padded(n)), *values = take(&scratch, n * padded(Q));
    float *band = take(&scratch, MR * WIDTH);
    size_t first = x->first;
    pack_transposed(keys, x->kv + c0 * x->ldkv, x->ldkv, Q, n, score_scale(Q) * V_LOG2_E);
    struct rhs v = head_rhs(values, x->kv + c0 * x->ldkv + D, x->ldkv, n, Q);
    for (size_t t = c0 > first ? c0 - first : 0; t < x->T; t += MR) {
        size_t rows = smaller(MR, x->T - t), width = seen(first + t, rows, c0, n);
        float *to = out + t * D;
        fetch_rows(to, D, rows, Q); /* they come while the scores are computed */
        multiply_rows(band, NULL, WIDTH, (struct lhs){x->q + t * x->ldq, x->ldq, 1, 0},
                      packed_rhs(keys, Q), Q, rows, width);
        for (size_t r = 0; r < rows; r++)
            sum[t + r] += exp_row(band + r * WIDTH, seen(first + t + r, 1, c0, n), width);
        multiply_rows(to, c0 > 0 ? to : NULL, D, (struct lhs){band, WIDTH, 1, 0}, v, width, rows,
                      Q);
        for (size_t r = t; r < t + rows && first + r < c0 + n; r++) /* these rows have seen all */
            scale_vec(out + r * D, 1 / sum[r], out + r * D, Q);
    }
}

static void attention_vec(float *out, float *lse, struct iso_attended x, struct iso_heads heads,
                          struct iso_ws *ws)
{
    size_t H = heads.H, Q = heads.Q, T = x.T, n_keys = x.first + T;
    for (size_t h = 0; h < H; h++, x.q += Q, x.kv += Q, lse += T) {
        fill_vec(lse, 0, T); /* the sums, whose logarithms follow */
        for (size_t c0 = 0; c0 < n_keys; c0 += FWD_KEYS)
            attend_chunk(out + h * Q, lse, &x, (float *)(void *)ws->bytes, c0,
                         smaller(FWD_KEYS, n_keys - c0), heads.D, Q);
        for (size_t t = 0; t < T; t += VW)
            v_store_some(lse + t, v_log(v_load_some(lse + t, T - t)), T - t);
    }
    ws->macs += iso_attention_macs(x.first, T, H * Q);
}

/* One head of the backward, and one chunk of its keys, packed for the three products that have
 * it on the right. */
struct attn_bwd {
    float *dqkv;
    const float *dout, *lse, *qkv;
    const float *drop; /* [T]: scale dout·out */
    float *keys_t, *values_t, *keys;
    struct rhs k;
    float *p, *ds;              /* [BWD_ROWS, BWD_KEYS] */
    float *queries, *gradients; /* the rows of a block, packed */
    size_t c0, n, T, D, Q;
};

/* p = 2^(s − lse) and ds = p (dp − drop) for the n pairs of a row that exist; the scores come in p
 * and the dp in ds.  The next MR entries or more become 0: so far reach the products of the MR rows
 * and of the MR keys that meet on the diagonal. */
static void score_row_bwd(float *p, float *ds, float lse, float drop, size_t n)
{
    size_t i = 0;
    for (; i < n; i += VW) {
        vf e = v_exp2_small(v_sub(v_load(p + i), v_set1(lse)));
        if (n - i < VW)
            e = v_first(e, n - i);
        vf d = v_sub(v_load(ds + i), v_set1(drop));
        v_store(p + i, e);
        v_store(ds + i, v_mul(e, n - i < VW ? v_first(d, n - i) : d));
    }
    if (i < BWD_KEYS) {
        v_store(p + i, v_set1(0));
        v_store(ds + i, v_set1(0));
    }
}

/* MR query rows: their part of p and ds, and dq += ds K. */
static void query_group_bwd(const struct attn_bwd *b, float *p, float *ds, size_t t, size_t rows)
{
    size_t D = b->D, Q = b->Q, width = seen(t, rows, b->c0, b->n);
    float *dq = b->dqkv + t * 3 * D;
    if (b->c0 == 0) /* q, k and v of the next head, if any, once a head */
        fetch_rows(b->qkv + t * 3 * D + Q, D, 3 * rows, Q);
    multiply_rows(p, NULL, BWD_KEYS, (struct lhs){b->qkv + t * 3 * D, 3 * D, 1, 0},
                  packed_rhs(b->keys_t, Q), Q, rows, width);
    multiply_rows(ds, NULL, BWD_KEYS, (struct lhs){b->dout + t * D, D, 1, 0},
                  packed_rhs(b->values_t, Q), Q, rows, width);
    for (size_t r = 0; r < rows; r++)
        score_row_bwd(p + r * BWD_KEYS, ds + r * BWD_KEYS, V_LOG2_E * b->lse[t + r], b->drop[t + r],
                      seen(t + r, 1, b->c0, b->n));
    multiply_rows(dq, b->c0 > 0 ? dq : NULL, 3 * D, (struct lhs){ds, BWD_KEYS, 1, 0}, b->k, width,
                  rows, Q);
}

/* A block of query rows: all of dq's part, then dk += dsᵀ q and dv += pᵀ dout. */
static void block_bwd(const struct attn_bwd *b, size_t t0, size_t rows)
{
    size_t D = b->D, Q = b->Q, width = seen(t0, rows, b->c0, b->n);
    for (size_t r = 0; r < rows; r += MR)
        query_group_bwd(b, b->p + r * BWD_KEYS, b->ds + r * BWD_KEYS, t0 + r,
                        smaller(MR, rows - r));
    struct rhs queries = head_rhs(b->queries, b->qkv + t0 * 3 * D, 3 * D, rows, Q);
    struct rhs gradients = head_rhs(b->gradients, b->dout + t0 * D, D, rows, Q);
    float *dk = b->dqkv + b->c0 * 3 * D + D, *dv = dk + D;
    for (size_t j = 0; j < width; j += MR) {
        /* Rows before the first of these keys have not seen them. */
        size_t from = b->c0 + j > t0 ? b->c0 + j - t0 : 0, keys = smaller(MR, width - j);
        size_t at = from * BWD_KEYS + j;
        float *to_k = dk + j * 3 * D, *to_v = dv + j * 3 * D;
        multiply_rows(to_k, to_k, 3 * D, (struct lhs){b->ds + at, 1, BWD_KEYS, 0},
                      rhs_from(queries, from), rows - from, keys, Q);
        multiply_rows(to_v, to_v, 3 * D, (struct lhs){b->p + at, 1, BWD_KEYS, 0},
                      rhs_from(gradients, from), rows - from, keys, Q);
    }
}

static void chunk_bwd(struct attn_bwd *b)
{
    size_t D = b->D, Q = b->Q;
    const float *keys = b->qkv + b->c0 * 3 * D + D, *values = keys + D;
    float scale = score_scale(Q);
    pack_transposed(b->keys_t, keys, 3 * D, Q, b->n, scale * V_LOG2_E);
    pack_transposed(b->values_t, values, 3 * D, Q, b->n, scale);
    b->k = head_rhs(b->keys, keys, 3 * D, b->n, Q);
    for (size_t j = b->c0; j < b->c0 + b->n; j++) {
        fill_vec(b->dqkv + j * 3 * D + D, 0, Q);
        fill_vec(b->dqkv + j * 3 * D + 2 * D, 0, Q);
    }
    for (size_t t = b->c0; t < b->T; t += BWD_ROWS)
        block_bwd(b, t, smaller(BWD_ROWS, b->T - t));
}

/* dot[t] = factor x[t,:]·y[t,:] for rows of Q that lie D apart. */
static void row_dots(float *dot, float factor, const float *x, const float *y, size_t D, size_t T,
                     size_t Q)
{
    vf sums[VW] = {v_set1(0)};
    for (size_t t0 = 0, n; t0 < T; t0 += n) {
        n = smaller(VW, T - t0);
        for (size_t t = 0; t < n; t++)
            sums[t] = lane_dot(x + (t0 + t) * D, y + (t0 + t) * D, Q);
        v_store_some(dot + t0, v_mul(v_sums(sums), v_set1(factor)), n);
    }
}

static void attention_bwd_vec(float *dqkv, const float *dout, const float *out, const float *lse,
                              const float *qkv, size_t T, struct iso_heads heads, struct iso_ws *ws)
{
    size_t H = heads.H, Q = heads.Q, D = heads.D;
    float *scratch = (float *)(void *)ws->bytes, *drop = take(&scratch, T);
    struct attn_bwd b = {.drop = drop, .T = T, .D = D, .Q = Q};
    b.keys_t = take(&scratch, Q * padded(BWD_KEYS));
    b.values_t = take(&scratch, Q * padded(BWD_KEYS));
    b.keys = take(&scratch, BWD_KEYS * padded(Q));
    b.p = take(&scratch, BWD_ROWS * BWD_KEYS);
    b.ds = take(&scratch, BWD_ROWS * BWD_KEYS);
    b.queries = take(&scratch, BWD_ROWS * padded(Q));
    b.gradients = take(&scratch, BWD_ROWS * padded(Q));
    for (size_t h = 0; h < H; h++) {
        b.dqkv = dqkv + h * Q, b.dout = dout + h * Q, b.qkv = qkv + h * Q, b.lse = lse + h * T;
        row_dots(drop, score_scale(Q), b.dout, out + h * Q, D, T, Q);
        for (b.c0 = 0; b.c0 < T; b.c0 += BWD_KEYS) {
            b.n = smaller(BWD_KEYS, T - b.c0);
            chunk_bwd(&b);
        }
    }
    ws->macs += 2 * iso_attention_macs(0, T, H * Q);
}
