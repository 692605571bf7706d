/* metrics.jsonl: one line per step.  A resumed run first cuts the file back to the step of its
 * checkpoint, so no step is ever listed twice.  The checkpoint knows length and checksum of what
 * the file held then, so that a damaged file is noticed. */
#ifndef ISO_TRAIN_METRICS_H
#define ISO_TRAIN_METRICS_H

#include "base/err.h"
#include "base/hash.h"
#include "optim/optim.h"
#include "train/tfevents.h"

struct iso_metrics_line {
    int64_t step, tokens;  /* done after this step */
    double flops;          /* executed so far */
    double loss, val_loss; /* NaN: not measured */
    struct iso_norms norms;
    struct iso_rates rate;
    double tokens_per_second, gflops, seconds;
    struct {
        const char *name; /* NULL: not in use */
        double value;
    } gauge[ISO_LOOP_GAUGES]; /* of the loop mechanism */
};

/* What a checkpoint knows of the file: its length, and the XXH64 of its bytes. */
struct iso_metrics_mark {
    int64_t bytes;
    uint64_t sum;
};

struct iso_metrics {
    int fd;
    char *path;                  /* owned */
    struct iso_xxh64 sum;        /* of all that the file holds */
    struct iso_tfevents *events; /* NULL without --tensorboard */
};

/* Opens DIR/metrics.jsonl and drops what comes after `step`, which is where `mark` was made.  When
 * the file is not what the mark says, warns and keeps the lines that can be read. */
enum iso_status iso_metrics_open(struct iso_metrics *m, const char *dir, int64_t step,
                                 const struct iso_metrics_mark *mark, bool tensorboard,
                                 struct iso_err *err);
/* Brings all lines to the disk and marks the place, for a checkpoint. */
enum iso_status iso_metrics_sync(struct iso_metrics *m, struct iso_metrics_mark *mark,
                                 struct iso_err *err);
enum iso_status iso_metrics_put(struct iso_metrics *m, const struct iso_metrics_line *line,
                                struct iso_err *err);
void iso_metrics_close(struct iso_metrics *m);

#endif
