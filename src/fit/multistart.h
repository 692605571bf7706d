/* Many minimisations from points drawn uniformly in the box. */
#ifndef ISO_FIT_MULTISTART_H
#define ISO_FIT_MULTISTART_H

#include "fit/solver.h"

struct iso_multistart {
    struct iso_solution best;
    int starts_best;   /* starts that ended within 1e-6 (relative) of the best value */
    double iterations; /* mean per start */
    size_t n_rivals;
    struct iso_rival rival[ISO_MAX_RIVALS];
};

/* Uses options->starts, seed, solver, max_iterations, and the design's own start; draw number k of
 * start i depends on seed, `stream` and i only, so the result does not depend on the number of
 * threads. */
void iso_multistart_run(struct iso_multistart *out, const struct iso_design *x,
                        const struct iso_fit_options *options, uint64_t stream, int threads);

/* A fit to nearly the same runs as one whose optimum the design brings as its start: that start,
 * a few drawn ones, and all of them when the few disagree. */
void iso_refit(struct iso_solution *out, const struct iso_design *x,
               const struct iso_fit_options *options, uint64_t stream);

#endif
