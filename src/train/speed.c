/* The speed of training: see speed.h. */
#include "train/speed.h"

#include "base/file.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "train/trainer.h"

#include <stdlib.h>

struct measurement {
    const struct iso_plan_run *run;
    const struct iso_kern *kern;
    double seconds;
    double *speed; /* [at_once] tokens per second */
};

/* Tokens that no row repeats: a model that knew them would not be slower or faster. */
static enum iso_status random_row(void *ctx, int32_t *out, int64_t index, struct iso_err *err)
{
    const struct iso_arch *arch = ctx;
    struct iso_rng rng = {1, iso_rng_stream("speed", (uint64_t)index), 0};
    (void)err;
    for (int64_t i = 0; i <= arch->seq_len; i++)
        out[i] = (int32_t)iso_rng_below(&rng, (uint64_t)arch->vocab);
    return ISO_OK;
}

static struct iso_trainer_spec spec_of(const struct iso_plan_run *run)
{
    return (struct iso_trainer_spec){
        .arch = run->arch,
        .peak = run->rates,
        .schedule = run->schedule,
        .steps = run->steps,
        .batch = (size_t)(run->batch_tokens / run->arch.seq_len),
        .lanes = (size_t)run->lanes,
        .micro = (size_t)run->micro,
        .workers = 1,
    };
}

double iso_speed_bytes(const struct iso_plan_run *run, const struct iso_kern *kern)
{
    const struct iso_trainer_spec spec = spec_of(run);
    return (double)iso_trainer_bytes(&spec, kern);
}

static void train_some(void *ctx, size_t i, int worker)
{
    struct measurement *m = ctx;
    struct iso_arch arch = m->run->arch;
    const struct iso_trainer_spec spec = spec_of(m->run);
    const struct iso_row_source rows = {random_row, &arch, INT64_MAX};
    struct iso_trainer *t = iso_trainer_new(&spec, m->kern, i);
    double loss, norm, start = 0, spent = 0, steps = 0;
    (void)worker;
    (void)iso_trainer_step(t, &loss, &norm, &rows, NULL); /* touches all memory */
    start = iso_time_now();
    do {
        (void)iso_trainer_step(t, &loss, &norm, &rows, NULL);
        steps++;
        spent = iso_time_now() - start;
    } while (spent < m->seconds);
    m->speed[i] = steps * (double)m->run->batch_tokens / spent;
    iso_trainer_free(t);
}

double iso_measure_speed(const struct iso_plan_run *run, const struct iso_kern *kern, int at_once,
                         double seconds)
{
    const size_t n = (size_t)at_once;
    struct measurement m = {run, kern, seconds, ISO_NEW_N(double, n)};
    double sum = 0;
    iso_parallel_for(n, at_once, train_some, &m);
    for (size_t i = 0; i < n; i++)
        sum += m.speed[i];
    free(m.speed);
    return sum / (double)n;
}
