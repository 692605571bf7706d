/* Speed of the fits on examples/paper_baseline.csv, and how it grows.  All times are CPU times, of
 * all threads together: other work on the machine hardly changes them.
 *
 *   bench_fit              every measurement, for people
 *   bench_fit joint|bootstrap|protocol   one of them: seconds, Huber sum, phi (for bench/fit.sh) */
#include "base/parallel.h"
#include "fit/analysis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct iso_runs runs;

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct iso_fit_options options(void)
{
    struct iso_fit_options o = iso_fit_defaults();
    o.threads = iso_cpu_count() < 2 ? 1 : 2;
    return o;
}

static void time_joint(void)
{
    const struct iso_fit_options o = options();
    struct iso_fit fit;
    const double start = cpu_now();
    if (iso_fit_run(&fit, &runs, &o, NULL) != ISO_OK)
        abort();
    printf("%.6f %.12e %.9f\n", cpu_now() - start, fit.huber_sum, fit.phi);
}

static void time_bootstrap(void)
{
    const struct iso_fit_options o = options();
    struct iso_arena arena = {0};
    struct iso_bootstrap b;
    struct iso_fit fit;
    const double start = cpu_now();
    if (iso_fit_run(&fit, &runs, &o, NULL) != ISO_OK)
        abort();
    if (iso_bootstrap_run(&b, &arena, &runs, &fit, &o, ISO_BLOCK_CELL, 200, NULL) != ISO_OK)
        abort();
    printf("%.6f %.6f %.6f\n", cpu_now() - start, b.low, b.high);
    iso_arena_release(&arena);
}

static void time_protocol(void)
{
    struct iso_analysis_options o = iso_analysis_defaults();
    struct iso_analysis analysis;
    o.fit = options();
    const double start = cpu_now();
    if (iso_analysis_run(&analysis, &runs, &o, NULL) != ISO_OK)
        abort();
    printf("%.6f %.12e %.9f\n", cpu_now() - start, analysis.fit.huber_sum, analysis.fit.phi);
    iso_analysis_release(&analysis);
}

/* The table again and again, every copy with slightly larger models: more runs to fit. */
static void time_growth(void)
{
    for (size_t copies = 1; copies <= 100; copies *= 10) {
        struct iso_runs many = {0};
        for (size_t c = 0; c < copies; c++)
            for (size_t i = 0; i < runs.n; i++) {
                struct iso_run *run = ISO_PUSH(many.at, many.n, many.room);
                *run = runs.at[i];
                run->n_once *= 1 + 1e-6 * (double)c;
            }
        iso_runs_sort(&many);
        struct iso_fit_options o = options();
        struct iso_fit fit;
        o.starts = 100;
        const double start = cpu_now();
        if (iso_fit_run(&fit, &many, &o, NULL) != ISO_OK)
            abort();
        const double seconds = cpu_now() - start;
        printf("%6zu runs, 100 starts: %8.3f s, %.2f us per run and start\n", many.n, seconds,
               seconds * 1e6 / (double)many.n / 100);
        iso_runs_release(&many);
    }
}

static const struct {
    const char *name, *what;
    void (*run)(void);
} measurements[] = {
    {"joint", "joint fit, 500 starts (s, Huber sum, phi)", time_joint},
    {"bootstrap", "bootstrap, 200 x 500 starts (s, low, high)", time_bootstrap},
    {"protocol", "whole protocol (s, Huber sum, phi)", time_protocol},
};

int main(int argc, char **argv)
{
    static const char *const path = "examples/paper_baseline.csv";
    struct iso_err err;
    if (iso_runs_read(&runs, &path, 1, NULL, &err) != ISO_OK) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    for (size_t i = 0; i < sizeof measurements / sizeof *measurements; i++) {
        if (argc > 1 && strcmp(argv[1], measurements[i].name) != 0)
            continue;
        if (argc == 1)
            printf("%-44s ", measurements[i].what);
        measurements[i].run();
    }
    if (argc == 1)
        time_growth();
    iso_runs_release(&runs);
    return 0;
}
