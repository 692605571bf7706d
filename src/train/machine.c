/* What this machine can give: see machine.h. */
#include "train/machine.h"

#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind `key` in a file of lines "key number"; `otherwise` without one. */
static double number_in(const char *path, const char *key, double otherwise)
{
    char line[256];
    double x = otherwise;
    size_t n = strlen(key);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, n) == 0 && sscanf(line + n, " %lf", &x) == 1)
            break;
    if (f)
        fclose(f);
    return x;
}

/* Control groups, version 2 and 1: where they are, and what their files are called. */
static const struct hierarchy {
    const char *controller, *mount, *limit, *used;
} hierarchies[] = {
    {"::", "sys/fs/cgroup", "memory.max", "anon "},
    {"memory:", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "total_rss "},
};

/* What the group at `path` and those above it still allow.  Cached files do not count as used:
 * they make room. */
static double group_room(const char *root, const struct hierarchy *h, char *path)
{
    double room = INFINITY;
    char file[1024];
    for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
        *end = '\0';
        snprintf(file, sizeof file, "%s/%s%s/%s", root, h->mount, path, h->limit);
        double limit = number_in(file, "", INFINITY);
        snprintf(file, sizeof file, "%s/%s%s/memory.stat", root, h->mount, path);
        room = fmin(room, limit - number_in(file, h->used, 0));
    }
    return fmax(room, 0);
}

double iso_cgroup_room(const char *root)
{
    char line[512];
    double room = INFINITY;
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *f = fopen(line, "r");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
            char *at = strstr(line, hierarchies[i].controller);
            if (at)
                room = fmin(room, group_room(root, &hierarchies[i],
                                             at + strlen(hierarchies[i].controller)));
        }
    }
    if (f)
        fclose(f);
    return room;
}

double iso_memory_available(void)
{
    double kilobytes = number_in("/proc/meminfo", "MemAvailable:", 0);
    return fmin(kilobytes * 1024, iso_cgroup_room(""));
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
    struct iso_ws ws = {.bytes = iso_alloc_aligned(iso_kern_ws_bytes(1, 2), 1)};
    float *a = iso_alloc_aligned(SIDE * SIDE, sizeof(float));
    float *c = iso_alloc_aligned(SIDE * SIDE, sizeof(float));
    p->kern->pack(&b, a, SIDE, false);
    double start = iso_time_now(), seconds = 0;
    while (seconds < enough) {
        p->kern->gemm(c, SIDE, a, SIDE, false, &b, SIDE, NULL, &ws);
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
