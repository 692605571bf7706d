/* The schedule of all rates: see schedule.h. */
#include "plan/schedule.h"

#include <math.h>

#define FIELD(field)                                                                               \
    .name = #field, .offset = offsetof(struct iso_schedule, field), .kind = ISO_KEY_NUMBER,        \
    .min = 0, .max = 1
const struct iso_key iso_schedule_keys[] = {
    {FIELD(warmup), .help = "share of the steps over which rates go up"},
    {FIELD(warmdown), .help = "share of the steps over which they go down"},
    {FIELD(final), .help = "share of the peak rates at the end"},
    {0},
};

const struct iso_schedule iso_schedule_paper = {.warmup = 0, .warmdown = 1, .final = 0.1};

double iso_schedule_factor(const struct iso_schedule *s, int64_t t, int64_t steps)
{
    double up = round(s->warmup * (double)steps), down = round(s->warmdown * (double)steps);
    double into = (double)t - ((double)steps - down); /* steps of the way down */
    if ((double)t < up)
        return ((double)t + 1) / up;
    return into <= 0 ? 1 : 1 - (1 - s->final) * into / down;
}
