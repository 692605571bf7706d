/* Drift: do the token statistics change along the stream of rows? (Method: drift.c.) */
#ifndef ISO_DATA_DRIFT_H
#define ISO_DATA_DRIFT_H

#include "data/loader.h"

enum { ISO_DRIFT_PARTS = 10, ISO_DRIFT_ORDERS = 20 };

struct iso_drift {
    double kl[ISO_DRIFT_PARTS]; /* nats per token, each tenth against the whole */
    double mean;                /* of kl */
    double chance, chance_sd;   /* of `mean` over random orders of the same rows */
    double z;                   /* (mean - chance) / chance_sd */
};

/* Needs at least ISO_DRIFT_PARTS rows. */
enum iso_status iso_drift_measure(struct iso_drift *out, const struct iso_dataset *ds,
                                  enum iso_split split, struct iso_err *err);

#endif
