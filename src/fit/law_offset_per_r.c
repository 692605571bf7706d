/* The joint law with a free offset of ln L for each r above 1: what is left of phi when a
 * systematic advantage or handicap of each r (a better tuned rate, say) is allowed.  No
 * bootstrap sees such offsets, because they are the same in every resample. */
#include "fit/law_joint.h"

const struct iso_law iso_law_offset_per_r = {
    .name = "offset_per_r",
    .formula = "ln L = o_r + ln(E + A (N_once + r^phi N_rec)^-alpha + B D^-beta)",
    .summary = "the joint law with an offset for each r: a check for systematic errors",
    .phi = ISO_PER_LABEL,
    .offset = ISO_PER_LOOPED,
    .log_n_eff = iso_law_joint_log_n_eff,
};
