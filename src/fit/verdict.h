/* What a comparison says in words: which estimator speaks, its verdict, its sentence. */
#ifndef ISO_FIT_VERDICT_H
#define ISO_FIT_VERDICT_H

#include "fit/compare.h"

/* Fills the verdicts, the headline, the trust and the sentence. */
void iso_verdict_run(struct iso_variant *v, struct iso_arena *arena, const struct iso_recipe *base);

#endif
