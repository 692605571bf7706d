/* The trainer: a model, its optimiser and a team of workers; one call is one optimiser step.
 *
 * The batch is cut into lanes (plan/lanes.h).  A worker runs whole lanes, a few sequences at a
 * time, through the entire network into gradient blocks; blocks are added up in a fixed tree over
 * lane numbers (tree.h), tensor by tensor, and each tensor is updated; then the weights are packed
 * again.  The workers meet three times in a step.  Workers beyond the number of lanes help those
 * who have one (kern/crew.h).
 *
 * Several ranks share the lanes, the rows of a validation and the optimiser's items (shares.h); all
 * of them have all weights, and call the same functions.
 *
 * What must hold: a step has the same bits with any number of workers and ranks. */
#ifndef ISO_TRAIN_TRAINER_H
#define ISO_TRAIN_TRAINER_H

#include "model/pass.h"
#include "optim/optim.h"
#include "plan/schedule.h"
#include "train/shares.h"
#include "train/team.h"
#include "train/tree.h"
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
    struct iso_schedule schedule;
    int64_t steps;         /* of the whole run */
    size_t batch;          /* sequences per step */
    size_t lanes, micro;   /* plan/lanes.h */
    int workers;           /* threads */
    int ranks, rank;       /* this one of so many; 0 ranks: a process alone */
    struct iso_comm *comm; /* of the ranks; NULL for a process alone */
};

struct iso_trainer {
    struct iso_trainer_spec spec;
    struct iso_model *model;
    struct iso_optim *optim;
    struct iso_team *team;
    int leaders;                  /* workers that run lanes; the others help them (kern/crew.h) */
    struct iso_pass **pass;       /* [leaders] */
    struct iso_crew **crew;       /* [leaders]; NULL: nobody helps */
    struct iso_lane_blocks *grad; /* [leaders] */
    int32_t **rows;               /* [leaders][micro, T+1] */
    struct iso_worker *each;      /* [leaders] */
    double *lane_loss;            /* [lanes] of this step */
    struct iso_addition *rest;    /* room for what is left to add up of the gradient */
    struct iso_shares shares;     /* of the ranks */
    struct iso_watch watch;       /* of the losses */
    /* The states of all ranks, while rank 0 writes or has read them: in the memory of its first
     * two gradient blocks, which nobody needs between two steps.  A process alone has its own;
     * NULL on other ranks. */
    float *all_states;
    int64_t step;  /* done so far */
    uint64_t macs; /* multiply-adds of forwards and backwards so far */
    double seconds_pass, seconds_optim, seconds_pack; /* where the time went, this process */
};

/* A trainer with weights from `seed`.  The caller frees it. */
struct iso_trainer *iso_trainer_new(const struct iso_trainer_spec *spec,
                                    const struct iso_kern *kern, uint64_t seed);
void iso_trainer_free(struct iso_trainer *t);
/* After the weights were replaced from outside: alone, or with the optimiser's states made those of
 * a run that begins with them. */
void iso_trainer_pack(struct iso_trainer *t);
void iso_trainer_begin(struct iso_trainer *t);
/* After rank 0 loaded weights and where the run is: all ranks have them. */
enum iso_status iso_trainer_share_weights(struct iso_trainer *t, struct iso_err *err);
/* all_states goes to the owners; and, before a checkpoint, comes from them. */
enum iso_status iso_trainer_share_states(struct iso_trainer *t, struct iso_err *err);
enum iso_status iso_trainer_collect_states(struct iso_trainer *t, struct iso_err *err);

/* What the schedule multiplies the peak rates by at the next step. */
double iso_trainer_factor(const struct iso_trainer *t);
/* One step on rows step·batch, step·batch + 1, ... of `source`.  *loss is the mean over the
 * batch; when it is not finite the weights stay as they were and *grad_norm is NaN. */
enum iso_status iso_trainer_step(struct iso_trainer *t, double *loss, double *grad_norm,
                                 const struct iso_row_source *source, struct iso_err *err);
/* Mean loss in nats over rows 0..n-1 of `source`; does not depend on workers and
 * ranks. */
enum iso_status iso_trainer_validate(struct iso_trainer *t, double *loss,
                                     const struct iso_row_source *source, int64_t n,
                                     struct iso_err *err);

/* Bytes that a trainer allocates. */
size_t iso_trainer_bytes(const struct iso_trainer_spec *spec, const struct iso_kern *kern);
/* Seconds of one step, of one pass, and of one row of a validation (a forward is a third of a
 * pass), by timing one pass on every worker and the optimiser's matrices. */
struct iso_estimate {
    double step, pass, validation_row;
};
struct iso_estimate iso_trainer_estimate(struct iso_trainer *t);

#endif
