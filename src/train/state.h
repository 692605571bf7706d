/* Saved states of a run: DIR/checkpoint-<step>/{model,optimiser}.safetensors, and DIR/latest,
 * which names the newest complete one.
 *
 * What must hold:
 *  1. `latest` is renamed into place only after both files of its state are on the disk, so a
 *     kill or a full disk at any moment leaves the state that it names whole.
 *  2. Loading the state and going on gives the same numbers as never having stopped. */
#ifndef ISO_TRAIN_STATE_H
#define ISO_TRAIN_STATE_H

#include "model/safetensors.h"
#include "train/trainer.h"

/* Saves and then removes older states.  `seconds` is the run's time so far; `meta` goes into the
 * model's metadata. */
enum iso_status iso_state_save(const struct iso_trainer *t, const char *dir, double seconds,
                               const struct iso_meta *meta, size_t n_meta, struct iso_err *err);
/* Loads the latest state, if there is one (*found), into the trainer. */
enum iso_status iso_state_load(struct iso_trainer *t, const char *dir, double *seconds, bool *found,
                               struct iso_err *err);
/* At the end of a run: DIR/model.safetensors and DIR/optimiser.safetensors. */
enum iso_status iso_state_finish(const struct iso_trainer *t, const char *dir, double seconds,
                                 const struct iso_meta *meta, size_t n_meta, struct iso_err *err);
/* Removes the states on the way, after the run's result is written. */
void iso_state_remove_all(const char *dir);

#endif
