/* The joint law with a free offset of ln L for each r above 1: what is left of phi when a
 * systematic advantage or handicap of each r (a better tuned rate, say) is allowed.  No
 * bootstrap sees such offsets, because they are the same in every resample.
 *
 * +-0.2 in ln L is far beyond any real offset. */
#include "fit/law.h"

const struct iso_law iso_law_offset_per_r = {
    .name = "offset_per_r",
    .formula = "ln L = o_r + ln(E + A (N_once + r^phi N_rec)^-alpha + B D^-beta)",
    .summary = "the joint law with an offset for each r: a check for systematic errors",
    .param = {{"phi", ISO_SHAPE, ISO_PER_RECIPE, -3, 3},
              {"offset", ISO_OFFSET, ISO_PER_R, -0.2, 0.2}},
    .worth = iso_law_joint_worth,
    .relaxes = &iso_law_joint,
};
