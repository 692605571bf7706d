/* The law of Hoffmann et al. (2022): unique parameters, however often they are used.
 *
 *     N_eff = N_once + N_rec */
#include "fit/law.h"

const struct iso_law iso_law_chinchilla = {
    .name = "chinchilla",
    .formula = "L = E + A N^-alpha + B D^-beta",
    .summary = "unique parameters only; for one fit for each r",
};
