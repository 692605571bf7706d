/* Any bytes as a grid file: read, check, plan; what can be planned is written to a file that plans
 * the same runs. */
#include "plan/grid.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct planned {
    struct iso_grid grid;
    struct iso_plan_run *runs;
    size_t n;
};

static enum iso_status plan(struct planned *p, struct iso_arena *arena, const char *text,
                            size_t len, struct iso_err *err)
{
    struct iso_settings s = {arena, "fuzz", err};
    iso_grid_init(&p->grid);
    enum iso_status st = iso_yaml_parse(&p->grid.document, arena, text, len, "fuzz", err);
    if (st == ISO_OK)
        st = iso_settings_read(&s, &p->grid, iso_grid_keys, p->grid.document);
    if (st == ISO_OK && iso_grid_horizons(&p->grid)->n * p->grid.r.n * p->grid.seeds.n >= 10000)
        st = iso_fail(err, ISO_BAD_INPUT, "too large for a quick target");
    return st == ISO_OK ? iso_grid_plan(&p->runs, &p->n, &p->grid, arena, err) : st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_arena arena = {0};
    struct iso_str text = {0};
    struct iso_err err;
    struct planned first, again;
    if (size < 1 << 14 && plan(&first, &arena, (const char *)data, size, &err) == ISO_OK) {
        iso_grid_write(&text, &first.grid);
        if (plan(&again, &arena, text.text, text.len, &err) != ISO_OK || first.n != again.n)
            abort();
        for (size_t i = 0; i < first.n; i++)
            if (strcmp(first.runs[i].id, again.runs[i].id) != 0)
                abort();
    }
    iso_str_release(&text);
    iso_arena_release(&arena);
    return 0;
}
