/* A training run from its settings to its result, in one directory:
 *
 *   config.yaml            the resolved settings; a run with others is rejected
 *   metrics.jsonl          one line per step
 *   checkpoint-N/, latest  the saved states, while the run is under way
 *   model.safetensors, optimiser.safetensors     at the end
 *   result.json            last of all: a run counts as done when it is there */
#ifndef ISO_TRAIN_RUN_H
#define ISO_TRAIN_RUN_H

#include "comm/comm.h"
#include "train/settings.h"

struct iso_train_options {
    const char *out;   /* directory */
    const char *path;  /* of the settings, for messages */
    int threads;       /* 0: as many as there are cores */
    double memory;     /* bytes that the run may use; 0: what is available */
    const char *start; /* checkpoint whose weights a new run begins with; NULL: random ones */
    bool keep;         /* all checkpoints, not the last two until the end */
    bool tensorboard;
    bool other_kernels;    /* may resume with other kernels than it began with */
    struct iso_comm *comm; /* the ranks that train it; NULL: this process alone */
};

/* Trains, or resumes training, to the end: ISO_OK when result.json is there (also when it was
 * before), ISO_DIVERGED when the run blew up (result.json says how), ISO_STOPPED after SIGINT or
 * SIGTERM with the state saved. */
enum iso_status iso_train_run(struct iso_train_settings *s, const struct iso_train_options *o,
                              struct iso_err *err);

#endif
