/* The joint law with a phi of its own for each r above 1: if r^phi is the right shape, they
 * agree within their errors. */
#include "fit/law.h"

const struct iso_law iso_law_phi_per_r = {
    .name = "phi_per_r",
    .formula = "L = E + A (N_once + r^phi_r N_rec)^-alpha + B D^-beta",
    .summary = "the joint law with one phi for each r: a check of the shape r^phi",
    .param = {{"phi", ISO_SHAPE, ISO_PER_R, -3, 3}},
    .worth = iso_law_joint_worth,
    .relaxes = &iso_law_joint,
};
