/* Any bytes as the JSON of a fit: read it and predict a model without a loop and one with. */
#include "fit/predict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void predict(const struct iso_predictor *p)
{
    static struct iso_run at[] = {
        {.r = 1, .n_once = 1e6, .n_rec = 1e6, .tokens = 1e9, .budget = 1e16},
        {.r = 4, .n_once = 1e6, .n_rec = 1e6, .tokens = 1e9, .budget = 1e16}};
    const struct iso_runs points = {.at = at, .n = 2};
    struct iso_table t;
    struct iso_err err;
    if (iso_predict_check(p, &points, &err) != ISO_OK)
        return;
    iso_predict_table(&t, p, &points);
    iso_table_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_arena arena = {0};
    struct iso_predictor p;
    struct iso_err err;
    if (size > 1 << 14)
        return 0;
    if (iso_predictor_read(&p, &arena, (const char *)data, size, "fuzz", &err) == ISO_OK)
        predict(&p);
    iso_arena_release(&arena);
    return 0;
}
