/* bench: training speed of one shape, forward + backward + optimiser, on synthetic rows.
 *
 *   bench_train [d] [r] [threads] [batch sequences] [T] [V] [steps] [depth]
 *
 * Prints tokens/s, GFLOP/s and where a step's time goes; without arguments a few shapes that end
 * within seconds. */
#include "base/file.h"
#include "base/mem.h"
#include "plan/lanes.h"
#include "train/machine.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>

struct shape {
    long d, r, threads, batch, T, V, steps, depth;
};

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

static void measure(struct shape s)
{
    struct iso_err err;
    const struct iso_kern *kern;
    struct iso_arch arch = {.loop = &iso_loop_linear,
                            .r = s.r,
                            .depth = s.depth,
                            .prelude = 2,
                            .coda = 2,
                            .d_model = s.d,
                            .head = s.d >= 512  ? 128
                                    : s.d >= 64 ? 32
                                                : 16,
                            .seq_len = s.T,
                            .vocab = s.V};
    if (iso_kern_best(&kern, &err) != ISO_OK || iso_arch_build(&arch, NULL, &err) != ISO_OK) {
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
    struct iso_trainer *t = iso_trainer_new(&spec, kern, 1);
    struct iso_row_source source = {row, &s, 1};
    double *seconds = ISO_NEW_N(double, (size_t)s.steps), loss, norm;
    iso_trainer_step(t, &loss, &norm, &source, &err); /* warms up */
    t->seconds_pass = t->seconds_optim = t->seconds_pack = 0;
    uint64_t macs = t->macs;
    for (long i = 0; i < s.steps; i++) {
        double start = iso_time_now();
        iso_trainer_step(t, &loss, &norm, &source, &err);
        seconds[i] = iso_time_now() - start;
    }
    double all = t->seconds_pass + t->seconds_optim + t->seconds_pack;
    qsort(seconds, (size_t)s.steps, sizeof *seconds, by_size);
    double median = seconds[s.steps / 2], tokens = (double)(s.batch * s.T);
    double gflops = 2e-9 * (double)(t->macs - macs) / (double)s.steps / median;
    printf("train d=%ld r=%ld threads=%ld: %.0f tokens/s, %.1f GFLOP/s (%.0f %% of gemm), "
           "pass %.1f %%, optimiser %.1f %%, pack %.1f %%, memory %.2f GB, kernels %s\n",
           s.d, s.r, s.threads, tokens / median, gflops,
           100e9 * gflops / iso_measure_peak(t->team, kern), 100 * t->seconds_pass / all,
           100 * t->seconds_optim / all, 100 * t->seconds_pack / all,
           (double)iso_trainer_bytes(&spec, kern) * 1e-9, kern->name);
    free(seconds);
    iso_trainer_free(t);
}

int main(int argc, char **argv)
{
    struct shape s = {64, 1, 2, 16, 256, 4096, 5, 20};
    long *field[] = {&s.d, &s.r, &s.threads, &s.batch, &s.T, &s.V, &s.steps, &s.depth};
    for (int i = 1; i < argc && i <= 8; i++)
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
