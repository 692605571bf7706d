/* Delta phi of one pair of recipes, by two estimators, with errors; see delta.c. */
#ifndef ISO_FIT_DELTA_H
#define ISO_FIT_DELTA_H

#include "fit/compare.h"

/* Fills joint, separate (all but their verdicts) and shared, from the two fits. */
enum iso_status iso_delta_run(struct iso_variant *v, struct iso_arena *arena,
                              const struct iso_recipe *base, const struct iso_fit_options *options,
                              struct iso_err *err);

#endif
