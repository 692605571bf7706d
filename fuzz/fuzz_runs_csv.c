/* Any bytes as a CSV table of runs: what is read is written and read again to the same rows, and a
 * fit of it ends, whatever the numbers are. */
#include "fit/fit.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
        struct iso_fit_options o = iso_fit_defaults();
        struct iso_fit fit;
        o.starts = 2;
        o.max_iterations = 10;
        if (runs.n < 64)
            (void)iso_fit_run(&fit, &runs, &o, &err);
    }
    iso_str_release(&csv);
    iso_runs_release(&runs);
    iso_runs_release(&again);
    return 0;
}
