/* The choice of a kernel table: the last row that the CPU can run and that ISO_CPU allows. */
#include "kern/tables.h"

#include <stdlib.h>
#include <string.h>

/* From the slowest to the fastest. */
static const struct iso_kern *const tables[] = {
    &iso_kern_ref,
};
enum { TABLES = sizeof tables / sizeof *tables };

const struct iso_kern *iso_kern_get(const char *name)
{
    for (size_t i = 0; i < TABLES; i++)
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
                   "take ref, avx2, avx512 or amx, or leave it unset";
        return k;
    }
    for (size_t i = TABLES; i-- > 1;)
        if (iso_cpu_has(tables[i]->name))
            return tables[i];
    return &iso_kern_ref;
}

/* The largest users: a row of scores in double (ref), the tiles of attention (six of 64 x 64
 * scores and six of 64 x Q), and the packed blocks of a transposed left-hand side. */
size_t iso_kern_ws_bytes(size_t T, size_t Q, size_t side)
{
    size_t row = T * sizeof(double);
    size_t tiles = (8 * 64 * 64 + 8 * 64 * (Q + 64) + 8 * T) * sizeof(float);
    size_t panel = 256 * (side + 64) * sizeof(float);
    return row + tiles + panel + 4096;
}
