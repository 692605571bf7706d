/* What came of a run: result.json, which the trainer writes last and atomically. */
#ifndef ISO_TRAIN_OUTCOME_H
#define ISO_TRAIN_OUTCOME_H

#include "data/loader.h"
#include "plan/record.h"

struct iso_outcome {
    const struct iso_plan_run *run;
    const struct iso_dataset *data;
    enum iso_run_state state; /* done or diverged */
    const char *message;      /* why it diverged, or "" */
    double loss;              /* validation, nats per token; NaN when diverged */
    int64_t step;             /* steps done */
    double flops;             /* executed */
    double seconds;
    int threads;
    const char *kernels;
    uint64_t config_hash;
};

enum iso_status iso_outcome_write(const struct iso_outcome *o, const char *path,
                                  struct iso_err *err);
/* Nats per token as bits per byte; NaN when the data does not know its bytes. */
double iso_bits_per_byte(double nats, const struct iso_dataset_split *split);

#endif
