/* Which of a model's parameters are looped, from its architecture: prelude and coda layers run
 * once, those between them r times, and a linear injection has the size of a sixth of a layer
 * (2 d² against 12 d²).  For tables that give one number of parameters per run. */
#ifndef ISO_FIT_SPLIT_H
#define ISO_FIT_SPLIT_H

#include "base/err.h"

#include <stdbool.h>

struct iso_layer_split {
    double depth; /* executed layers; NaN when not known */
    double prelude, coda;
    bool inject; /* a linear injection, which looped models have */
};

/* Nothing known; an injection. */
struct iso_layer_split iso_split_unknown(void);
/* "depth=20,prelude=2,coda=2", with ",inject=none" for mechanisms without parameters; NULL is
 * nothing known. */
enum iso_status iso_split_parse(struct iso_layer_split *split, const char *text,
                                struct iso_err *err);

struct iso_sizes {
    double n_once, n_rec, n_inject;
};
/* The parts of n parameters (NaN: from the width d) at r recurrences.  The message names no
 * place. */
enum iso_status iso_split_sizes(struct iso_sizes *out, const struct iso_layer_split *split,
                                double n, double d, double r, struct iso_err *err);

#endif
