/* What this machine can give: memory, and the speed of its matrix products. */
#ifndef ISO_TRAIN_MACHINE_H
#define ISO_TRAIN_MACHINE_H

#include "kern/kern.h"
#include "train/team.h"

/* Bytes of memory that are free now; 0 when the system does not tell. */
double iso_memory_available(void);
/* FLOP/s of gemm on all workers at once, from a short measurement on cache-sized matrices: what
 * the program calls the peak. */
double iso_measure_peak(struct iso_team *team, const struct iso_kern *kern);

#endif
