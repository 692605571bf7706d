/* How fast this machine trains a model: some steps on random tokens, timed. */
#ifndef ISO_TRAIN_SPEED_H
#define ISO_TRAIN_SPEED_H

#include "kern/kern.h"
#include "plan/grid.h"

/* Tokens per second of one run while `at_once` like it train side by side, on one thread each, as a
 * sweep does it.  Takes about `seconds`, and at least two steps. */
double iso_measure_speed(const struct iso_plan_run *run, const struct iso_kern *kern, int at_once,
                         double seconds);

/* Bytes of memory that one such run takes. */
double iso_speed_bytes(const struct iso_plan_run *run, const struct iso_kern *kern);

#endif
