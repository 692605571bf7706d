/* Saved states of a run: DIR/checkpoint-<step>/{model,optimiser}.safetensors, and DIR/latest,
 * which names the newest complete one.
 *
 * What must hold:
 *  1. `latest` is renamed into place only after both files of its state are on the disk, so a
 *     kill or a full disk at any moment leaves the state that it names whole.
 *  2. Loading the state and going on gives the same numbers as never having stopped, when the
 *     trainer is made as the state says (struct iso_state_how). */
#ifndef ISO_TRAIN_STATE_H
#define ISO_TRAIN_STATE_H

#include "model/safetensors.h"
#include "train/trainer.h"

/* Saves and then removes older states.  `seconds` is the run's time so far; `meta` goes into the
 * model's metadata. */
enum iso_status iso_state_save(const struct iso_trainer *t, const char *dir, double seconds,
                               const struct iso_meta *meta, size_t n_meta, struct iso_err *err);
/* What decides the order of sums, and with it the last digits. */
struct iso_state_how {
    int64_t workers, micro; /* 0 without a state, or when it does not tell */
    char kernels[32];
};

/* How the latest state was computed. */
enum iso_status iso_state_look(struct iso_state_how *how, const char *dir, struct iso_err *err);
/* Loads the latest state, if there is one, into the trainer. */
enum iso_status iso_state_load(struct iso_trainer *t, const char *dir, double *seconds,
                               struct iso_err *err);
/* At the end of a run: DIR/model.safetensors and DIR/optimiser.safetensors. */
enum iso_status iso_state_finish(const struct iso_trainer *t, const char *dir, double seconds,
                                 const struct iso_meta *meta, size_t n_meta, struct iso_err *err);
/* Removes the states on the way, after the run's result is written. */
void iso_state_remove_all(const char *dir);

#endif
