/* The schedule of all rates: up over the first steps, level, down over the last ones.
 *
 *     t < w            (t + 1)/w                    w = round(warmup · steps)
 *     t <= steps − d   1                            d = round(warmdown · steps)
 *     else             1 − (1 − final)(t − steps + d)/d
 *
 * for step t of `steps`, from 0.  The paper has no warm-up and goes down all the way, to a tenth.
 */
#ifndef ISO_PLAN_SCHEDULE_H
#define ISO_PLAN_SCHEDULE_H

#include "base/settings.h"

struct iso_schedule {
    double warmup, warmdown; /* shares of the steps */
    double final;            /* share of the peak rates at the end */
};

extern const struct iso_key iso_schedule_keys[];
extern const struct iso_schedule iso_schedule_paper;

/* What the peak rates are multiplied by at step t. */
double iso_schedule_factor(const struct iso_schedule *s, int64_t t, int64_t steps);

#endif
