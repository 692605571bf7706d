/* What this machine can give: see machine.h. */
#include "train/machine.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

double iso_memory_available(void)
{
    double kilobytes = 0;
    char line[256];
    FILE *f = fopen("/proc/meminfo", "r");
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lf kB", &kilobytes) == 1)
            break;
    fclose(f);
    return kilobytes * 1024;
}

enum { SIDE = 256 };

struct peak {
    const struct iso_kern *kern;
    double *flops; /* [workers] per second */
};

static void measure(void *ctx, int worker)
{
    static const double enough = 0.05; /* seconds */
    struct peak *p = ctx;
    struct iso_packed b = {iso_alloc_aligned(p->kern->pack_bytes(SIDE, SIDE), 1), SIDE, SIDE};
    struct iso_ws ws = {.size = iso_kern_ws_bytes(1, 2, SIDE)};
    float *a = iso_alloc_aligned(SIDE * SIDE, sizeof(float));
    float *c = iso_alloc_aligned(SIDE * SIDE, sizeof(float));
    ws.bytes = iso_alloc_aligned(ws.size, 1);
    p->kern->pack(&b, a, SIDE, false);
    double start = iso_time_now(), seconds = 0;
    while (seconds < enough) {
        p->kern->gemm(c, SIDE, a, SIDE, false, &b, SIDE, 0, &ws);
        seconds = iso_time_now() - start;
    }
    p->flops[worker] = 2 * (double)ws.macs / seconds;
    free(a);
    free(c);
    free(b.bytes);
    free(ws.bytes);
}

double iso_measure_peak(struct iso_team *team, const struct iso_kern *kern)
{
    double sum = 0;
    struct peak p = {kern, ISO_NEW_N(double, (size_t)iso_team_size(team))};
    iso_team_run(team, measure, &p);
    for (int i = 0; i < iso_team_size(team); i++)
        sum += p.flops[i];
    free(p.flops);
    return sum;
}
