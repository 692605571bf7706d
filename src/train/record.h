/* result.json: what a run was and what came of it, written last and atomically. */
#ifndef ISO_TRAIN_RECORD_H
#define ISO_TRAIN_RECORD_H

#include "data/loader.h"
#include "plan/grid.h"

struct iso_record {
    const struct iso_plan_run *run;
    const struct iso_dataset *data;
    const char *status; /* "done" or "diverged" */
    double loss;        /* validation, nats per token; NaN when diverged */
    int64_t step;       /* steps done */
    double flops;       /* executed */
    double seconds;
    int threads;
    const char *kernels;
    uint64_t config_hash;
};

enum iso_status iso_record_write(const struct iso_record *r, const char *path, struct iso_err *err);
/* Nats per token as bits per byte; NaN when the data does not know its bytes. */
double iso_bits_per_byte(double nats, const struct iso_dataset_split *split);

#endif
