/* Saved states of a run: DIR/checkpoint-<step>/{model,optimiser}.safetensors, the newest two, and
 * DIR/latest, which names the newest.
 *
 * What must hold:
 *  1. `latest` is renamed into place only after both files of its state are on the disk, so a
 *     kill or a full disk at any moment leaves a whole state.
 *  2. A state is resumed only when the checksums of both files are right and both are of one run
 *     and step.  When the newest is damaged, the one before it is resumed; when no state is sound,
 *     the run starts again.
 *  3. Loading a state and continuing gives the same numbers as never having stopped, with any
 *     number of workers, when lanes, micro-batch and kernels are those of the state. */
#ifndef ISO_TRAIN_STATE_H
#define ISO_TRAIN_STATE_H

#include "model/safetensors.h"
#include "train/metrics.h"
#include "train/trainer.h"

/* What decides the order of sums, and with it the last digits. */
struct iso_state_how {
    int64_t lanes, micro; /* 0 without a state */
    char kernels[32];
};

/* What a run knows beside its trainer. */
struct iso_state_notes {
    const char *identity; /* model/checkpoint.h; NULL in a state of an older version */
    double seconds;       /* of the run so far */
    struct iso_metrics_mark metrics;
};

/* A sound state of a run, open for reading. */
struct iso_state {
    char *path; /* its directory, owned; NULL: the run has none */
    struct iso_safetensors model, optim;
    int64_t step;
    uint64_t macs;
    struct iso_state_how how;
    struct iso_state_notes notes;
};

/* Saves, and removes all states but this one and the one before it, unless `keep`.  `meta` goes
 * into the model's metadata, beside the step and the identity, which both files have. */
enum iso_status iso_state_save(struct iso_trainer *t, const char *dir, bool keep,
                               const struct iso_state_notes *notes, const struct iso_meta *meta,
                               size_t n_meta, struct iso_err *err);
/* Opens the newest sound state, if there is one; warns about those that are damaged.  Close it.
 * The newest of all is that of iso_state_finish, of a run that lacks only its result. */
enum iso_status iso_state_open(struct iso_state *s, const char *dir, struct iso_err *err);
void iso_state_close(struct iso_state *s);
/* Copies an open state into a trainer; one without a path leaves the trainer as it is. */
enum iso_status iso_state_load(struct iso_trainer *t, const struct iso_state *s,
                               struct iso_err *err);
/* At the end of a run: DIR/model.safetensors and DIR/optimiser.safetensors. */
enum iso_status iso_state_finish(struct iso_trainer *t, const char *dir,
                                 const struct iso_state_notes *notes, const struct iso_meta *meta,
                                 size_t n_meta, struct iso_err *err);
/* Removes the states on the way, after the run's result is written. */
void iso_state_remove_all(const char *dir);

#endif
