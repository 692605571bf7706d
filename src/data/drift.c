/* Drift of the token statistics along the stream.
 *
 * Method.  The stream of rows is cut into tenths.  With p_k(v) the share of token v in tenth k and
 * q(v) its share in the whole, KL_k = sum_v p_k log(p_k / q) nats per token, and the measure is the
 * mean of the ten.  Even a perfectly shuffled stream gives more than zero, and more than the
 * chi-square of independent tokens ((1 - 1/10)(V - 1) / 2n), because the tokens of one row belong
 * together.  So the expectation is measured, not assumed: the same number for 20 random orders of
 * the same rows.  A stream is stationary when its own order looks like one of those.
 *
 * The orders come from iso_dataset_order with seeds 1..20, so the result is reproducible. */
#include "data/drift.h"

#include <math.h>
#include <stdlib.h>

enum { PARTS = ISO_DRIFT_PARTS, ORDERS = ISO_DRIFT_ORDERS };

/* counts[PARTS][V] of one order -> the mean KL; each part's own into kl when it is not NULL. */
static double mean_kl(double *kl, const uint32_t *counts, const double *whole, int64_t V)
{
    double all = 0, sum = 0;
    for (int64_t v = 0; v < V; v++)
        all += whole[v];
    for (int k = 0; k < PARTS; k++) {
        const uint32_t *c = counts + k * V;
        double n = 0, s = 0;
        for (int64_t v = 0; v < V; v++)
            n += c[v];
        for (int64_t v = 0; v < V; v++)
            if (c[v] > 0)
                s += c[v] / n * log(c[v] / n * all / whole[v]);
        if (kl)
            kl[k] = s;
        sum += s;
    }
    return sum / PARTS;
}

/* Counts the rows of all orders in one pass: order 0 is the stream's own. */
static enum iso_status count(uint32_t *counts, const struct iso_dataset *ds, enum iso_split split,
                             struct iso_err *err)
{
    int64_t rows = ds->split[split].rows, V = ds->vocab;
    int32_t *row = ISO_NEW_N(int32_t, (size_t)ds->T + 1);
    enum iso_status st = ISO_OK;
    for (int64_t i = 0; i < rows && st == ISO_OK; i++) {
        st = iso_dataset_row(ds, row, split, i, err);
        for (int order = 0; order <= ORDERS && st == ISO_OK; order++) {
            int64_t at = iso_dataset_order(rows, i, (uint64_t)order), part = at * PARTS / rows;
            uint32_t *c = counts + (order * PARTS + part) * V;
            for (int64_t t = 0; t <= ds->T; t++)
                c[row[t]]++;
        }
    }
    free(row);
    return st;
}

enum iso_status iso_drift_measure(struct iso_drift *out, const struct iso_dataset *ds,
                                  enum iso_split split, struct iso_err *err)
{
    if (ds->split[split].rows < PARTS)
        return iso_fail(err, ISO_BAD_INPUT, "%s: drift needs at least %d rows, %s has %lld",
                        ds->dir, PARTS, iso_split_name[split], (long long)ds->split[split].rows);
    int64_t V = ds->vocab;
    uint32_t *counts = ISO_NEW_N(uint32_t, (size_t)(V * PARTS * (ORDERS + 1)));
    double *whole = ISO_NEW_N(double, (size_t)V);
    enum iso_status st = count(counts, ds, split, err);
    for (int64_t i = 0; i < V * PARTS; i++)
        whole[i % V] += counts[i];
    out->mean = mean_kl(out->kl, counts, whole, V);
    double sum = 0, squares = 0;
    for (int order = 1; order <= ORDERS; order++) {
        double x = mean_kl(NULL, counts + order * PARTS * V, whole, V);
        sum += x;
        squares += x * x;
    }
    out->chance = sum / ORDERS;
    out->chance_sd = sqrt(fmax(0, (squares - sum * sum / ORDERS) / (ORDERS - 1)));
    out->z = out->chance_sd > 0 ? (out->mean - out->chance) / out->chance_sd : 0;
    free(counts);
    free(whole);
    return st;
}
