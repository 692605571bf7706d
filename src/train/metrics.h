/* metrics.jsonl: one line per step.  A resumed run first cuts the file back to the step of its
 * checkpoint, so no step is ever listed twice. */
#ifndef ISO_TRAIN_METRICS_H
#define ISO_TRAIN_METRICS_H

#include "base/err.h"
#include "optim/optim.h"
#include "train/tfevents.h"

struct iso_metrics_line {
    int64_t step, tokens;             /* done after this step */
    double flops;                     /* executed so far */
    double loss, grad_norm, val_loss; /* NaN: not measured */
    struct iso_rates rate;
    double tokens_per_second, gflops, seconds;
    struct {
        const char *name; /* NULL: not in use */
        double value;
    } gauge[ISO_LOOP_GAUGES]; /* of the loop mechanism */
};

struct iso_metrics {
    int fd;
    char *path;                  /* owned */
    struct iso_tfevents *events; /* NULL without --tensorboard */
};

/* Opens DIR/metrics.jsonl and drops what comes after `step`. */
enum iso_status iso_metrics_open(struct iso_metrics *m, const char *dir, int64_t step,
                                 bool tensorboard, struct iso_err *err);
enum iso_status iso_metrics_put(struct iso_metrics *m, const struct iso_metrics_line *line,
                                struct iso_err *err);
void iso_metrics_close(struct iso_metrics *m);

#endif
