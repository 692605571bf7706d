/* Any bytes as the decisions of a study: what parses can be shown, and reads back as it was
 * written. */
#include "fit/adapt.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_written(const struct iso_adaptions *list)
{
    struct iso_str text = {0}, twice = {0};
    struct iso_adaptions again;
    struct iso_err err;
    iso_adaptions_write(&text, list);
    if (iso_adaptions_parse(&again, text.text, text.len, "again", &err) != ISO_OK)
        abort();
    iso_adaptions_write(&twice, &again);
    if (!iso_str_eq(text.text, twice.text))
        abort();
    iso_adaptions_release(&again);
    iso_str_release(&text);
    iso_str_release(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_adaptions list;
    struct iso_err err;
    if (iso_adaptions_parse(&list, (const char *)data, size, "fuzz", &err) == ISO_OK) {
        struct iso_table t;
        iso_adaptions_table(&t, &list);
        iso_table_release(&t);
        check_written(&list);
    }
    iso_adaptions_release(&list);
    return 0;
}
