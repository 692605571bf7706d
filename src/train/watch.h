/* Watches the losses of a run, for one that blew up and did not recover.
 *
 * The loss of a step is noisy, so means over the last 5 % of the run's steps are compared (over at
 * least WATCH_LEAST steps: the mean of two or three batches is noise, too).  A run whose last mean
 * lies far above its lowest one has lost what it had learnt, even though every number is finite.
 *
 * The losses and the lowest mean are floats, and are saved with the run's state: a resumed run
 * compares exactly the numbers that an uninterrupted one does. */
#ifndef ISO_TRAIN_WATCH_H
#define ISO_TRAIN_WATCH_H

#include <stdint.h>

struct iso_watch {
    int64_t window; /* steps of a mean */
    float *loss;    /* [window], owned: that of step i is at i mod window */
    float mean;     /* of the last `window` steps; infinite before there are so many */
    float lowest;   /* such mean so far */
};

void iso_watch_init(struct iso_watch *w, int64_t steps);
void iso_watch_release(struct iso_watch *w);
/* The loss of step `step`, from 1. */
void iso_watch_put(struct iso_watch *w, int64_t step, double loss);
/* By how many nats the last mean lies above the lowest one. */
double iso_watch_rise(const struct iso_watch *w);

#endif
