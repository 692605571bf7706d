/* Is delta phi wrong as seldom as it claims?  400 simulated pairs each, on the paper's four lower
 * budgets with shared r = 1 runs and a variant with 30 % more tokens: noise that is independent
 * from run to run, and noise that the runs of a (budget, r) cell share, each recipe on its own or
 * both together.  The table that this prints is in docs/fitting.md. */
#include "test.h"

#include "pair_synth.h"

#include <stdio.h>

enum { STUDIES = 400, MOST_WRONG = 28, LEAST_COVERED = 372, LEAST_FOUND = 360 };

static struct pair_counts study(const char *what, const struct pair_synth *pair)
{
    const struct pair_counts n = pair_study(pair, STUDIES, 0);
    printf("%-43s wrong %3d found %3d covered: headline %.1f %%, joint %.1f %%, separate %.1f %%; "
           "shared law rejected %3d, undetermined %d\n",
           what, n.wrong, n.found, 100.0 * n.headline / STUDIES, 100.0 * n.joint / STUDIES,
           100.0 * n.separate / STUDIES, n.rejected, n.undetermined);
    return n;
}

/* Intervals cover, and the law that is shared is found to be shared. */
static struct pair_counts check(const char *what, double delta_phi, double cell_noise, bool common)
{
    const struct pair_synth p = pair_of(delta_phi, cell_noise, common);
    const struct pair_counts n = study(what, &p);
    assert_true(n.headline >= LEAST_COVERED);
    assert_true(n.joint >= LEAST_COVERED);
    assert_true(n.separate >= LEAST_COVERED);
    assert_true(n.rejected <= MOST_WRONG);
    assert_true(n.wrong <= MOST_WRONG);
    assert_true(n.undetermined <= STUDIES / 100);
    return n;
}

static void test_no_change(void **state)
{
    (void)state;
    check("no change, independent noise", 0, 0, false);
    check("no change, cells share noise", 0, 5e-3, false);
    check("no change, both recipes' cells share noise", 0, 5e-3, true);
}

static void test_change(void **state)
{
    (void)state;
    assert_true(check("-0.08, independent noise", -0.08, 0, false).found >= LEAST_FOUND);
    check("-0.08, cells share noise", -0.08, 5e-3, false);
    check("-0.08, both recipes' cells share noise", -0.08, 5e-3, true);
}

/* No channel but capacity: every interval that excludes 0 is a wrong verdict. */
static void test_same_tokens(void **state)
{
    (void)state;
    static const char *const what[] = {"same tokens, independent noise",
                                       "same tokens, cells share noise",
                                       "same tokens, both recipes' cells"};
    for (int kind = 0; kind < 3; kind++) {
        struct pair_synth p = pair_of(0, kind ? 5e-3 : 0, kind == 2);
        p.same_tokens = true;
        const struct pair_counts n = study(what[kind], &p);
        assert_true(n.wrong <= MOST_WRONG);
        assert_true(n.headline >= LEAST_COVERED);
    }
}

/* A law that is not shared: the looped runs of the variant have another E, beta or B. */
static void test_other_law(void **state)
{
    (void)state;
    struct pair_synth e = pair_of(0, 0, false), beta = e, b = e;
    e.variant.E += 0.02;
    beta.variant.beta += 0.004;
    b.variant.B *= 1.05;
    assert_true(study("E higher by 0.02 nats", &e).rejected >= LEAST_FOUND);
    assert_true(study("beta higher by 0.004", &beta).rejected >= LEAST_FOUND);
    assert_true(study("B higher by 5 %", &b).rejected >= LEAST_FOUND);
}

/* The checks that read a bootstrap do not cry wolf either. */
static void test_resampled(void **state)
{
    (void)state;
    enum { N = 100 };
    for (int kind = 0; kind < 3; kind++) {
        const struct pair_synth p = pair_of(-0.08, kind ? 5e-3 : 0, kind == 2);
        const struct pair_counts n = pair_study(&p, N, 200);
        printf("with 200 resamples: found %d, undetermined %d of %d\n", n.found, n.undetermined, N);
        assert_true(n.undetermined <= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_change),   cmocka_unit_test(test_change),
        cmocka_unit_test(test_same_tokens), cmocka_unit_test(test_other_law),
        cmocka_unit_test(test_resampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
