/* Any bytes as a run's result.json, and as a piece of its metrics.jsonl. */
#include "sweep/curve.h"
#include "sweep/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_err err;
    struct iso_record rec;
    iso_record_init(&rec);
    rec.steps = 10;
    (void)iso_result_parse(&rec, (const char *)data, size, "fuzz", &err);
    struct iso_curve curve = {.n = 0};
    iso_curve_add(&curve, (const char *)data, size);
    return 0;
}
