/* Parameter groups: the tensors of a group share a learning rate and an optimiser.  They are
 * declared here because a loop mechanism says of each of its parameters where it belongs;
 * plan/rates.c has their rates, optim/optim.c their optimisers. */
#ifndef ISO_LOOP_GROUP_H
#define ISO_LOOP_GROUP_H

enum iso_param_group {
    ISO_GROUP_MATRIX, /* matrices that products use, but for the two below */
    ISO_GROUP_EMBED,
    ISO_GROUP_HEAD,
    ISO_GROUP_NORM,
    ISO_GROUP_SCALAR, /* scalars and vectors of a loop mechanism */
    ISO_N_GROUP
};

#endif
