/* bench: training speed of one shape, forward + backward + optimiser, on synthetic rows.
 *
 *   bench_train [d] [r] [threads] [batch sequences] [T] [V] [steps] [depth] [prelude] [coda] [head]
 *
 * Prints tokens per second of the wall clock and of CPU time, the share of the speed of a product
 * that stays in the cache, and where a step's time goes; without arguments a few shapes that end
 * within seconds.  On a busy machine only CPU time means anything: a step and a product take turns,
 * and the share is that of the medians of their CPU times.
 *
 * BENCH_OPS=1, for one thread: the operations by their time, too, and how many points of the share
 * each loses.  The optimiser's products, which do not count as work, are among them. */
#include "by_operation.h"

#include "base/file.h"
#include "base/mem.h"
#include "plan/lanes.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct shape {
    long d, r, threads, batch, T, V, steps, depth, prelude, coda, head;
};

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum iso_status row(void *ctx, int32_t *out, int64_t index, struct iso_err *err)
{
    (void)err;
    const struct shape *s = ctx;
    for (long i = 0; i <= s->T; i++)
        out[i] = (int32_t)(((uint64_t)(index * 131 + i) * 2654435761u >> 7) % (uint64_t)s->V);
    return ISO_OK;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *x, long n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

/* GFLOP per CPU second of products of the side that `isodepth` calls the peak. */
static double gemm_rate(const struct iso_kern *kern)
{
    enum { SIDE = 256, TIMES = 8 };
    struct iso_packed b = {iso_alloc_aligned(kern->pack_bytes(SIDE, SIDE), 1), SIDE, SIDE};
    struct iso_ws ws = {.bytes = iso_alloc_aligned(iso_kern_ws_bytes(1, 2), 1)};
    float *a = iso_alloc_aligned(SIDE * SIDE, sizeof(float));
    float *c = iso_alloc_aligned(SIDE * SIDE, sizeof(float));
    kern->pack(&b, a, SIDE, false);
    kern->gemm(c, SIDE, a, SIDE, false, &b, SIDE, NULL, &ws); /* warms up */
    ws.macs = 0;
    double start = cpu_now();
    for (int i = 0; i < TIMES; i++)
        kern->gemm(c, SIDE, a, SIDE, false, &b, SIDE, NULL, &ws);
    double rate = 2e-9 * (double)ws.macs / (cpu_now() - start);
    free(a);
    free(c);
    free(b.bytes);
    free(ws.bytes);
    return rate;
}

static struct iso_arch arch_of(const struct shape *s)
{
    struct iso_arch arch = {.loop = &iso_loop_linear,
                            .r = s->r,
                            .depth = s->depth,
                            .prelude = s->prelude,
                            .coda = s->coda,
                            .d_model = s->d,
                            .head = s->head       ? s->head
                                    : s->d >= 512 ? 128
                                    : s->d >= 64  ? 32
                                                  : 16,
                            .seq_len = s->T,
                            .vocab = s->V};
    struct iso_err err;
    if (iso_arch_build(&arch, NULL, &err) != ISO_OK) {
        fprintf(stderr, "bench_train: %s\n", err.msg);
        exit(1);
    }
    return arch;
}

static void measure(struct shape s)
{
    struct iso_err err;
    const struct iso_kern *kern;
    struct iso_arch arch = arch_of(&s);
    if (iso_kern_best(&kern, &err) != ISO_OK) {
        fprintf(stderr, "bench_train: %s\n", err.msg);
        exit(1);
    }
    struct iso_trainer_spec spec = {.arch = arch,
                                    .schedule = iso_schedule_paper,
                                    .peak = {{0.01, 0.1, 0.002, 0.003, 0.005}},
                                    .steps = s.steps + 1,
                                    .batch = (size_t)s.batch,
                                    .workers = (int)s.threads};
    spec.lanes = (size_t)iso_lanes_default((int64_t)s.batch, s.T);
    spec.micro = (size_t)iso_micro_default((int64_t)s.batch, s.T, (int64_t)spec.lanes);
    bool by_op = s.threads == 1 && getenv("BENCH_OPS");
    struct iso_trainer *t = iso_trainer_new(&spec, by_op ? time_operations(kern) : kern, 1);
    struct iso_row_source source = {row, &s, 1};
    size_t n = (size_t)s.steps;
    double *wall = ISO_NEW_N(double, n), *cpu = ISO_NEW_N(double, n), *gemm = ISO_NEW_N(double, n);
    double loss, norm;
    iso_trainer_step(t, &loss, &norm, &source, &err); /* warms up */
    t->seconds_pass = t->seconds_optim = t->seconds_pack = 0;
    forget_operations();
    uint64_t macs = t->macs;
    for (size_t i = 0; i < n; i++) {
        gemm[i] = gemm_rate(kern);
        double start = iso_time_now(), cpu_start = cpu_now();
        iso_trainer_step(t, &loss, &norm, &source, &err);
        wall[i] = iso_time_now() - start;
        cpu[i] = cpu_now() - cpu_start;
    }
    double all = t->seconds_pass + t->seconds_optim + t->seconds_pack;
    double tokens = (double)(s.batch * s.T), step = median(cpu, s.steps);
    double gflop = 2e-9 * (double)(t->macs - macs) / (double)s.steps;
    printf("train d=%ld r=%ld threads=%ld: %.0f tokens/s, %.0f per CPU second, %.1f GFLOP per CPU "
           "second (%.0f %% of gemm), pass %.1f %%, optimiser %.1f %%, pack %.1f %%, memory %.2f "
           "GB, kernels %s\n",
           s.d, s.r, s.threads, tokens / median(wall, s.steps), tokens / step, gflop / step,
           100 * gflop / step / median(gemm, s.steps), 100 * t->seconds_pass / all,
           100 * t->seconds_optim / all, 100 * t->seconds_pack / all,
           (double)iso_trainer_bytes(&spec, kern) * 1e-9, kern->name);
    if (by_op)
        print_operations(all, median(gemm, s.steps));
    free(wall);
    free(cpu);
    free(gemm);
    iso_trainer_free(t);
}

int main(int argc, char **argv)
{
    struct shape s = {64, 1, 2, 16, 256, 4096, 5, 20, 2, 2, 0};
    long *field[] = {&s.d,     &s.r,     &s.threads, &s.batch, &s.T,   &s.V,
                     &s.steps, &s.depth, &s.prelude, &s.coda,  &s.head};
    for (int i = 1; i < argc && i <= 11; i++)
        *field[i - 1] = strtol(argv[i], NULL, 10);
    if (argc > 1) {
        measure(s);
        return 0;
    }
    for (s.r = 1; s.r <= 4; s.r += 3)
        for (s.d = 64; s.d <= 128; s.d *= 2)
            measure(s);
    return 0;
}
