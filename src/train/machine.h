/* What this machine can give: memory, and the speed of its matrix products. */
#ifndef ISO_TRAIN_MACHINE_H
#define ISO_TRAIN_MACHINE_H

#include "kern/kern.h"
#include "train/team.h"

/* Bytes of memory that are free now, within the limits of a batch job or a container; 0 when the
 * system does not say. */
double iso_memory_available(void);
/* What the control groups of this process leave it, read below `root` (""); INFINITY without a
 * limit. */
double iso_cgroup_room(const char *root);
/* FLOP/s of gemm on all workers at once, from a short measurement on cache-sized matrices: what
 * the program calls the peak. */
double iso_measure_peak(struct iso_team *team, const struct iso_kern *kern);

#endif
