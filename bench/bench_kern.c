/* Speed of the kernels of this machine's table: GFLOP/s, share of the core's measured rate of
 * fused multiply-adds, and the same product by OpenBLAS and oneDNN where they are installed.
 *
 * One thread.  Contestants take turns within one run and the median of the turns counts; time is
 * the thread's CPU time, so that other processes disturb little.  A row whose two halves of turns
 * differ by more than a tenth is marked `unsteady`.  Multiply-adds are counted as kern.h says:
 * attention only has its causal half. */
#include "kern/kern.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 20, CONTESTANTS = 3 };
#define TURN_FLOPS 4e7 /* work of one turn: near half a millisecond */

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *x, size_t n)
{
    double copy[TURNS];
    memcpy(copy, x, n * sizeof *x);
    qsort(copy, n, sizeof *copy, by_value);
    return (copy[(n - 1) / 2] + copy[n / 2]) / 2;
}

/* --- the rate of multiply-adds that registers alone allow --- */

#if defined(__x86_64__)
#define FMA12(r)                                                                                   \
    "vfmadd231ps %%" r "0,%%" r "1,%%" r "2\n vfmadd231ps %%" r "0,%%" r "1,%%" r "3\n"            \
    "vfmadd231ps %%" r "0,%%" r "1,%%" r "4\n vfmadd231ps %%" r "0,%%" r "1,%%" r "5\n"            \
    "vfmadd231ps %%" r "0,%%" r "1,%%" r "6\n vfmadd231ps %%" r "0,%%" r "1,%%" r "7\n"            \
    "vfmadd231ps %%" r "0,%%" r "1,%%" r "8\n vfmadd231ps %%" r "0,%%" r "1,%%" r "9\n"            \
    "vfmadd231ps %%" r "0,%%" r "1,%%" r "10\n vfmadd231ps %%" r "0,%%" r "1,%%" r "11\n"          \
    "vfmadd231ps %%" r "0,%%" r "1,%%" r "12\n vfmadd231ps %%" r "0,%%" r "1,%%" r "13\n"
#define FMA_CLOBBERS                                                                               \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",       \
        "xmm11", "xmm12", "xmm13"

static double fma_gflops(const char *table)
{
    int lanes = strcmp(table, "ref") == 0 ? 0 : strcmp(table, "avx2") == 0 ? 8 : 16;
    double best = 0;
    for (int turn = 0; lanes && turn < 3 * TURNS; turn++) {
        enum { REPEATS = 20000 };
        double start = cpu_seconds();
        __asm__ volatile("vzeroall" : : : FMA_CLOBBERS);
        for (int i = 0; i < REPEATS; i++)
            if (lanes == 8)
                __asm__ volatile(FMA12("ymm") : : : FMA_CLOBBERS);
            else
                __asm__ volatile(FMA12("zmm") : : : FMA_CLOBBERS);
        __asm__ volatile("vzeroupper");
        double rate = REPEATS * 12.0 * lanes * 2e-9 / (cpu_seconds() - start);
        best = rate > best ? rate : best;
    }
    return best;
}
#else
static double fma_gflops(const char *table)
{
    (void)table;
    return 0;
}
#endif

/* --- peers, found at run time --- */

typedef void cblas_sgemm_fn(int order, int transa, int transb, int M, int N, int K, float alpha,
                            const float *a, int lda, const float *b, int ldb, float beta, float *c,
                            int ldc);
typedef int dnnl_sgemm_fn(char transa, char transb, int64_t M, int64_t N, int64_t K, float alpha,
                          const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                          float *c, int64_t ldc);

static cblas_sgemm_fn *openblas;
static dnnl_sgemm_fn *onednn;

static void *find(const char *library, const char *symbol)
{
    void *handle = dlopen(library, RTLD_NOW);
    return handle ? dlsym(handle, symbol) : NULL;
}

/* Debian's OpenBLAS may take a new CPU for a very old one: it is told what it runs on. */
static void find_peers(const char *table)
{
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_CORETYPE", strcmp(table, "avx2") == 0 ? "Haswell" : "SkylakeX", 0);
    void *symbol = find("libopenblas.so.0", "cblas_sgemm");
    memcpy(&openblas, &symbol, sizeof symbol);
    symbol = find("libdnnl.so.2", "dnnl_sgemm");
    memcpy(&onednn, &symbol, sizeof symbol);
    printf("peers: OpenBLAS %s, oneDNN %s\n", openblas ? "found" : "not installed",
           onednn ? "found" : "not installed");
}

/* --- products --- */

/* A product runs over `sets` of its three operands in turn: one set stays in the cache; of a
 * training step's layers each has its own, and none is in L2 when its turn comes. */
enum { ONE_SET = 1, LAYERS = 40 };

struct product {
    const struct iso_kern *k;
    size_t M, K, N, sets;
    bool transposed_a;
    float *a, *b, *c;
    unsigned char *packed; /* the sets of b, packed */
    size_t packed_bytes;   /* of one */
    struct iso_ws ws;
};

static void run_product(struct product *p, int contestant, size_t set)
{
    size_t lda = p->transposed_a ? p->M : p->K;
    int M = (int)p->M, K = (int)p->K, N = (int)p->N;
    const float *a = p->a + set * p->M * p->K, *b = p->b + set * p->K * p->N;
    float *c = p->c + set * p->M * p->N;
    struct iso_packed packed = {p->packed + set * p->packed_bytes, p->K, p->N};
    if (contestant == 0)
        p->k->gemm(c, p->N, a, lda, p->transposed_a, &packed, p->M, NULL, &p->ws);
    else if (contestant == 1)
        openblas(101, p->transposed_a ? 112 : 111, 111, M, N, K, 1, a, (int)lda, b, N, 0, c, N);
    else
        onednn(p->transposed_a ? 'T' : 'N', 'N', M, N, K, 1, a, (int64_t)lda, b, N, 0, c, N);
}

static bool steady(const double *seconds)
{
    double first = median(seconds, TURNS / 2), second = median(seconds + TURNS / 2, TURNS / 2);
    return first < 1.1 * second && second < 1.1 * first;
}

static void open_product(struct product *p)
{
    size_t A = p->sets * p->M * p->K, B = p->sets * p->K * p->N;
    p->a = iso_alloc_aligned(A, sizeof *p->a);
    p->b = iso_alloc_aligned(B, sizeof *p->b);
    p->c = iso_alloc_aligned(p->sets * p->M * p->N, sizeof *p->c);
    p->packed_bytes = (p->k->pack_bytes(p->K, p->N) + 63) / 64 * 64;
    p->packed = iso_alloc_aligned(p->sets * p->packed_bytes, 1);
    p->ws.bytes = iso_alloc_aligned(iso_kern_ws_bytes(1, 1), 1);
    for (size_t i = 0; i < A; i++)
        p->a[i] = 0.1f * (float)(i % 7);
    for (size_t i = 0; i < B; i++)
        p->b[i] = 0.1f * (float)(i % 5);
    for (size_t set = 0; set < p->sets; set++) {
        struct iso_packed packed = {p->packed + set * p->packed_bytes, p->K, p->N};
        p->k->pack(&packed, p->b + set * p->K * p->N, p->N, false);
    }
}

static void bench_product(const struct iso_kern *k, size_t M, size_t K, size_t N, bool transposed_a,
                          size_t sets, double peak)
{
    struct product p = {.k = k, .M = M, .K = K, .N = N, .sets = sets, .transposed_a = transposed_a};
    open_product(&p);
    double flops = 2.0 * (double)M * (double)K * (double)N, seconds[CONTESTANTS][TURNS];
    bool there[CONTESTANTS] = {true, openblas != NULL, onednn != NULL};
    size_t least = (size_t)(TURN_FLOPS / flops) + 1, repeats = (least + sets - 1) / sets * sets;
    for (int turn = -1; turn < TURNS; turn++) /* turn -1 warms up */
        for (int who = 0; who < CONTESTANTS; who++) {
            double start = cpu_seconds();
            for (size_t i = 0; there[who] && i < repeats; i++)
                run_product(&p, who, i % sets);
            if (turn >= 0)
                seconds[who][turn] = (cpu_seconds() - start) / (double)repeats;
        }
    double own = median(seconds[0], TURNS);
    printf("%5zu %5zu %5zu %3s %8.1f", M, K, N, transposed_a ? "A'" : "", flops / own * 1e-9);
    if (peak > 0)
        printf(" %4.0f%%", flops / own * 1e-7 / peak);
    for (int who = 1; who < CONTESTANTS; who++)
        if (there[who]) {
            double other = median(seconds[who], TURNS);
            printf("   %8.1f (own is %.2fx)", flops / other * 1e-9, other / own);
        }
    printf("%s\n", steady(seconds[0]) ? "" : "   unsteady");
    free(p.a);
    free(p.b);
    free(p.c);
    free(p.packed);
    free(p.ws.bytes);
}

static void bench_products(const struct iso_kern *k, size_t sets, double peak)
{
    static const size_t width[] = {32, 64, 128, 256, 640};
    size_t most = sets == ONE_SET ? 1024 : 256; /* rows */
    for (size_t i = 0; i < sizeof width / sizeof *width; i++) {
        size_t d = width[i];
        for (size_t M = 256; M <= most; M *= 4) {
            bench_product(k, M, d, d, false, sets, peak);
            bench_product(k, M, d, 4 * d, false, sets, peak);
            bench_product(k, M, 4 * d, d, false, sets, peak);
        }
        bench_product(k, d, 256, d, true, sets, peak); /* gradient of a weight */
        bench_product(k, 256, d, 4096, false, sets, peak);
    }
}

/* --- attention and cross-entropy --- */

static void bench_attention(const struct iso_kern *k, size_t T, size_t H, size_t Q, double peak)
{
    size_t D = H * Q;
    struct iso_ws ws = {.bytes = iso_alloc_aligned(iso_kern_ws_bytes(T, Q), 1)};
    float *qkv = iso_alloc_aligned(3 * T * D, sizeof(float)), *out = ISO_NEW_N(float, (T * D));
    float *dqkv = iso_alloc_aligned(3 * T * D, sizeof(float)), *lse = ISO_NEW_N(float, (T * H));
    for (size_t i = 0; i < 3 * T * D; i++)
        qkv[i] = 0.1f * (float)(i % 17) - 0.8f;
    double seconds[2][TURNS], gflop[2];
    for (int turn = -1; turn < TURNS; turn++)
        for (int backward = 0; backward < 2; backward++) {
            ws.macs = 0;
            double start = cpu_seconds();
            if (backward)
                k->attention_bwd(dqkv, out, out, lse, qkv, T, iso_all_heads(H, Q), &ws);
            else
                k->attention(out, lse, iso_attend_all(qkv, T, D), iso_all_heads(H, Q), &ws);
            gflop[backward] = 2e-9 * (double)ws.macs;
            if (turn >= 0)
                seconds[backward][turn] = cpu_seconds() - start;
        }
    printf("T=%-5zu H=%-2zu Q=%-4zu", T, H, Q);
    for (int backward = 0; backward < 2; backward++) {
        double rate = gflop[backward] / median(seconds[backward], TURNS);
        printf("   %s %6.1f", backward ? "backward" : "forward", rate);
        if (peak > 0)
            printf(" %3.0f%%", 100 * rate / peak);
    }
    printf("%s\n", steady(seconds[0]) && steady(seconds[1]) ? "" : "   unsteady");
    free(ws.bytes);
    free(qkv);
    free(out);
    free(dqkv);
    free(lse);
}

static void bench_xent(const struct iso_kern *k, size_t V)
{
    enum { M = 64 };
    float *z = iso_alloc_aligned(M * V, sizeof *z), loss[M];
    int32_t target[M] = {0};
    double seconds[TURNS];
    for (int turn = -1; turn < TURNS; turn++) {
        for (size_t i = 0; i < M * V; i++)
            z[i] = 0.1f * (float)(i % 37) - 1.8f;
        double start = cpu_seconds();
        k->softcap_xent(loss, NULL, z, target, M, V, V, 15, 0.01f);
        if (turn >= 0)
            seconds[turn] = cpu_seconds() - start;
    }
    printf("softcap and cross-entropy with gradient, V=%-6zu %6.2f ns per logit\n", V,
           median(seconds, TURNS) * 1e9 / (double)(M * V));
    free(z);
}

int main(void)
{
    struct iso_err err;
    const struct iso_kern *k;
    if (iso_kern_best(&k, &err) != ISO_OK) {
        fprintf(stderr, "bench_kern: %s\n", err.msg);
        return 1;
    }
    double peak = fma_gflops(k->name);
    printf("table %s on a CPU with: %s\n", k->name, iso_cpu_features());
    if (peak > 0)
        printf("fused multiply-adds from registers: %.1f GFLOP/s on one core\n", peak);
    find_peers(k->name);
    const char *columns = peak > 0 ? ", of peak" : "";
    printf("\nproducts: M K N, own GFLOP/s%s, OpenBLAS, oneDNN\n", columns);
    bench_products(k, ONE_SET, peak);
    printf("\nthe same with the operands of %d layers in turn\n", LAYERS);
    bench_products(k, LAYERS, peak);
    printf("\ncausal attention, GFLOP/s\n");
    static const size_t attention[][3] = {{256, 4, 16},  {256, 2, 32},  {256, 1, 64},  {256, 4, 64},
                                          {256, 5, 128}, {1024, 4, 64}, {2048, 5, 128}};
    for (size_t i = 0; i < sizeof attention / sizeof *attention; i++)
        bench_attention(k, attention[i][0], attention[i][1], attention[i][2], peak);
    printf("\n");
    bench_xent(k, 4096);
    bench_xent(k, 32064);
    return 0;
}
