/* Any bytes as the decisions of a study: what parses can be shown. */
#include "fit/adapt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_adaptions list;
    struct iso_err err;
    if (iso_adaptions_parse(&list, (const char *)data, size, "fuzz", &err) == ISO_OK) {
        struct iso_table t;
        iso_adaptions_table(&t, &list);
        iso_table_release(&t);
    }
    iso_adaptions_release(&list);
    return 0;
}
