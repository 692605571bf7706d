/* Any bytes as the JSON of a fit: read it and predict one loss. */
#include "fit/predict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct iso_run run = {
        .r = 4, .n_once = 1e6, .n_rec = 1e6, .tokens = 1e9, .budget = 1e16};
    struct iso_arena arena = {0};
    struct iso_predictor p;
    struct iso_err err;
    if (size > 1 << 14)
        return 0;
    if (iso_predictor_read(&p, &arena, (const char *)data, size, "fuzz", &err) == ISO_OK)
        (void)iso_predict(&p, &run);
    iso_arena_release(&arena);
    return 0;
}
