/* fit/regret: known parabolas give back their vertex, regrets and the rate that costs least. */
#include "test.h"

#include "fit/regret.h"

#include <math.h>
#include <string.h>

#define HEADER "budget,r,n_once,n_rec,tokens,loss,d_model,lr_base,seed\n"

static enum iso_status read_text(struct iso_runs *runs, const char *text, struct iso_err *err)
{
    *runs = (struct iso_runs){0};
    enum iso_status st = iso_runs_add(runs, text, strlen(text), "t", NULL, err);
    return st == ISO_OK ? iso_runs_finish(runs, err) : st;
}

/* loss = floor + 0.1 (ln rate - ln best)^2 at five rates. */
static void add_parabola(struct iso_str *text, double budget, double r, double d, double best,
                         double floor)
{
    static const double rates[] = {0.005, 0.01, 0.02, 0.04, 0.08};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double x = log(rates[i] / best);
        iso_str_printf(text, "%g,%g,1000,%g,%g,%.17g,%g,%g,1\n", budget, r, r > 1 ? 500.0 : 0.0,
                       budget / 1e6, floor + 0.1 * x * x, d, rates[i]);
    }
}

static void test_vertex(void **state)
{
    (void)state;
    struct iso_str text = {0};
    struct iso_runs runs;
    struct iso_regret g;
    iso_str_puts(&text, HEADER);
    add_parabola(&text, 1e12, 4, 32, 0.013, 4.0);
    add_parabola(&text, 1e12, 1, 32, 0.03, 3.5);
    add_parabola(&text, 1e12, 1, 16, 0.02, 5.0);
    assert_int_equal(read_text(&runs, text.text, NULL), ISO_OK);
    assert_int_equal(iso_regret_run(&g, &runs, NAN, NULL), ISO_OK);
    assert_int_equal(g.n, 3);
    static const struct {
        double r, d, best, floor;
    } want[] = {{1, 16, 0.02, 5}, {1, 32, 0.03, 3.5}, {4, 32, 0.013, 4}}; /* by r, then width */
    double sum = 0;
    for (size_t i = 0; i < 3; i++) {
        const struct iso_rate_curve *c = &g.curve[i];
        assert_true(c->r == want[i].r && c->d_model == want[i].d && c->n == 5 && c->inside);
        assert_near(c->best_rate, want[i].best, 1e-12);
        assert_near(c->best_loss, want[i].floor, 1e-12);
        double x = log(0.02 / want[i].best);
        assert_near(c->regret, 0.1 * x * x, 1e-12);
        sum += 0.1 * x * x;
    }
    assert_near(g.curve[2].per_param, 1e6 / (1000 + 4 * 500), 1e-9);
    assert_near(g.chosen, 0.02, 0); /* nearest to all three */
    assert_int_equal(g.n_choice, 5);
    assert_near(g.choice[2].mean, sum / 3, 1e-12);
    assert_near(g.choice[2].worst, 0.1 * log(0.02 / 0.013) * log(0.02 / 0.013), 1e-12);
    iso_regret_release(&g);
    /* Another rate on demand, and one that nobody ran. */
    struct iso_err err;
    assert_int_equal(iso_regret_run(&g, &runs, 0.04, NULL), ISO_OK);
    assert_near(g.curve[0].regret, 0.1 * log(2) * log(2), 1e-12);
    iso_regret_release(&g);
    assert_int_equal(iso_regret_run(&g, &runs, 0.03, &err), ISO_USAGE);
    assert_string_equal(err.msg, "`rate`: no run has the base rate 0.03");
    iso_regret_release(&g);
    iso_runs_release(&runs);
    iso_str_release(&text);
}

/* Seeds are averaged; a condition of two rates is left out; a best rate at the edge is said. */
static void test_seeds_and_edges(void **state)
{
    (void)state;
    static const char text[] = HEADER "1e12,1,1000,0,1e6,4.0,16,0.01,1\n"
                                      "1e12,1,1000,0,1e6,4.2,16,0.01,2\n"
                                      "1e12,1,1000,0,1e6,4.0,16,0.02,1\n"
                                      "1e12,1,1000,0,1e6,3.9,16,0.04,1\n"
                                      "1e13,1,1000,0,1e7,3.0,16,0.01,1\n"
                                      "1e13,1,1000,0,1e7,3.1,16,0.02,1\n";
    struct iso_runs runs;
    struct iso_regret g;
    assert_int_equal(read_text(&runs, text, NULL), ISO_OK);
    assert_int_equal(iso_regret_run(&g, &runs, NAN, NULL), ISO_OK);
    assert_int_equal(g.n, 1);
    assert_int_equal(g.n_skipped, 1);
    assert_int_equal(g.curve[0].point[0].n_runs, 2);
    assert_near(g.curve[0].point[0].loss, 4.1, 1e-12);
    assert_false(g.curve[0].inside);
    assert_near(g.curve[0].best_rate, 0.04, 0);
    struct iso_str verdict = {0};
    iso_regret_verdict(&verdict, &g);
    assert_non_null(strstr(verdict.text, "In 1 of them the best rate lies at the edge"));
    assert_non_null(strstr(verdict.text, "1 conditions with fewer than 3 rates were left out"));
    iso_str_release(&verdict);
    iso_regret_release(&g);
    iso_runs_release(&runs);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } broken[] = {
        {"budget,n_once,tokens,loss,d_model\n1e12,1000,1e6,4,16\n",
         "t:2: column lr_base is missing"},
        {"budget,n_once,tokens,loss,lr_base\n1e12,1000,1e6,4,0.1\n",
         "t:2: column d_model is missing"},
        {HEADER "1e12,1,1000,0,1e6,4.0,16,0.01,1\n", "no (budget, r, width) has 3 base rates"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct iso_runs runs;
        struct iso_regret g;
        struct iso_err err;
        assert_int_equal(read_text(&runs, broken[i].text, NULL), ISO_OK);
        assert_int_equal(iso_regret_run(&g, &runs, NAN, &err), ISO_BAD_INPUT);
        if (!strstr(err.msg, broken[i].message))
            fail_msg("got \"%s\"", err.msg);
        iso_regret_release(&g);
        iso_runs_release(&runs);
    }
}

/* A fit must not take rates for noise; seeds of one rate, and tables without rates, are fine. */
static void test_check_rates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum iso_status want;
    } cases[] = {
        {HEADER "1e12,1,1000,0,1e6,4.0,16,0.01,1\n1e12,1,1000,0,1e6,4.1,16,0.02,1\n",
         ISO_BAD_INPUT},
        {HEADER "1e12,1,1000,0,1e6,4.0,16,0.01,1\n1e12,1,1000,0,1e6,4.1,16,0.01,2\n", ISO_OK},
        {HEADER "1e12,1,1000,0,1e6,4.0,16,0.01,1\n1e12,1,2000,0,1e6,4.1,32,0.02,1\n", ISO_OK},
        {"budget,n_once,tokens,loss\n1e12,1000,1e6,4\n1e12,1000,1e6,4.1\n", ISO_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct iso_runs runs;
        struct iso_err err;
        assert_int_equal(read_text(&runs, cases[i].text, NULL), ISO_OK);
        assert_int_equal(iso_runs_check_rates(&runs, &err), cases[i].want);
        iso_runs_release(&runs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vertex),
        cmocka_unit_test(test_seeds_and_edges),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_check_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
