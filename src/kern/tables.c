/* The kernel tables: which sets there are, how a table is filled, which one is chosen. */
#include "kern/tables.h"

#include "base/str.h"

#include <pthread.h>
#include <stdlib.h>

static void fill_nothing(struct iso_kern *k)
{
    (void)k;
}

const struct iso_kern_set iso_kern_sets[] = {
    {"ref", iso_cpu_any, fill_nothing, iso_cpu_any},
#if defined(__x86_64__)
    {"avx2", iso_cpu_avx2, iso_kern_fill_avx2, iso_cpu_any},
    {"avx512", iso_cpu_avx512, iso_kern_fill_avx512, iso_cpu_any},
    /* AMD's CPUs start as many dot products of pairs a cycle as multiply-adds, Intel's half as
     * many: 1.2 to 1.45 times avx512's speed on the one, 0.6 on the other (SPEED.md). */
    {"avx512bf16", iso_cpu_avx512bf16, iso_kern_fill_avx512bf16, iso_cpu_amd},
    {"amx", iso_cpu_amx, iso_kern_fill_amx, iso_cpu_any},
#endif
    {0},
};

enum { N_SETS = sizeof iso_kern_sets / sizeof *iso_kern_sets - 1 };

static struct iso_kern tables[N_SETS]; /* written once */

static void fill_tables(void)
{
    for (int i = 0; i < N_SETS; i++) {
        tables[i] = iso_kern_ref;
        tables[i].name = iso_kern_sets[i].name;
        if (iso_kern_sets[i].runs_here()) /* a fill function is compiled for its set, too */
            iso_kern_sets[i].fill(&tables[i]);
    }
}

static const struct iso_kern *table(int i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_tables);
    return &tables[i];
}

const struct iso_kern *iso_kern_get(const char *name)
{
    for (int i = 0; i < N_SETS; i++)
        if (iso_str_eq(iso_kern_sets[i].name, name) && iso_kern_sets[i].runs_here())
            return table(i);
    return NULL;
}

enum iso_status iso_kern_find(const struct iso_kern **k, const char *name, struct iso_err *err)
{
    struct iso_str there = {0};
    *k = iso_kern_get(name);
    if (*k)
        return ISO_OK;
    for (int i = 0; i < N_SETS; i++)
        if (iso_kern_sets[i].runs_here())
            iso_str_printf(&there, " %s", iso_kern_sets[i].name);
    iso_fail(err, ISO_MISSING,
             "this machine and this build have no kernels \"%.40s\"; there are:%s", name,
             iso_str_text(&there));
    iso_str_release(&there);
    return ISO_MISSING;
}

enum iso_status iso_kern_best(const struct iso_kern **k, struct iso_err *err)
{
    const char *wanted = getenv("ISO_CPU");
    if (wanted && *wanted) {
        enum iso_status st = iso_kern_find(k, wanted, err);
        return st == ISO_OK ? ISO_OK : iso_fail_in(err, st, "ISO_CPU");
    }
    int best = N_SETS - 1;
    while (!iso_kern_sets[best].runs_here() || !iso_kern_sets[best].fast_here())
        best--;
    *k = table(best);
    return ISO_OK;
}

/* What the hungriest kernel takes, rounded up: a number per row of a sequence, a chunk of
 * packed keys and values (256 keys forward; 128 in three layouts backward) with bands of scores,
 * and a block of the left-hand side (266 rows of 320 + 16 steps, and what a vector spills). */
size_t iso_kern_ws_bytes(size_t T, size_t Q)
{
    size_t rows = 2 * (T + 64) * sizeof(double);
    size_t chunk = 1024 * (Q + 64) * sizeof(float);
    size_t scores = 2 * 128 * 288 * sizeof(float);
    size_t left = 336 * 272 * sizeof(float);
    return rows + (chunk + scores > left ? chunk + scores : left);
}
