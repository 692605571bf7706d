/* The script that the tasks of a Slurm array run. */
#ifndef ISO_SWEEP_SLURM_SCRIPT_H
#define ISO_SWEEP_SLURM_SCRIPT_H

#include "sweep/launch.h"

/* Writes the script of the submission whose list of runs is BASE.runs. */
void iso_slurm_script(struct iso_str *out, const struct iso_launch_options *o, const char *base);

#endif
