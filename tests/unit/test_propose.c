/* The choice of a grid (fit/propose.h) and of moved widths (fit/adapt.h). */
#include "test.h"

#include "fit/adapt.h"
#include "propose_synth.h"

#include <math.h>
#include <string.h>

static struct iso_candidate candidates[N_R * N_WIDTHS];
static struct iso_power_options law;

static void fill(void)
{
    synth_candidates(candidates);
    law = iso_power_defaults();
    iso_power_assume_between(&law, 4e12, 1.6e13);
    law.fit.threads = 2;
    law.intervals = 5; /* no test here is about how exact their median is */
}

static struct iso_propose_need evening(double hours)
{
    return synth_need(candidates, &law, hours, 1e8);
}

static double law_loss(const struct iso_candidate *m, double budget)
{
    const double n = m->n_once + m->n_inject + pow(m->r, law.phi) * m->n_rec;
    return law.E + law.A * pow(n, -law.alpha) + law.B * pow(budget / m->flops, -law.beta);
}

/* Every cell's least loss under the law lies inside its widths. */
static void check_bracketed(const struct iso_proposal *p)
{
    for (size_t b = 0; b < p->n_budgets; b++)
        for (size_t k = 0; k < N_R; k++) {
            const double *width = p->at[b].width[k];
            double best = 0, least = INFINITY;
            for (size_t i = 0; i < N_WIDTHS; i++) {
                const struct iso_candidate *m = &candidates[k * N_WIDTHS + i];
                if (law_loss(m, p->at[b].budget) < least) {
                    least = law_loss(m, p->at[b].budget);
                    best = m->d_model;
                }
            }
            assert_true(p->at[b].best[k] == best);
            assert_true(width[0] < best && best < width[p->n_widths - 1]);
            for (size_t w = 0; w < p->n_widths; w++) {
                assert_true(fmod(width[w], (double)p->width_unit) == 0);
                assert_true(w == 0 || width[w] > width[w - 1]);
            }
        }
}

/* A looped model is worth less than a plain one of its width, so its optimum is wider. */
static void check_looped_wider(const struct iso_proposal *p)
{
    const struct iso_proposed_budget *top = &p->at[p->n_budgets - 1];
    assert_true(top->best[N_R - 1] > top->best[0]);
}

static void test_an_evening(void **state)
{
    (void)state;
    const struct iso_propose_need need = evening(8);
    struct iso_proposal p;
    double seconds = 0;
    iso_propose(&p, &need);
    assert_true(p.possible);
    assert_true(p.n_budgets >= 4);
    assert_true(p.at[p.n_budgets - 1].budget >= 24 * p.at[0].budget);
    check_bracketed(&p);
    check_looped_wider(&p);
    for (size_t b = 0; b < p.n_budgets; b++) {
        assert_int_equal(p.at[b].n_runs, N_R * p.n_widths);
        assert_true(p.at[b].steps_min >= 128);
        seconds += p.at[b].seconds;
    }
    /* The hours are used, and not more; the machine's time is 50 GFLOP/s on each of two cores. */
    assert_true(p.seconds <= 8 * 3600 && p.seconds > 0.85 * 8 * 3600);
    assert_true(seconds <= p.seconds);
    assert_near(p.flops / 100e9, seconds, 0.05 * seconds);
    assert_int_equal(p.seeds, 1);
}

static void test_tokens_bind(void **state)
{
    (void)state;
    struct iso_propose_need need = evening(100);
    struct iso_proposal p;
    need.tokens = 10e6;
    iso_propose(&p, &need);
    assert_true(p.possible && p.tokens_bind);
    for (size_t b = 0; b < p.n_budgets; b++)
        assert_true(p.at[b].tokens_max <= 10e6);
    assert_int_equal(p.seeds, 2); /* what is left of the hours */
    need = evening(0.5);
    iso_propose(&p, &need);
    assert_false(p.tokens_bind);
}

static void test_variant_costs(void **state)
{
    (void)state;
    const struct iso_propose_need need = evening(4);
    struct iso_proposal alone, both;
    iso_propose(&alone, &need);
    for (size_t i = N_WIDTHS; i < N_R * N_WIDTHS; i++) {
        candidates[i].variant_flops = candidates[i].flops;
        candidates[i].variant_seconds = candidates[i].seconds;
    }
    iso_propose(&both, &need);
    fill();
    assert_true(both.seconds <= 4 * 3600);
    assert_int_equal(both.at[0].n_runs, (2 * N_R - 1) * both.n_widths);
    assert_true(both.half_width > alone.half_width ||
                both.at[both.n_budgets - 1].budget < alone.at[alone.n_budgets - 1].budget);
}

static void test_too_few_hours(void **state)
{
    (void)state;
    const struct iso_propose_need need = evening(0.005);
    struct iso_prospect p;
    struct iso_err err;
    assert_int_equal(iso_prospect_run(&p, &need, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "0.005 hours are too few"));
    assert_non_null(strstr(err.msg, "hours allow a first grid"));
    iso_prospect_release(&p);
    /* The hours that it names do, and the next smaller number of two digits does not. */
    const double hours = iso_propose_hours(&need, INFINITY),
                 unit = pow(10, floor(log10(hours)) - 1);
    struct iso_propose_need more = need;
    struct iso_proposal plan;
    assert_near(hours / unit, round(hours / unit), 1e-9);
    more.hours = hours;
    iso_propose(&plan, &more);
    assert_true(hours > need.hours && plan.possible);
    more.hours = hours - unit;
    iso_propose(&plan, &more);
    assert_false(plan.possible);
}

/* The plan's table is what `power` gets, and hours that answer are the fewest that do. */
static void test_prospect(void **state)
{
    (void)state;
    struct iso_propose_need need = evening(2);
    struct iso_prospect p;
    assert_int_equal(iso_prospect_run(&p, &need, NULL), ISO_OK);
    assert_int_equal(p.power.n_runs, p.plan.n_runs);
    assert_near(p.power.half_width_linear, p.plan.half_width, 1e-9);
    assert_int_equal(p.power.n_outside, 0);
    assert_true(p.longer[0].half_width <= p.power.half_width);
    assert_true(p.longer[1].half_width <= p.longer[0].half_width);
    assert_true((p.power.half_width <= ISO_PROPOSE_ANSWERS) == (p.hours_to_answer == need.hours));
    struct iso_str page = {0};
    iso_prospect_write_page(&page, &p, false);
    assert_non_null(strstr(page.text, "phi would come out within +-"));
    iso_str_release(&page);
    iso_prospect_release(&p);
}

/* Bits per byte stay as they are. */
static void test_rescale(void **state)
{
    (void)state;
    struct iso_power_options o = law, same = law;
    iso_power_rescale(&o, 2 * law.bytes_per_token);
    const double n = 3e5, bytes = 1e7;
    const double before =
        (law.E + law.A * pow(n, -law.alpha) + law.B * pow(bytes / law.bytes_per_token, -law.beta)) /
        law.bytes_per_token;
    const double after =
        (o.E + o.A * pow(n, -o.alpha) + o.B * pow(bytes / o.bytes_per_token, -o.beta)) /
        o.bytes_per_token;
    assert_near(before, after, 1e-12);
    iso_power_rescale(&same, NAN);
    assert_true(same.B == law.B && same.E == law.E);
    iso_power_rescale(&same, 0);
    assert_true(same.B == law.B && same.E == law.E);
}

/* --- widths that are moved --- */

/* A finished cell whose losses are a parabola around `best`. */
static void add_cell(struct iso_runs *runs, double budget, double r, const double *width, size_t n,
                     double best)
{
    for (size_t i = 0; i < n; i++) {
        const double x = log(width[i] / best), d = width[i], N = 120 * d * d;
        *ISO_PUSH(runs->at, runs->n, runs->room) = (struct iso_run){.budget = budget,
                                                                    .r = r,
                                                                    .n_once = N,
                                                                    .tokens = budget / (6 * N),
                                                                    .flops_per_token = 6 * N,
                                                                    .loss = 3 + 0.2 * x * x,
                                                                    .d_model = d,
                                                                    .id = "",
                                                                    .seed = "",
                                                                    .status = "",
                                                                    .file = ""};
    }
}

static struct iso_adaption planned(double budget, double r)
{
    return (struct iso_adaption){.budget = budget, .r = r, .n = 4, .planned = {32, 48, 64, 80}};
}

static void test_adapt(void **state)
{
    (void)state;
    static const double width[] = {16, 32, 64};
    const struct iso_adapt_limits limits = {16, INFINITY};
    struct iso_runs runs = {0};
    struct iso_adaption a = planned(1.6e13, 1);
    add_cell(&runs, 1e12, 1, width, 3, 30);
    add_cell(&runs, 1e12, 4, width, 3, 100); /* beyond its widths: believed up to 96 */

    iso_adapt(&a, &runs, &limits);
    assert_near(a.optimum, 60, 1e-6); /* 30 · 16^(1/4) */
    assert_false(iso_adapt_moved(&a));

    a = planned(1e12 * 16, 4);
    iso_adapt(&a, &runs, &limits);
    assert_near(a.optimum, 192, 1e-6);
    assert_true(iso_adapt_moved(&a));
    assert_true(a.chosen[0] < 192 && 192 < a.chosen[3]);
    for (size_t i = 0; i < a.n; i++)
        assert_true(fmod(a.chosen[i], 16) == 0);

    /* What has been decided would be decided again. */
    struct iso_adaption again = a;
    memcpy(again.planned, a.chosen, sizeof again.planned);
    iso_adapt(&again, &runs, &limits);
    assert_false(iso_adapt_moved(&again));

    a = planned(1.6e13, 2); /* nothing is known */
    iso_adapt(&a, &runs, &limits);
    assert_true(a.n_from == 0 && isnan(a.optimum) && !iso_adapt_moved(&a));

    a = planned(1e12, 1); /* only budgets below count */
    iso_adapt(&a, &runs, &limits);
    assert_int_equal(a.n_from, 0);
    iso_runs_release(&runs);
}

/* Narrow models would see tokens twice. */
static void test_adapt_tokens(void **state)
{
    (void)state;
    static const double width[] = {16, 24, 32};
    const double budget = 1e12, tokens = budget / (6 * 120 * 48 * 48) * 1.001;
    const struct iso_adapt_limits limits = {8, tokens};
    struct iso_runs runs = {0};
    struct iso_adaption a = {.budget = budget, .r = 1, .n = 3, .planned = {80, 96, 112}};
    add_cell(&runs, budget / 16, 1, width, 3, 20);
    iso_adapt(&a, &runs, &limits);
    assert_near(a.optimum, 40, 1e-6);
    assert_true(a.chosen[0] == 48 && a.chosen[1] == 56 && a.chosen[2] == 64);
    iso_runs_release(&runs);
}

/* Noise that bends a cell the wrong way: the best width counts. */
static void test_adapt_bent(void **state)
{
    (void)state;
    static const double width[] = {16, 32, 64};
    const struct iso_adapt_limits limits = {8, INFINITY};
    struct iso_runs runs = {0};
    struct iso_adaption a = {.budget = 1.0001e12, .r = 1, .n = 3, .planned = {16, 32, 64}};
    add_cell(&runs, 1e12, 1, width, 3, 30);
    runs.at[0].loss = 3.0, runs.at[1].loss = 3.1, runs.at[2].loss = 2.9;
    iso_adapt(&a, &runs, &limits);
    assert_near(a.optimum, 96, 0.1);
    runs.at[0].loss = 2.8;
    iso_adapt(&a, &runs, &limits);
    assert_near(a.optimum, 16 / 1.5, 0.1);
    iso_runs_release(&runs);
}

static int setup(void **state)
{
    (void)state;
    fill();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_evening),    cmocka_unit_test(test_tokens_bind),
        cmocka_unit_test(test_variant_costs), cmocka_unit_test(test_too_few_hours),
        cmocka_unit_test(test_prospect),      cmocka_unit_test(test_rescale),
        cmocka_unit_test(test_adapt),         cmocka_unit_test(test_adapt_tokens),
        cmocka_unit_test(test_adapt_bent),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
