/* Any text as a condition on runs: parse it and ask one run. */
#include "sweep/record_where.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_arena arena = {0};
    struct iso_err err;
    struct iso_record rec;
    const struct iso_where *where;
    if (size > 1 << 12)
        return 0;
    iso_record_init(&rec);
    if (iso_record_where_parse(&where, &arena, iso_arena_strndup(&arena, (const char *)data, size),
                               &err) == ISO_OK)
        (void)iso_record_where_holds(where, &rec);
    iso_arena_release(&arena);
    return 0;
}
