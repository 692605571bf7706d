/* The trainer: a model, its optimiser and a team of workers; one call is one optimiser step.
 *
 * The sequences of a batch are dealt out in fixed contiguous shares.  A worker takes its share,
 * a few sequences at a time, through the whole network into its own gradient block; then the
 * blocks are summed in the order of the workers, tensor by tensor, and each tensor is updated;
 * then the weights are packed again.  There are three meetings of the workers in a step.
 *
 * What must hold: with the same number of workers a step repeats bit for bit. */
#ifndef ISO_TRAIN_TRAINER_H
#define ISO_TRAIN_TRAINER_H

#include "model/pass.h"
#include "optim/optim.h"
#include "train/team.h"
#include "train/watch.h"

/* Where rows come from: row `index` of a list into out[T+1].  Called from any worker. */
struct iso_row_source {
    enum iso_status (*row)(void *ctx, int32_t *out, int64_t index, struct iso_err *err);
    void *ctx;
    int64_t rows;
};

struct iso_trainer_spec {
    struct iso_arch arch;
    struct iso_rates peak; /* before the schedule */
    int64_t steps;         /* of the whole run */
    size_t batch;          /* sequences per step */
    size_t micro;          /* sequences that a worker takes at once */
    int workers;
};

struct iso_trainer {
    struct iso_trainer_spec spec;
    struct iso_model *model;
    struct iso_optim *optim;
    struct iso_team *team;
    struct iso_pass **pass;  /* [workers] */
    float **grad;            /* [workers][floats] */
    int32_t **rows;          /* [workers][micro, T+1] */
    struct iso_worker *each; /* [workers] */
    struct iso_watch watch;  /* of the losses */
    int64_t step;            /* done so far */
    uint64_t macs;           /* multiply-adds of forwards and backwards so far */
    double seconds_pass, seconds_optim, seconds_pack; /* where the time went, this process */
};

/* A trainer with weights from `seed`.  The caller frees it. */
struct iso_trainer *iso_trainer_new(const struct iso_trainer_spec *spec,
                                    const struct iso_kern *kern, uint64_t seed);
void iso_trainer_free(struct iso_trainer *t);
/* After the weights were replaced from outside. */
void iso_trainer_pack(struct iso_trainer *t);

/* One step on rows step·batch, step·batch + 1, ... of `source`.  *loss is the mean over the
 * batch; when it is not finite the weights stay as they were and *grad_norm is NaN. */
enum iso_status iso_trainer_step(struct iso_trainer *t, double *loss, double *grad_norm,
                                 const struct iso_row_source *source, struct iso_err *err);
/* Mean loss in nats over rows 0..n-1 of `source`; does not depend on the number of workers. */
enum iso_status iso_trainer_validate(struct iso_trainer *t, double *loss,
                                     const struct iso_row_source *source, int64_t n,
                                     struct iso_err *err);

/* Bytes that a trainer allocates. */
size_t iso_trainer_bytes(const struct iso_trainer_spec *spec, const struct iso_kern *kern);
/* Sequences at once so that a pass has rows enough to keep the kernels busy, but not more than
 * a worker's share, nor than `limit` bytes allow; 0 when even one does not fit. */
size_t iso_trainer_micro(const struct iso_trainer_spec *spec, const struct iso_kern *kern,
                         size_t limit);
/* Seconds of one step, and of one row of a validation (a forward is a third of a pass), by timing
 * one pass on every worker and the optimiser's matrices. */
struct iso_estimate {
    double step, validation_row;
};
struct iso_estimate iso_trainer_estimate(struct iso_trainer *t);

#endif
