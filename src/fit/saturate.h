/* The saturating law of test-time depth, L(T) = L_inf + Z exp(-z T / mu): what further iterations
 * T bring a model that was trained with mu of them (Prairie et al., 2026).
 *
 * It only describes curves that fall.  Where the loss rises with T somewhere, the law is not
 * fitted and the place is said. */
#ifndef ISO_FIT_SATURATE_H
#define ISO_FIT_SATURATE_H

#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>

enum iso_saturation_state {
    ISO_SATURATION_FITTED,
    ISO_SATURATION_RISES, /* the loss rises from `from` to `to` iterations */
    ISO_SATURATION_FEW,   /* fewer than four depths: three parameters would fit anything */
};

struct iso_saturation {
    enum iso_saturation_state state;
    double floor, gain, rate; /* L_inf, Z, z */
    double rmse;
    double from, to;
};

/* Loss L[i] at T[i] iterations, T rising. */
struct iso_saturation iso_saturation_fit(const double *T, const double *L, size_t n, double mu);

/* As cells of a table: ISO_SATURATION_COLUMNS. */
#define ISO_SATURATION_COLUMNS "L(inf)|Z|z|RMSE|note"
void iso_saturation_put(struct iso_table *t, const struct iso_saturation *s);

#endif
