/* Any bytes as a table of runs: what is read is written as CSV and read again to the same runs, and
 * a fit of them ends, whatever the numbers are. */
#include "fit/fit.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(const struct iso_run *a, const struct iso_run *b)
{
    return iso_str_eq(a->id, b->id) && iso_str_eq(a->seed, b->seed) && a->budget == b->budget &&
           a->r == b->r && a->n_once == b->n_once && a->n_rec == b->n_rec &&
           a->n_inject == b->n_inject && a->tokens == b->tokens && a->loss == b->loss;
}

static void check_reads_back(const struct iso_runs *runs)
{
    struct iso_runs again = {0};
    struct iso_str csv = {0};
    struct iso_err err;
    iso_runs_write_csv(&csv, runs);
    if (iso_runs_add(&again, csv.text, csv.len, "again", NULL, &err) != ISO_OK ||
        iso_runs_finish(&again, &err) != ISO_OK || again.n != runs->n)
        abort();
    for (size_t i = 0; i < runs->n; i++)
        if (!same(&runs->at[i], &again.at[i]))
            abort();
    iso_str_release(&csv);
    iso_runs_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_runs runs = {0};
    struct iso_fit_options o = iso_fit_defaults();
    struct iso_fit fit;
    struct iso_err err;
    if (size > 1 << 14)
        return 0;
    if (iso_runs_add(&runs, (const char *)data, size, "fuzz", NULL, &err) == ISO_OK &&
        iso_runs_finish(&runs, &err) == ISO_OK && runs.n > 0) {
        check_reads_back(&runs);
        o.starts = 2;
        o.max_iterations = 10;
        if (runs.n < 64)
            (void)iso_fit_run(&fit, &runs, &o, &err);
    }
    iso_runs_release(&runs);
    return 0;
}
