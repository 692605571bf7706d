/* How often do the checks speak up, and how often does +- cover the truth?  Simulated studies on
 * the paper's grid: 400 clean ones for each kind of noise, 100 with each fault of fit_faults.h.  At
 * least 380 of 400 clean studies must be `good`, and at most 10 of 100 faulty ones.  Prints the
 * tables of docs/fitting.md. */
#include "test.h"

#include "base/parallel.h"
#include "fit_faults.h"

#include <stdio.h>
#include <string.h>

enum { CLEAN = 400, FAULTY = 100 };

/* --- rates -------------------------------------------------------------------------------------
 */

struct job {
    const struct fault *fault;
    struct study {
        enum iso_trust trust;
        bool expected;                /* the check meant for it found it, at its level */
        double value[ISO_MAX_CHECKS]; /* of each row of the table; NaN where not tested */
    } study[CLEAN];
};

static void run_one(void *ctx, size_t i, int worker)
{
    struct job *job = ctx;
    struct study *study = &job->study[i];
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    (void)worker;
    fault_study(&runs, job->fault, 1000 + i);
    fault_judge(&checks, &arena, &runs, 4, i);
    study->trust = checks.trust;
    for (size_t k = 0; k < checks.n; k++)
        study->value[checks.at[k].check - iso_check_table] = checks.at[k].value;
    if (job->fault->check) {
        const struct iso_finding *found = iso_checks_find(&checks, job->fault->check);
        study->expected = found && found->level == job->fault->level;
    }
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

static void run_studies(struct job *job, const struct fault *fault, size_t n)
{
    *job = (struct job){.fault = fault};
    iso_parallel_for(n, iso_cpu_count(), run_one, job);
}

/* Prints the row of a fault; whether the rate is the one that is asked for. */
static bool judge(const struct job *job, size_t n)
{
    const struct fault *fault = job->fault;
    size_t count[3] = {0}, expected = 0;
    for (size_t i = 0; i < n; i++) {
        count[job->study[i].trust]++;
        expected += job->study[i].expected;
    }
    printf("| %s | %zu of %zu | %zu | %zu |", fault->name, count[ISO_TRUST_GOOD], n,
           count[ISO_TRUST_CAUTION], count[ISO_TRUST_UNDETERMINED]);
    if (fault->check)
        printf(" `%s`, %s in %zu |\n", fault->check, iso_level_name(fault->level), expected);
    else
        printf(" |\n");
    fflush(stdout);
    return fault->check ? count[ISO_TRUST_GOOD] <= FAULTY / 10
                        : count[ISO_TRUST_GOOD] >= CLEAN * 95 / 100;
}

static void test_rates(void **state)
{
    static struct job job;
    double largest[2][ISO_MAX_CHECKS] = {{0}};
    size_t n_clean = 0;
    bool holds = true;
    (void)state;
    printf("| study | good | caution | undetermined | found by |\n|---|---|---|---|---|\n");
    for (size_t f = 0; f < N_FAULTS; f++) {
        const size_t n = faults[f].check ? FAULTY : CLEAN;
        run_studies(&job, &faults[f], n);
        holds &= judge(&job, n);
        if (faults[f].check)
            continue;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < ISO_MAX_CHECKS; k++)
                largest[n_clean][k] = fmax(largest[n_clean][k], job.study[i].value[k]);
        n_clean++;
    }
    printf("\n| largest value in the clean studies | independent noise | shared too "
           "|\n|---|---|---|\n");
    for (size_t k = 0; iso_check_table[k].name; k++)
        printf("| `%s` | %.3g | %.3g |\n", iso_check_table[k].name, largest[0][k], largest[1][k]);
    assert_true(holds);
}

/* The faults of the law once more, in studies whose cells share noise: what the allowance costs. */
static void test_rates_with_shared_noise(void **state)
{
    static struct job job;
    (void)state;
    printf("| study, noise shared by cells too | good | caution | undetermined | found by |\n"
           "|---|---|---|---|---|\n");
    for (size_t f = 0; f < N_FAULTS; f++) {
        struct fault fault = faults[f];
        if (!fault.check ||
            (strcmp(fault.check, "one_phi") != 0 && strcmp(fault.check, "offset") != 0 &&
             strcmp(fault.check, "drift") != 0))
            continue;
        fault.cell_nats = 0.005;
        run_studies(&job, &fault, FAULTY);
        (void)judge(&job, FAULTY);
    }
}

/* --- plus-minus --------------------------------------------------------------------------------
 */

/* Each is about the truth of the clean studies. */
static const struct {
    const char *law, *param;
    double truth;
} covered[] = {
    {"joint", "alpha", 0.199668},    {"joint", "beta", 0.367051},    {"joint", "phi", 0.458},
    {"phi_per_r", "phi_r2", 0.458},  {"phi_per_r", "phi_r4", 0.458}, {"phi_per_r", "phi_r8", 0.458},
    {"looped_offset", "phi", 0.458}, {"looped_offset", "offset", 0},
};
enum { N_COVERED = sizeof covered / sizeof *covered };

struct coverage {
    const struct fault *fault;
    bool covers[CLEAN][N_COVERED];
};

static void cover_one(void *ctx, size_t i, int worker)
{
    struct coverage *job = ctx;
    struct iso_runs runs;
    struct iso_fit fit = {0};
    struct iso_fit_options o = iso_fit_defaults();
    (void)worker;
    o.starts = 20;
    fault_study(&runs, job->fault, 9000 + i);
    for (size_t k = 0; k < N_COVERED; k++) {
        o.law = iso_law_find(covered[k].law);
        if (fit.law != o.law && iso_fit_run(&fit, &runs, &o, NULL) != ISO_OK)
            abort();
        for (size_t p = 0; p < fit.n_param; p++)
            if (strcmp(fit.name[p], covered[k].param) == 0)
                job->covers[i][k] = fabs(fit.param[p] - covered[k].truth) <= fit.plus_minus[p];
    }
    iso_runs_release(&runs);
}

static void test_plus_minus(void **state)
{
    static struct coverage job;
    (void)state;
    double share[2][N_COVERED] = {{0}};
    for (size_t f = 0; f < 2; f++) { /* the two clean kinds of noise come first */
        job = (struct coverage){.fault = &faults[f]};
        iso_parallel_for(CLEAN, iso_cpu_count(), cover_one, &job);
        for (size_t i = 0; i < CLEAN; i++)
            for (size_t k = 0; k < N_COVERED; k++)
                share[f][k] += 100.0 * job.covers[i][k] / CLEAN;
    }
    printf("| +- of | covers, independent noise | shared too |\n|---|---|---|\n");
    for (size_t k = 0; k < N_COVERED; k++)
        printf("| `%s` in law %s | %.1f %% | %.1f %% |\n", covered[k].param, covered[k].law,
               share[0][k], share[1][k]);
    for (size_t f = 0; f < 2; f++)
        for (size_t k = 0; k < N_COVERED; k++)
            assert_true(share[f][k] >= 91 && share[f][k] <= 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plus_minus),
        cmocka_unit_test(test_rates_with_shared_noise),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
