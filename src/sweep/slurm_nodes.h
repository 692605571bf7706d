/* Nodes of a cluster that cannot train a study's runs, because their CPU lacks its kernels.
 *
 * A trainer that finds itself on such a node leaves a note in the run's folder (train/job.c) and
 * ends.  The node is left out of every later submission, so that a run comes back from it at most
 * once for each node: that is no failure of the run.  A task that was not to use the node, and
 * comes back from it all the same, is one. */
#ifndef ISO_SWEEP_SLURM_NODES_H
#define ISO_SWEEP_SLURM_NODES_H

#include "sweep/launch.h"

#define ISO_NODES_REMEDY                                                                           \
    "set kernels: to what all nodes have, or ask for nodes with --sbatch=--constraint=..."

struct iso_nodes {
    char (*name)[64]; /* in the order in which they were found */
    size_t n, room;
};

/* Takes the notes out of the folder of a run.  Nodes that lack the kernels join the list, and their
 * names, joined by commas, are added to `names`; true when one of them is not among the first
 * `known` of the list. */
bool iso_nodes_read_notes(struct iso_nodes *nodes, struct iso_str *names,
                          const struct iso_launch_options *o, const char *run, size_t known);
/* The flag of sbatch that leaves them out, and what the user's flags leave out; behind those. */
const char *iso_nodes_flag(struct iso_arena *arena, const struct iso_nodes *nodes,
                           const struct iso_launch_options *o);
/* Says before the message of a refused submission which nodes were left out, and what helps. */
void iso_nodes_explain(const struct iso_nodes *nodes, const struct iso_launch_options *o,
                       struct iso_err *err);

#endif
