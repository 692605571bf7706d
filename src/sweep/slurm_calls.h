/* Slurm's programs: squeue and sacct, which know about tasks, scontrol, and sbatch. */
#ifndef ISO_SWEEP_SLURM_CALLS_H
#define ISO_SWEEP_SLURM_CALLS_H

#include "sweep/slurm_nodes.h"

/* Whether they are there. */
enum iso_status iso_slurm_check(struct iso_err *err);
/* Tasks that an array may have. */
size_t iso_slurm_max_array(void);

/* What is known about the tasks of jobs, whose numbers are joined by commas: lines of
 * "JOB_TASK|STATE".  A queue that does not answer is an error. */
enum iso_status iso_slurm_ask(struct iso_str *lines, const char *jobs, struct iso_err *err);
/* The state of the task `name` in such lines, as a word; false when it is not there. */
bool iso_slurm_state(char state[32], const char *lines, const char *name);
/* Whether a task in this state will run, runs, or runs again. */
bool iso_slurm_alive(const char *state);

/* What became of a submission. */
enum iso_submitted { ISO_ACCEPTED, ISO_OVER_LIMIT, ISO_REFUSED };
/* Submits the script BASE.sh as an array of tasks, each with so many ranks and on none of the
 * nodes; *job is its number. */
enum iso_submitted iso_slurm_submit(struct iso_str *job, const struct iso_launch_options *o,
                                    const struct iso_nodes *without, const char *base,
                                    size_t n_tasks, int ranks, struct iso_err *err);

#endif
