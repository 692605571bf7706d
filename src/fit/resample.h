/* Blocks of runs and draws from them; bootstrap, compare and power share it. */
#ifndef ISO_FIT_RESAMPLE_H
#define ISO_FIT_RESAMPLE_H

#include "base/rng.h"
#include "fit/interval.h"
#include "fit/objective.h"

struct iso_blocks {
    size_t n, n_runs;
    size_t *of_run; /* [n_runs] number of the run's block */
};
void iso_blocks_init(struct iso_blocks *b, const struct iso_runs *runs, enum iso_block block);
void iso_blocks_release(struct iso_blocks *b);
/* Draws as many blocks as there are, with replacement; count[i] is how often run i is in. */
void iso_blocks_draw(unsigned *count, const struct iso_blocks *b, struct iso_rng *rng);
/* Whether a resample of `runs` determines every free parameter: enough runs, some looped, each phi
 * seen, and budgets and recurrences that determine it. */
bool iso_resample_usable(const struct iso_design *x, const struct iso_runs *runs);

#endif
