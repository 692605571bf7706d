/* Any bytes as JSON: what parses must survive being looked through. */
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const struct iso_json *v)
{
    size_t n = v->kind == ISO_JSON_STRING ? v->len : 1;
    for (const struct iso_json *c = v->child; c; c = c->next)
        n += count(c);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_arena arena = {0};
    struct iso_err err;
    const struct iso_json *v;
    if (iso_json_parse(&v, &arena, (const char *)data, size, "fuzz", &err) == ISO_OK &&
        count(v) > size)
        __builtin_trap(); /* more values than bytes */
    iso_arena_release(&arena);
    return 0;
}
