/* Every law of the table: what its row must hold, over its whole box.  A new row is checked without
 * a word here. */
#include "test.h"

#include "fit/law.h"
#include "fit/multistart.h"
#include "fit_synth.h"

#include <string.h>

/* Names the law and the place in a failure. */
#define CHECK(law, r, theta, what, condition)                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("law %s, r = %g, theta = (%g, %g, %g): %s", (law)->name, r, (theta)[0],       \
                     (theta)[1], (theta)[2], what);                                                \
    } while (0)

static const double recurrences[] = {1, 1.5, 2, 3, 4, 8, 16};

/* Point `k` of a grid over the box of the shape parameters, its edges included; false when there
 * are no more. */
static bool grid_point(double theta[ISO_MAX_SHAPE], const struct iso_law *law, size_t k)
{
    enum { POINTS = 7 };
    size_t i = 0;
    memset(theta, 0, ISO_MAX_SHAPE * sizeof *theta);
    for (const struct iso_law_param *p = law->param; p->name; p++) {
        if (p->role != ISO_SHAPE)
            continue;
        theta[i++] = p->lower + (double)(k % POINTS) / (POINTS - 1) * (p->upper - p->lower);
        k /= POINTS;
    }
    return k == 0;
}

static struct iso_worth at(const struct iso_law *law, double r, const double *theta)
{
    struct iso_worth out;
    iso_law_at(&out, law, r, theta);
    return out;
}

static void check_point(const struct iso_law *law, double r, const double *theta)
{
    const struct iso_worth here = at(law, r, theta);
    CHECK(law, r, theta, "w is not positive", here.w > 0 && isfinite(here.w));
    CHECK(law, r, theta, "u is not positive", here.u > 0 && isfinite(here.u));
    CHECK(law, r, theta, "u and w are not 1 at r = 1", r > 1 || (here.u == 1 && here.w == 1));
    for (size_t i = 0; i < iso_law_shapes(law); i++) {
        double moved[ISO_MAX_SHAPE];
        const double step = 1e-7;
        memcpy(moved, theta, sizeof moved);
        moved[i] = theta[i] + step;
        const struct iso_worth up = at(law, r, moved);
        moved[i] = theta[i] - step;
        const struct iso_worth down = at(law, r, moved);
        const double scale = fabs(here.w) + fabs(here.d1[i]) + fabs(here.d2[i][i]);
        CHECK(law, r, theta, "the first derivative of w is not that of w",
              fabs((up.w - down.w) / (2 * step) - here.d1[i]) < 1e-6 * scale);
        for (size_t j = 0; j < iso_law_shapes(law); j++) {
            const double slope = (up.d1[j] - down.d1[j]) / (2 * step);
            const double bend = here.d2[i < j ? i : j][i < j ? j : i];
            const double size = scale + fabs(here.d1[j]) + fabs(here.d2[j][j]) + fabs(bend);
            CHECK(law, r, theta, "a second derivative of w is not that of its first ones",
                  fabs(slope - bend) < 1e-6 * size);
        }
    }
}

static void test_every_law_over_its_box(void **state)
{
    (void)state;
    for (size_t l = 0; iso_laws[l]; l++) {
        double theta[ISO_MAX_SHAPE];
        for (size_t k = 0; grid_point(theta, iso_laws[l], k); k++)
            for (size_t i = 0; i < sizeof recurrences / sizeof *recurrences; i++)
                check_point(iso_laws[l], recurrences[i], theta);
    }
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t l = 0; iso_laws[l]; l++) {
        const struct iso_law *law = iso_laws[l];
        size_t offsets = 0;
        assert_ptr_equal(iso_law_find(law->name), law);
        assert_true(law->formula && *law->formula && law->summary && *law->summary);
        assert_true(iso_law_shapes(law) <= ISO_MAX_SHAPE);
        assert_true(!law->ceiling == !law->ceiling_formula);
        for (const struct iso_law_param *p = law->param; p->name; p++) {
            assert_ptr_equal(iso_law_param(law, p->name), p); /* no name twice */
            assert_true(p->lower < p->upper);
            offsets += p->role == ISO_OFFSET;
            if (law->relaxes && !iso_law_param(law->relaxes, p->name))
                assert_true(p->lower <= 0 && 0 <= p->upper); /* 0 is the law that it relaxes */
        }
        assert_true(offsets <= 1);
    }
}

/* Where the parameters that only it has are 0, a law says what the law that it relaxes says. */
static void test_relaxed_laws_contain_their_restriction(void **state)
{
    (void)state;
    for (size_t l = 0; iso_laws[l]; l++) {
        const struct iso_law *law = iso_laws[l], *narrow = law->relaxes;
        if (!narrow)
            continue;
        for (size_t i = 0; i < sizeof recurrences / sizeof *recurrences; i++) {
            double wide_theta[ISO_MAX_SHAPE] = {0}, narrow_theta[ISO_MAX_SHAPE] = {0};
            size_t w = 0, n = 0;
            for (const struct iso_law_param *p = law->param; p->name; p++)
                if (p->role == ISO_SHAPE)
                    wide_theta[w++] = iso_law_param(narrow, p->name) ? 0.4 : 0;
            for (const struct iso_law_param *p = narrow->param; p->name; p++)
                if (p->role == ISO_SHAPE)
                    narrow_theta[n++] = 0.4;
            const double r = recurrences[i];
            assert_near(at(law, r, wide_theta).w, at(narrow, r, narrow_theta).w, 1e-12);
            assert_near(at(law, r, wide_theta).u, at(narrow, r, narrow_theta).u, 1e-12);
        }
    }
}

static struct iso_fit fit_law(const struct iso_runs *runs, const struct iso_law *law, int starts)
{
    struct iso_fit_options o = iso_fit_defaults();
    struct iso_fit f;
    struct iso_err err;
    o.law = law;
    o.starts = starts;
    o.threads = 2;
    if (iso_fit_run(&f, runs, &o, &err) != ISO_OK)
        fail_msg("%s: %s", law->name, err.msg);
    return f;
}

/* A law that contains another never fits worse, however few starts are drawn and however noisy
 * the runs are. */
static void test_relaxed_laws_fit_no_worse(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct synth s = {.law = synth_paper, .run_noise = 0.02, .seed = seed, .n_budgets = 2};
        struct iso_runs runs;
        synth_runs(&runs, &s);
        for (size_t l = 0; iso_laws[l]; l++) {
            const struct iso_law *law = iso_laws[l];
            if (!law->relaxes)
                continue;
            const struct iso_fit narrow = fit_law(&runs, law->relaxes, 60);
            const struct iso_fit wide = fit_law(&runs, law, 1);
            if (iso_law_param(law, "phi")->lower <= narrow.phi)
                assert_true(wide.huber_sum <= narrow.huber_sum * (1 + 1e-12));
        }
        iso_runs_release(&runs);
    }
}

/* The two shape parameters of a law with a ceiling come back, and so does what a block is worth. */
static void test_saturating_recovery(void **state)
{
    (void)state;
    struct iso_runs runs;
    const struct synth s = {.law = synth_paper};
    const double phi = 0.8, sigma = 0.25;
    synth_runs(&runs, &s);
    for (size_t i = 0; i < runs.n; i++) {
        struct iso_run *run = &runs.at[i];
        const double x = pow(run->r, phi) - 1, w = 1 + x / (1 + sigma * x);
        run->loss = 1.57 + 28 * pow(run->n_once + run->n_inject + w * run->n_rec, -0.199) +
                    900 * pow(run->tokens, -0.369);
    }
    const struct iso_fit f = fit_law(&runs, &iso_law_saturating, 60);
    const double x = pow(8, phi) - 1;
    assert_near(f.phi, phi, 1e-6);
    assert_near(f.param[ISO_P_SHAPE + 1], sigma, 1e-6);
    assert_near(iso_fit_worth(&f, 8, 0), 1 + x / (1 + sigma * x), 1e-5);
    assert_near(iso_fit_ceiling(&f), 1 + 1 / sigma, 1e-4);
    struct iso_str text = {0};
    iso_fit_write_worth(&text, &f, 8);
    assert_string_equal(iso_str_text(&text),
                        "A block looped 8 times is worth 3.07 unique blocks, 38 % of full "
                        "equivalence. However often it is looped, it is worth at most 5.00 "
                        "(1 + 1/sigma).");
    iso_str_release(&text);
    iso_runs_release(&runs);
}

/* A step for all looped runs is told from what a recurrence is worth. */
static void test_looped_offset_recovery(void **state)
{
    (void)state;
    struct iso_runs runs;
    const struct synth s = {.law = synth_paper};
    synth_runs(&runs, &s);
    for (size_t i = 0; i < runs.n; i++)
        runs.at[i].loss *= runs.at[i].r > 1 ? exp(0.012) : 1;
    const struct iso_fit f = fit_law(&runs, &iso_law_looped_offset, 60);
    assert_near(f.phi, 0.46, 1e-6);
    assert_near(f.param[ISO_P_SHAPE + 1], 0.012, 1e-7);
    assert_string_equal(f.name[ISO_P_SHAPE + 1], "offset");
    iso_runs_release(&runs);
}

/* What a block is worth where a law says nothing about it, or not for every r. */
static void test_worth(void **state)
{
    (void)state;
    struct iso_runs runs;
    const struct synth s = {.law = synth_paper};
    synth_runs(&runs, &s);
    struct iso_fit f = fit_law(&runs, &iso_law_joint, 20);
    assert_near(iso_fit_worth(&f, 4, 0), pow(4, 0.46), 1e-5);
    assert_true(iso_fit_worth(&f, 1, 0) == 1);
    f = fit_law(&runs, &iso_law_phi_per_r, 20);
    assert_near(iso_fit_worth(&f, 4, 0), pow(4, 0.46), 1e-5);
    assert_true(isnan(iso_fit_worth(&f, 3, 0))); /* no run has r = 3 */
    assert_true(iso_fit_worth(&f, 1, 0) == 1);
    static const struct iso_law *const assumed[] = {&iso_law_chinchilla, &iso_law_parcae};
    for (size_t i = 0; i < 2; i++) {
        struct iso_str text = {0};
        f = fit_law(&runs, assumed[i], 20);
        iso_fit_write_worth(&text, &f, 8);
        assert_true(isnan(iso_fit_worth(&f, 4, 0)));
        assert_int_equal(text.len, 0);
        iso_str_release(&text);
    }
    iso_runs_release(&runs);
}

/* A parameter is held by its name, all its copies by theirs, A, B and E in natural units. */
static void test_holding(void **state)
{
    (void)state;
    struct iso_runs runs;
    const struct synth s = {.law = synth_paper};
    struct iso_fit_options o = iso_fit_defaults();
    struct iso_fit f;
    struct iso_err err;
    synth_runs(&runs, &s);
    o.starts = 20;
    iso_fit_fix(&o, "E", 1.6);
    iso_fit_fix(&o, "alpha", 0.2);
    assert_int_equal(iso_fit_run(&f, &runs, &o, &err), ISO_OK);
    assert_near(f.E, 1.6, 1e-12);
    assert_true(f.alpha == 0.2 && isnan(iso_fit_fixed(&o, "phi")));
    o.n_fixed = 0;
    o.law = &iso_law_phi_per_r;
    iso_fit_fix(&o, "phi", 0.5);
    assert_int_equal(iso_fit_run(&f, &runs, &o, &err), ISO_OK);
    for (size_t p = ISO_P_SHAPE; p < f.n_param; p++)
        assert_true(f.param[p] == 0.5);
    o.n_fixed = 0;
    iso_fit_fix(&o, "phi_r4", 0.3);
    assert_int_equal(iso_fit_run(&f, &runs, &o, &err), ISO_OK);
    assert_true(iso_fit_phi(&f, 4) == 0.3 && iso_fit_phi(&f, 2) != 0.3);
    o.law = &iso_law_saturating;
    assert_int_equal(iso_fit_run(&f, &runs, &o, &err), ISO_USAGE);
    assert_string_equal(
        err.msg, "law saturating has no parameter phi_r4; it has A, alpha, B, beta, E, phi, sigma");
    o.n_fixed = 0;
    iso_fit_fix(&o, "sigma", 1.5);
    assert_int_equal(iso_fit_run(&f, &runs, &o, &err), ISO_USAGE);
    assert_string_equal(err.msg, "sigma cannot be held at 1.5: its range is 0 to 1");
    iso_runs_release(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_law_over_its_box),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_relaxed_laws_contain_their_restriction),
        cmocka_unit_test(test_relaxed_laws_fit_no_worse),
        cmocka_unit_test(test_saturating_recovery),
        cmocka_unit_test(test_looped_offset_recovery),
        cmocka_unit_test(test_worth),
        cmocka_unit_test(test_holding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
