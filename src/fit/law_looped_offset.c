/* The joint law with one free offset of ln L for "looped at all": the step between r = 1 and
 * r = 2 that a power of r cannot make. */
#include "fit/law.h"

const struct iso_law iso_law_looped_offset = {
    .name = "looped_offset",
    .formula = "ln L = o [r > 1] + ln(E + A (N_once + r^phi N_rec)^-alpha + B D^-beta)",
    .summary = "the joint law with one offset for all looped runs: a step between r = 1 and r = 2",
    .param = {{"phi", ISO_SHAPE, ISO_PER_RECIPE, -3, 3},
              {"offset", ISO_OFFSET, ISO_PER_LOOPED, -0.2, 0.2}},
    .worth = iso_law_joint_worth,
    .relaxes = &iso_law_joint,
};
