/* Any bytes as the names of two columns, a line each, and a table behind them: split by the one,
 * clustered by the other.  No run is lost or counted twice. */
#include "fit/parts.h"
#include "fit/resample.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_parts(const struct iso_runs *runs)
{
    struct iso_parts parts;
    size_t n = 0;
    iso_parts_split(&parts, runs);
    for (size_t i = 0; i < parts.n; i++) {
        n += parts.table[i].n;
        if (parts.table[i].n == 0 || !*parts.value[i] ||
            iso_parts_find(&parts, parts.value[i]) != i)
            abort();
    }
    if (n != runs->n)
        abort();
    iso_parts_release(&parts);
}

static void check_clusters(const struct iso_runs *runs)
{
    struct iso_blocks blocks;
    iso_blocks_init(&blocks, runs, iso_runs_unit(runs));
    for (size_t i = 0; i < runs->n; i++)
        for (size_t k = 0; k < i; k++)
            if ((blocks.of_run[i] == blocks.of_run[k]) !=
                iso_str_eq(runs->at[i].cluster, runs->at[k].cluster))
                abort();
    iso_blocks_release(&blocks);
}

/* The next line, without its end; NULL when there is none. */
static char *take_line(struct iso_arena *arena, const char **at, const char *end)
{
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    if (!newline)
        return NULL;
    char *line = iso_arena_strndup(arena, *at, (size_t)(newline - *at));
    *at = newline + 1;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    struct iso_arena arena = {0};
    char *part = size > 0 && size < 1 << 13 ? take_line(&arena, &at, end) : NULL;
    char *cluster = part ? take_line(&arena, &at, end) : NULL;
    struct iso_runs runs = {0};
    struct iso_err err;
    const struct iso_runs_how how = {.part = part, .cluster = cluster};
    if (cluster && iso_runs_add(&runs, at, (size_t)(end - at), "fuzz", &how, &err) == ISO_OK &&
        iso_runs_finish(&runs, &err) == ISO_OK && runs.n > 0 && runs.n < 200) {
        check_parts(&runs);
        check_clusters(&runs);
    }
    iso_runs_release(&runs);
    iso_arena_release(&arena);
    return 0;
}
