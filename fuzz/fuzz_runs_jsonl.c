/* Any bytes as JSON lines of runs: what is read is written and read again to the same runs. */
#include "fit/runs.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const struct iso_run *a, const struct iso_run *b)
{
    return iso_str_eq(a->id, b->id) && iso_str_eq(a->seed, b->seed) && a->budget == b->budget &&
           a->r == b->r && a->n_once == b->n_once && a->n_rec == b->n_rec &&
           a->n_inject == b->n_inject && a->tokens == b->tokens && a->loss == b->loss;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_runs runs = {0}, again = {0};
    struct iso_str csv = {0};
    struct iso_err err;
    if (size > 1 << 14)
        return 0;
    if (iso_runs_add(&runs, (const char *)data, size, "fuzz", NULL, &err) == ISO_OK &&
        iso_runs_finish(&runs, &err) == ISO_OK && runs.n > 0) {
        iso_runs_write_csv(&csv, &runs);
        if (iso_runs_add(&again, csv.text, csv.len, "again", NULL, &err) != ISO_OK ||
            iso_runs_finish(&again, &err) != ISO_OK || again.n != runs.n)
            abort();
        for (size_t i = 0; i < runs.n; i++)
            if (!same(&runs.at[i], &again.at[i]))
                abort();
    }
    iso_str_release(&csv);
    iso_runs_release(&runs);
    iso_runs_release(&again);
    return 0;
}
