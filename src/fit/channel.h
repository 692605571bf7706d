/* Where a variant's change of the compute-optimal loss comes from; see channel.c. */
#ifndef ISO_FIT_CHANNEL_H
#define ISO_FIT_CHANNEL_H

#include "fit/compare.h"

/* Fills v->channel for every budget and r > 1 that both tables have, from v->joint. */
void iso_channels_run(struct iso_variant *v, struct iso_arena *arena, const struct iso_runs *base,
                      const struct iso_runs *variant);

#endif
