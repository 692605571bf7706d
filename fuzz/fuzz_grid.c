/* Any bytes as a grid file: read, check, plan. */
#include "plan/grid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_arena arena = {0};
    struct iso_err err;
    struct iso_grid grid;
    struct iso_plan_run *runs;
    size_t n;
    if (size > 1 << 14)
        return 0;
    iso_grid_init(&grid);
    struct iso_settings s = {&arena, "fuzz", &err};
    if (iso_yaml_parse(&grid.document, &arena, (const char *)data, size, "fuzz", &err) == ISO_OK &&
        iso_settings_read(&s, &grid, iso_grid_keys, grid.document) == ISO_OK &&
        iso_grid_horizons(&grid)->n * grid.r.n * grid.seeds.n < 10000)
        (void)iso_grid_plan(&runs, &n, &grid, &arena, &err);
    iso_arena_release(&arena);
    return 0;
}
