/* Who does what when several ranks train one model.
 *
 * Lanes: rank k of n computes the lanes [lanes k / n, lanes (k+1) / n) and adds up the nodes of the
 * tree that lie within them.
 *
 * Items: each item of the optimiser has an owner, which receives every rank's nodes for it, adds
 * them up in the order of the tree, updates, and sends the weights to all.  Matrices, whose update
 * is work, are dealt out by cost, the largest first; slices of other tensors, which are bytes, by
 * position.  Only its owner has the states of an item.
 *
 * What must hold: the bits are those of one process, since the same numbers are added in the same
 * order; who adds them does not matter. */
#ifndef ISO_TRAIN_SHARES_H
#define ISO_TRAIN_SHARES_H

#include "comm/comm.h"
#include "optim/optim.h"
#include "train/tree.h"

struct iso_pieces {
    struct iso_piece *at;
    size_t n, room;
};

/* What a rank owns: of the parameters, of all states, of the sums of squares. */
struct iso_rank_share {
    struct iso_pieces params, states, squares;
};

struct iso_shares {
    struct iso_comm *comm;
    struct iso_optim *optim;
    size_t lanes;
    int *owner;                  /* [items] */
    struct iso_rank_share *of;   /* [ranks] */
    size_t *own, n_own;          /* items of this rank */
    size_t floats;               /* that they have */
    struct iso_lane_blocks sums; /* [floats] each: the nodes of all ranks */
    struct iso_addition *rest;   /* room for adding them up */
};

/* One rank owns everything and needs no memory for it.  Moves the items of this rank to where their
 * gradient will be, and marks those of others. */
void iso_shares_init(struct iso_shares *s, struct iso_comm *comm, struct iso_optim *optim,
                     size_t lanes);
void iso_shares_release(struct iso_shares *s);
/* Bytes of the nodes, for `ranks` ranks. */
size_t iso_shares_bytes(const struct iso_params *p, size_t lanes, int ranks);
/* The first lane of a rank; that of rank `ranks` is `lanes`. */
size_t iso_shares_lane(size_t lanes, int ranks, int rank);

/* Between ranks only.  The nodes of this rank, blocks of the parameters' layout, go to the owners;
 * *grad is what is left to add up for this rank's items. */
enum iso_status iso_shares_gradient(struct iso_shares *s, struct iso_gradient *grad,
                                    const struct iso_lane_block *node, size_t n_node,
                                    struct iso_err *err);
/* After a step: the owners' weights and sums of squares become everybody's. */
enum iso_status iso_shares_weights(struct iso_shares *s, struct iso_err *err);
/* The owners' states go to rank 0, into `all`, or come from there, in the order of
 * iso_optim_each_state.  Other ranks need no `all`. */
enum iso_status iso_shares_collect(struct iso_shares *s, float *all, struct iso_err *err);
enum iso_status iso_shares_hand_out(struct iso_shares *s, float *all, struct iso_err *err);

#endif
