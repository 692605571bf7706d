/* How often do the checks speak up?  Simulated studies on the paper's grid: 400 clean ones for each
 * kind of noise, 100 with each fault of fit_faults.h.  At least 380 of 400 clean studies must be
 * `good`; at most 10 of 100 faulty ones.  Prints the table of docs/fitting.md. */
#include "test.h"

#include "base/parallel.h"
#include "fit_faults.h"

#include <stdio.h>

enum { CLEAN = 400, FAULTY = 100 };

struct job {
    const struct fault *fault;
    enum iso_trust trust[CLEAN];
    bool expected[CLEAN]; /* the check meant for it found it, at its level */
};

static void run_one(void *ctx, size_t i, int worker)
{
    struct job *job = ctx;
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    (void)worker;
    fault_study(&runs, job->fault, 1000 + i);
    fault_judge(&checks, &arena, &runs, i);
    job->trust[i] = checks.trust;
    if (job->fault->check) {
        const struct iso_finding *found = iso_checks_find(&checks, job->fault->check);
        job->expected[i] = found && found->level == job->fault->level;
    }
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

static void test_rates(void **state)
{
    static struct job job;
    bool holds = true;
    (void)state;
    printf("| study | good | caution | undetermined | found by |\n|---|---|---|---|---|\n");
    for (size_t f = 0; f < N_FAULTS; f++) {
        const struct fault *fault = &faults[f];
        const size_t n = fault->check ? FAULTY : CLEAN;
        size_t count[3] = {0}, expected = 0;
        job = (struct job){.fault = fault};
        iso_parallel_for(n, iso_cpu_count(), run_one, &job);
        for (size_t i = 0; i < n; i++) {
            count[job.trust[i]]++;
            expected += job.expected[i];
        }
        printf("| %s | %zu of %zu | %zu | %zu |", fault->name, count[ISO_TRUST_GOOD], n,
               count[ISO_TRUST_CAUTION], count[ISO_TRUST_UNDETERMINED]);
        if (fault->check)
            printf(" `%s`, %s in %zu |\n", fault->check, iso_level_name(fault->level), expected);
        else
            printf(" |\n");
        fflush(stdout);
        holds &= fault->check ? count[ISO_TRUST_GOOD] <= FAULTY / 10
                              : count[ISO_TRUST_GOOD] >= CLEAN * 95 / 100;
    }
    assert_true(holds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
