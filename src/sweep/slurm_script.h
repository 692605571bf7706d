/* The script that the tasks of a Slurm array run. */
#ifndef ISO_SWEEP_SLURM_SCRIPT_H
#define ISO_SWEEP_SLURM_SCRIPT_H

#include "sweep/launch.h"

/* Writes the script of the submission whose list of runs is BASE.runs; each run has `ranks` ranks.
 */
void iso_slurm_script(struct iso_str *out, const struct iso_launch_options *o, int ranks,
                      const char *base);

#endif
