/* Where a variant's change of the compute-optimal loss comes from; see channel.c. */
#ifndef ISO_FIT_CHANNEL_H
#define ISO_FIT_CHANNEL_H

#include "fit/compare.h"

/* Fills d->channel for every budget and r > 1 that both tables have, and the means over them. */
void iso_channels_run(struct iso_delta *d, struct iso_arena *arena, const struct iso_runs *base,
                      const struct iso_runs *variant, const struct iso_fit *base_fit,
                      const struct iso_fit *variant_fit);
/* The mean token channel if the base's law were another one, at the same widths. */
double iso_channels_token(const struct iso_delta *d, const struct iso_fit *base_fit);

#endif
