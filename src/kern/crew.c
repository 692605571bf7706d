/* A crew of threads: see crew.h.
 *
 * One word says what there is to do: the number of the job, the next chunk, how many chunks there
 * are.  Taking a chunk is a compare-and-swap on it, so nobody can take a chunk of a job that is
 * over; and a job's description cannot change while a chunk of it is out, because the leader waits
 * for all of them.  Waiting is spinning: jobs follow each other within microseconds.  A helper that
 * has waited long gives its core away in between. */
#include "kern/crew.h"

#include "base/mem.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    CHUNK_BITS = 16,
    MIN_ROWS = 32,   /* of a product's chunk, a few times those of a micro-kernel */
    WORTH = 1 << 20, /* multiply-adds: sharing fewer costs as much as it saves */
    PATIENCE = 2000, /* looks before a waiting helper lets others have its core */
};

/* Chunk i of n of an operation, on the table that the crew shares out. */
typedef void chunk_fn(const struct iso_kern *k, const void *op, size_t i, size_t n,
                      struct iso_ws *ws);

struct iso_crew {
    struct iso_kern table;       /* the leader's */
    const struct iso_kern *kern; /* that of a thread alone */
    int helpers;
    struct iso_ws *ws; /* [helpers] */
    /* The operation at hand. */
    chunk_fn *run;
    const void *op;
    _Alignas(64) atomic_uint_fast64_t work; /* job number · 2^32 + chunks · 2^16 + next chunk */
    _Alignas(64) atomic_size_t done;        /* chunks of this job */
    _Alignas(64) atomic_bool open;
};

/* --- taking chunks --- */

/* One chunk, if there is one left. */
static bool take_chunk(struct iso_crew *c, struct iso_ws *ws)
{
    uint_fast64_t work = atomic_load_explicit(&c->work, memory_order_acquire);
    size_t next, n;
    do {
        next = work & ((1u << CHUNK_BITS) - 1);
        n = work >> CHUNK_BITS & ((1u << CHUNK_BITS) - 1);
        if (next == n)
            return false;
    } while (!atomic_compare_exchange_weak(&c->work, &work, work + 1));
    c->run(c->kern, c->op, next, n, ws);
    atomic_fetch_add(&c->done, 1);
    return true;
}

static void pause_core(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Runs n chunks on whoever is there. */
static void share_out(struct iso_ws *ws, chunk_fn *run, const void *op, size_t n)
{
    struct iso_crew *c = ws->crew;
    if (n <= 1) {
        run(c->kern, op, 0, 1, ws);
        return;
    }
    c->run = run;
    c->op = op;
    atomic_store(&c->done, 0);
    uint_fast64_t job = (atomic_load(&c->work) >> 2 * CHUNK_BITS) + 1;
    atomic_store_explicit(&c->work, job << 2 * CHUNK_BITS | n << CHUNK_BITS, memory_order_release);
    while (take_chunk(c, ws))
        ;
    for (unsigned looks = 0; atomic_load_explicit(&c->done, memory_order_acquire) < n; looks++)
        if (looks < PATIENCE)
            pause_core();
        else
            sched_yield();
}

void iso_crew_help(struct iso_crew *c, int i)
{
    for (unsigned looks = 0; atomic_load_explicit(&c->open, memory_order_acquire); looks++) {
        if (take_chunk(c, &c->ws[i]))
            looks = 0;
        else if (looks < PATIENCE)
            pause_core();
        else
            sched_yield();
    }
}

/* Chunk i of n items begins here. */
static size_t begin(size_t items, size_t i, size_t n)
{
    return items * i / n;
}

/* --- products, by rows --- */

struct product {
    float *c;
    const float *a;
    size_t ldc, lda, M;
    bool transposed_a;
    const struct iso_packed *b;
    const float *plus;
};

static void product_rows(const struct iso_kern *k, const void *op, size_t i, size_t n,
                         struct iso_ws *ws)
{
    const struct product *p = op;
    size_t first = begin(p->M, i, n), rows = begin(p->M, i + 1, n) - first;
    k->gemm(p->c + first * p->ldc, p->ldc, p->a + first * (p->transposed_a ? 1 : p->lda), p->lda,
            p->transposed_a, p->b, rows, p->plus ? p->plus + first * p->ldc : NULL, ws);
}

static void gemm_crew(float *c, size_t ldc, const float *a, size_t lda, bool transposed_a,
                      const struct iso_packed *b, size_t M, const float *plus, struct iso_ws *ws)
{
    struct product p = {c, a, ldc, lda, M, transposed_a, b, plus};
    size_t all = 2 * (size_t)(ws->crew->helpers + 1), most = M / MIN_ROWS;
    share_out(ws, product_rows, &p, M * b->K * b->N < WORTH ? 1 : most < all ? most : all);
}

/* As in the table's, the same bits as pack and gemm. */
static void weight_grad_crew(float *c, const float *a, const float *b, void *room, size_t K,
                             size_t M, size_t N, struct iso_ws *ws)
{
    struct iso_packed packed = {room, K, N};
    ws->crew->kern->pack(&packed, b, N, false);
    gemm_crew(c, N, a, M, true, &packed, M, c, ws);
}

/* --- attention, by heads --- */

/* Chunk i of n of the heads; returns the first of them. */
static size_t cut(struct iso_heads *heads, size_t i, size_t n)
{
    size_t first = begin(heads->H, i, n);
    heads->H = begin(heads->H, i + 1, n) - first;
    return first;
}

struct forward {
    float *out, *lse;
    struct iso_attended x;
    struct iso_heads heads;
};

static void forward_heads(const struct iso_kern *k, const void *op, size_t i, size_t n,
                          struct iso_ws *ws)
{
    const struct forward *f = op;
    struct iso_attended x = f->x;
    struct iso_heads heads = f->heads;
    size_t h = cut(&heads, i, n), at = h * heads.Q;
    x.q += at;
    x.kv += at;
    k->attention(f->out + at, f->lse + h * x.T, x, heads, ws);
}

static void attention_crew(float *out, float *lse, struct iso_attended x, struct iso_heads heads,
                           struct iso_ws *ws)
{
    struct forward f = {out, lse, x, heads};
    size_t macs = x.T * (x.first + x.T) * heads.H * heads.Q;
    share_out(ws, forward_heads, &f, macs < WORTH ? 1 : heads.H);
}

struct backward {
    float *dqkv;
    const float *dout, *out, *lse, *qkv;
    size_t T;
    struct iso_heads heads;
};

static void backward_heads(const struct iso_kern *k, const void *op, size_t i, size_t n,
                           struct iso_ws *ws)
{
    const struct backward *b = op;
    struct iso_heads heads = b->heads;
    size_t h = cut(&heads, i, n), at = h * heads.Q;
    k->attention_bwd(b->dqkv + at, b->dout + at, b->out + at, b->lse + h * b->T, b->qkv + at, b->T,
                     heads, ws);
}

static void attention_bwd_crew(float *dqkv, const float *dout, const float *out, const float *lse,
                               const float *qkv, size_t T, struct iso_heads heads,
                               struct iso_ws *ws)
{
    struct backward b = {dqkv, dout, out, lse, qkv, T, heads};
    share_out(ws, backward_heads, &b, T * T * heads.H * heads.Q < WORTH ? 1 : heads.H);
}

/* --- the crew --- */

struct iso_crew *iso_crew_new(const struct iso_kern *kern, int helpers, size_t ws_bytes)
{
    struct iso_crew *c = iso_alloc_aligned(1, sizeof *c);
    *c = (struct iso_crew){.table = *kern, .kern = kern, .helpers = helpers};
    c->table.gemm = gemm_crew;
    c->table.weight_grad = weight_grad_crew;
    c->table.attention = attention_crew;
    c->table.attention_bwd = attention_bwd_crew;
    c->ws = ISO_NEW_N(struct iso_ws, (size_t)helpers);
    for (int i = 0; i < helpers; i++)
        c->ws[i].bytes = iso_alloc_aligned(ws_bytes, 1);
    return c;
}

void iso_crew_free(struct iso_crew *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->helpers; i++)
        free(c->ws[i].bytes);
    free(c->ws);
    free(c);
}

const struct iso_kern *iso_crew_kern(const struct iso_crew *c)
{
    return &c->table;
}

uint64_t iso_crew_macs(const struct iso_crew *c)
{
    uint64_t sum = 0;
    for (int i = 0; i < c->helpers; i++)
        sum += c->ws[i].macs;
    return sum;
}

void iso_crew_open(struct iso_crew *c)
{
    atomic_store(&c->open, true);
}

void iso_crew_close(struct iso_crew *c)
{
    atomic_store_explicit(&c->open, false, memory_order_release);
}
