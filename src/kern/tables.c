/* The choice of a kernel table: the last row that the CPU can run and that ISO_CPU allows. */
#include "kern/tables.h"

#include <stdlib.h>
#include <string.h>

/* From the slowest to the fastest; the end is NULL. */
static const struct iso_kern *const tables[] = {
    &iso_kern_ref,
#if defined(__x86_64__)
    &iso_kern_avx2, &iso_kern_avx512, &iso_kern_avx512bf16, &iso_kern_amx,
#endif
    NULL,
};

const struct iso_kern *iso_kern_get(const char *name)
{
    for (size_t i = 0; tables[i]; i++)
        if (strcmp(tables[i]->name, name) == 0)
            return iso_cpu_has(name) ? tables[i] : NULL;
    return NULL;
}

const struct iso_kern *iso_kern_best(const char **why)
{
    const char *wanted = getenv("ISO_CPU");
    if (wanted && *wanted) {
        const struct iso_kern *k = iso_kern_get(wanted);
        if (!k && why)
            *why = "ISO_CPU names no instruction set that this machine and this build have; "
                   "take ref, avx2, avx512, avx512bf16 or amx, or leave it unset";
        return k;
    }
    const struct iso_kern *best = &iso_kern_ref;
    for (size_t i = 0; tables[i]; i++)
        if (iso_cpu_has(tables[i]->name))
            best = tables[i];
    return best;
}

/* What the hungriest kernel takes, rounded up: two numbers per row of a sequence, a chunk of
 * packed keys and values (256 keys forward; 128 in three layouts backward) with bands of scores,
 * and the blocks of a transposed left-hand side (224 rows, 320 steps). */
size_t iso_kern_ws_bytes(size_t T, size_t Q)
{
    size_t rows = 2 * (T + 64) * sizeof(double);
    size_t chunk = 1024 * (Q + 64) * sizeof(float);
    size_t scores = 2 * 128 * 288 * sizeof(float);
    size_t left = 320 * 256 * sizeof(float);
    return rows + (chunk + scores > left ? chunk + scores : left);
}
