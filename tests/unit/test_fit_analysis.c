/* fit: intervals, robustness and derived quantities, against the paper and known laws. */
#include "test.h"

#include "fit/analysis.h"
#include "fit/multistart.h"
#include "fit/power.h"
#include "fit/resample.h"
#include "fit/stats.h"
#include "fit_synth.h"

#include <string.h>

static struct iso_analysis_options few(void)
{
    struct iso_analysis_options o = iso_analysis_defaults();
    o.fit.starts = 20;
    o.fit.threads = 2;
    o.resamples = 100;
    return o;
}

static void run_study(struct iso_analysis *s, const struct iso_runs *runs,
                      const struct iso_analysis_options *o)
{
    struct iso_err err;
    if (iso_analysis_run(s, runs, o, &err) != ISO_OK)
        fail_msg("%s", err.msg);
}

/* One study of the shipped table serves several tests. */
static struct iso_runs paper;
static struct iso_analysis analysis;

static int set_up(void **state)
{
    (void)state;
    static const char *const path = "examples/paper_baseline.csv";
    const struct iso_analysis_options o = few();
    if (iso_runs_read(&paper, &path, 1, NULL, NULL) != ISO_OK)
        return -1;
    run_study(&analysis, &paper, &o);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    iso_analysis_release(&analysis);
    iso_runs_release(&paper);
    return 0;
}

/* Published: [0.41, 0.53], and no resample reaches 0 or 1. */
static void test_bootstrap(void **state)
{
    (void)state;
    double interval[2];
    iso_analysis_phi_interval(interval, &analysis);
    assert_true(interval[0] < 0.46 && 0.46 < interval[1]);
    assert_near(interval[0], 0.41, 0.02);
    assert_near(interval[1], 0.53, 0.04);
    assert_int_equal(analysis.intervals.n_bootstraps, 3); /* no repeated seeds: no points */
    static const size_t blocks[] = {24, 116, 6};
    for (size_t i = 0; i < 3; i++) {
        const struct iso_bootstrap *b = &analysis.intervals.bootstrap[i];
        assert_int_equal(b->n_blocks, blocks[i]);
        assert_true(b->below_0 == 0 && b->above_1 == 0 && b->at_bound == 0);
        assert_true(b->phi[0] > 0 && b->phi[b->n_resamples - 1] < 1);
        assert_true(b->low <= b->mean && b->mean <= b->high);
        assert_true(analysis.intervals.widest_high - analysis.intervals.widest_low >=
                    b->high - b->low);
    }
    const struct iso_profile *p = &analysis.intervals.profile;
    assert_true(p->low > interval[0] && p->high < interval[1]); /* it ignores the cells */
    for (size_t i = 0; i < p->n; i++)
        assert_true(p->huber_sum[i] >= analysis.fit.huber_sum * (1 - 1e-9));
}

static void test_bootstrap_ignores_threads(void **state)
{
    (void)state;
    struct iso_fit_options o = few().fit;
    struct iso_arena arena = {0};
    struct iso_bootstrap one, three;
    o.starts = 5;
    o.threads = 1;
    const struct iso_fit *f = &analysis.fit;
    assert_int_equal(iso_bootstrap_run(&one, &arena, &paper, f, &o, ISO_BLOCK_CELL, 12, NULL),
                     ISO_OK);
    o.threads = 3;
    assert_int_equal(iso_bootstrap_run(&three, &arena, &paper, f, &o, ISO_BLOCK_CELL, 12, NULL),
                     ISO_OK);
    assert_memory_equal(one.phi, three.phi, 12 * sizeof(double));
    iso_arena_release(&arena);
}

/* Few starts beside the known optimum find what 500 find. */
static void test_refits_find_the_minimum(void **state)
{
    (void)state;
    struct iso_fit_options o = iso_fit_defaults();
    struct iso_design x;
    struct iso_blocks cells;
    unsigned count[116];
    assert_int_equal(iso_design_init(&x, &paper, &o, NULL), ISO_OK);
    iso_design_give_start(&x, analysis.fit.param);
    iso_blocks_init(&cells, &paper, ISO_BLOCK_CELL);
    for (size_t i = 0; i < 20; i++) {
        struct iso_rng rng = {7, i, 0};
        struct iso_design resampled;
        struct iso_solution few_starts;
        struct iso_multistart all;
        iso_blocks_draw(count, &cells, &rng);
        iso_design_resample(&resampled, &x, count);
        iso_refit(&few_starts, &resampled, &o, i);
        resampled.has_given = false;
        iso_multistart_run(&all, &resampled, &o, i, 2);
        assert_near(few_starts.value, all.best.value, 1e-9 * all.best.value);
        assert_near(few_starts.param[x.phi], all.best.param[x.phi], 1e-6);
        iso_design_release(&resampled);
    }
    iso_blocks_release(&cells);
    iso_design_release(&x);
}

/* Six budgets make 462 different resamples; one that was drawn before has the same refit, whatever
 * block of refits it is in. */
static void test_drawn_before(void **state)
{
    (void)state;
    enum { N = 1200 };
    struct iso_fit_options o = few().fit;
    struct iso_arena arena = {0};
    struct iso_bootstrap b;
    size_t different = 1;
    assert_int_equal(
        iso_bootstrap_run(&b, &arena, &paper, &analysis.fit, &o, ISO_BLOCK_BUDGET, N, NULL),
        ISO_OK);
    for (size_t i = 1; i < N; i++) /* sorted */
        different += b.phi[i] != b.phi[i - 1];
    assert_true(different > 300 && different <= 462);
    iso_arena_release(&arena);
}

/* Refits come until the ends are stable, and what other seeds give agrees with the error that is
 * claimed for them. */
static void test_stable_ends(void **state)
{
    (void)state;
    enum { SEEDS = 12 };
    struct iso_fit_options o = few().fit;
    struct iso_arena arena = {0};
    struct iso_bootstrap b;
    double mean[2] = {0}, squares[2] = {0}, claimed[2] = {0};
    for (int i = 0; i < SEEDS; i++) {
        o.seed = 100 + (uint64_t)i;
        assert_int_equal(iso_bootstrap_run(&b, &arena, &paper, &analysis.fit, &o, ISO_BLOCK_CELL,
                                           ISO_RESAMPLES_AUTO, NULL),
                         ISO_OK);
        const double end[2] = {b.low, b.high}, error[2] = {b.mc_low, b.mc_high};
        assert_true(b.n_resamples % 200 == 0 && b.n_resamples < ISO_MAX_RESAMPLES);
        for (int k = 0; k < 2; k++) {
            assert_true(error[k] <= 0.02 * (b.high - b.low));
            mean[k] += end[k] / SEEDS;
            squares[k] += end[k] * end[k] / SEEDS;
            claimed[k] += error[k] / SEEDS;
        }
    }
    for (int k = 0; k < 2; k++) {
        const double seen = sqrt((squares[k] - mean[k] * mean[k]) * SEEDS / (SEEDS - 1));
        assert_true(seen < 2 * claimed[k] && seen > 0.4 * claimed[k]);
    }
    iso_arena_release(&arena);
}

/* An interval's digits and the words about 0 and 1 depend on its Monte Carlo error. */
static void test_interval_words(void **state)
{
    (void)state;
    static const struct {
        double low, high, mc;
        const char *text;
    } cases[] = {{0.1234, 0.9876, 0, "[0.123, 0.988]"},
                 {0.1234, 0.9876, 9e-4, "[0.123, 0.988]"},
                 {0.1234, 0.9876, 1.1e-3, "[0.12, 0.99]"},
                 {0.1294, 0.9816, 1.1e-3, "[0.12, 0.99]"}, /* outwards */
                 {0.1234, 0.9876, 0.011, "[0.1, 1.0]"},
                 {0.1234, 0.9876, 0.2, "[0.1, 1.0]"},      /* [0, 1] would hide the width */
                 {0.476, 0.547, 0.02, "[0.47, 0.55]"},     /* and so would [0.5, 0.5] */
                 {0.29, 0.57, 2e-3, "[0.29, 0.57]"},       /* exact ends stay */
                 {0.4957, 0.9481, 0.0167, "[0.49, 0.95]"}, /* [0.4, 1.0] would touch 1 */
                 {-2.3, -0.2, 2, "[-2.3, -0.2]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct iso_interval v = {
            .low = cases[i].low, .high = cases[i].high, .mc_low = cases[i].mc};
        struct iso_str text = {0};
        iso_interval_write(&text, &v);
        assert_string_equal(iso_str_text(&text), cases[i].text);
        iso_str_release(&text);
    }
    const struct iso_interval near = {.low = 0.009, .high = 0.7, .mc_low = 0.005, .mc_high = 0.01};
    assert_true(iso_interval_borderline(&near, 0));
    assert_false(iso_interval_borderline(&near, 1));
    const struct iso_interval far = {.low = 0.011, .high = 0.979, .mc_low = 0.005, .mc_high = 0.01};
    assert_false(iso_interval_borderline(&far, 0));
    assert_false(iso_interval_borderline(&far, 1));
}

/* Known answer: refits at the quantiles of a normal law with its centre a quarter of a deviation
 * above phi and no acceleration; each end moves by twice the bias, towards phi. */
static void test_bca(void **state)
{
    (void)state;
    enum { N = 4000 };
    static double phi[N];
    for (int i = 0; i < N; i++) {
        const double share = (i + 0.5) / N, z = iso_normal_quantile(fabs(2 * share - 1));
        phi[i] = 0.25 + (share < 0.5 ? -z : z);
    }
    const struct iso_bootstrap b = {.phi = phi, .n_resamples = N, .level = 0.95};
    const double even[3] = {-1, 0, 1};
    struct iso_interval v = {0};
    iso_bootstrap_bca(&v, &b, 0, even, 3);
    assert_near(v.low, 0.25 - 1.96 - 2 * 0.25, 0.02);
    assert_near(v.high, 0.25 + 1.96 - 2 * 0.25, 0.02);
    assert_true(v.mc_low > 0.02 && v.mc_low < 0.2);
    assert_string_equal(v.method, "bca");
}

static const struct iso_law_score *score_of(const struct iso_law_scores *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (iso_str_eq(s->at[i].law->name, name))
            return &s->at[i];
    fail_msg("no law %s", name);
    return NULL;
}

/* The law that made the losses has the lowest AIC, and predicts what was left out. */
static void test_which_law(void **state)
{
    (void)state;
    const struct synth s = {.law = synth_paper, .run_noise = 1e-3, .seed = 4};
    struct iso_fit_options o = few().fit;
    struct iso_arena arena = {0};
    struct iso_law_scores scores;
    struct iso_runs runs;
    synth_runs(&runs, &s);
    for (size_t i = 0; i < runs.n; i++) {
        struct iso_run *run = &runs.at[i];
        const double x = pow(run->r, 0.9) - 1,
                     noise = run->loss / synth_loss(&s.law, run->d_model, (int)run->r, run->tokens);
        run->loss =
            noise *
            (1.57 +
             28 * pow(run->n_once + run->n_inject + (1 + x / (1 + 0.4 * x)) * run->n_rec, -0.199) +
             900 * pow(run->tokens, -0.369));
    }
    iso_law_scores_run(&scores, &arena, &runs, &o);
    assert_string_equal(scores.at[0].law->name, "saturating");
    for (size_t i = 1; i < scores.n; i++)
        assert_true(scores.at[i - 1].aic <= scores.at[i].aic);
    const struct iso_law_score *right = &scores.at[0], *joint = score_of(&scores, "joint");
    assert_int_equal(right->n_param, 7);
    assert_int_equal(score_of(&scores, "phi_per_r")->n_param, 8);
    assert_true(right->error_left_out_r < 0.01 &&
                joint->error_left_out_r > 2 * right->error_left_out_r);
    assert_true(right->error_top_budget < 0.01);
    assert_true(isnan(score_of(&scores, "phi_per_r")->error_left_out_r));
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

static bool is_not_low_8(const struct iso_run *run, const void *ctx)
{
    return run->r != 8 || run->budget == *(const double *)ctx;
}

/* A law with parameters of each r predicts nothing of an r that only the top budget has. */
static void test_r_of_the_top_budget_only(void **state)
{
    (void)state;
    struct iso_fit_options o = few().fit;
    struct iso_arena arena = {0};
    struct iso_law_scores scores;
    struct iso_robust robust;
    struct iso_runs runs;
    double top = 0;
    for (size_t i = 0; i < paper.n; i++)
        top = fmax(top, paper.at[i].budget);
    iso_runs_filter(&runs, &paper, is_not_low_8, &top);
    iso_law_scores_run(&scores, &arena, &runs, &o);
    const struct iso_law_score *per_r = score_of(&scores, "phi_per_r");
    assert_true(isnan(per_r->error_top_budget));
    assert_true(score_of(&scores, "joint")->error_top_budget < 0.05);
    o.law = per_r->law;
    iso_robust_run(&robust, &arena, &runs, &per_r->fit, &o);
    assert_true(isnan(robust.holdout.budget));
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

/* On the paper's table the error at the top budget is the one that the page gives by itself. */
static void test_scores_agree_with_the_page(void **state)
{
    (void)state;
    struct iso_fit_options o = few().fit;
    struct iso_arena arena = {0};
    struct iso_law_scores scores;
    iso_law_scores_run(&scores, &arena, &paper, &o);
    const struct iso_law_score *joint = score_of(&scores, "joint");
    assert_near(joint->error_top_budget, analysis.robust.holdout.rmse, 1e-7);
    assert_near(joint->fit.huber_sum, analysis.fit.huber_sum, 1e-12);
    assert_near(joint->aic - score_of(&scores, "phi_per_r")->aic,
                2 * (joint->fit.huber_sum - score_of(&scores, "phi_per_r")->fit.huber_sum) /
                        iso_fit_scale(&score_of(&scores, "phi_per_r")->fit, &paper) -
                    4,
                0.5); /* phi_per_r fits about as well as the best one, whose scale it is */
    iso_arena_release(&arena);
}

static void test_jackknife(void **state)
{
    (void)state;
    const struct iso_jackknife *j = &analysis.intervals.jackknife;
    assert_int_equal(j->n, 6 + 4 + 24);
    for (size_t i = 0; i < j->n; i++) {
        const bool no_anchor = isnan(j->row[i].budget) && j->row[i].r == 1;
        assert_int_equal(j->row[i].problem != NULL, no_anchor);
        assert_true(no_anchor || fabs(j->row[i].shift) <= j->max_shift);
        assert_int_equal(j->row[i].n_runs < 116, 1);
    }
    assert_true(j->max_shift < 0.06);
}

/* Two budgets: refits on one of them tell no phi, so none may make an interval or a shift. */
static void test_two_budgets(void **state)
{
    (void)state;
    const struct synth s = {.law = synth_paper, .run_noise = 1e-3, .seed = 2, .n_budgets = 2};
    const struct iso_analysis_options o = few();
    struct iso_runs runs;
    struct iso_analysis two;
    struct iso_str page = {0};
    synth_runs(&runs, &s);
    run_study(&two, &runs, &o);
    assert_int_equal(two.intervals.n_bootstraps, 2); /* cells and runs, not budgets */
    struct iso_bootstrap b;
    assert_int_equal(
        iso_bootstrap_run(&b, &two.arena, &runs, &two.fit, &o.fit, ISO_BLOCK_BUDGET, 40, NULL),
        ISO_OK);
    assert_true(b.redrawn > 20);
    for (size_t i = 0; i < b.n_resamples; i++) /* every usable draw holds each budget once */
        assert_near(b.phi[i], two.fit.phi, 1e-5);
    const struct iso_jackknife *j = &two.intervals.jackknife;
    assert_int_equal(j->n, 2 + 4 + 8);
    assert_int_equal(j->n_problems, 3);
    assert_string_equal(j->row[0].problem, "too few runs remain");
    assert_string_equal(j->row[2].problem, "no run with r = 1 remains");
    assert_non_null(two.robust.row[0].problem); /* the low half is one budget */
    iso_analysis_write_page(&page, &two, false);
    assert_non_null(strstr(
        page.text, "phi without one budget: - (4.64e+17) - (1e+18) (-: too few runs remain)."));
    iso_str_release(&page);
    iso_analysis_release(&two);
    iso_runs_release(&runs);
}

/* Noise that hides phi: the profile is open below, and no interval is wider. */
static void test_open_profile(void **state)
{
    (void)state;
    const struct synth s = {.law = synth_paper, .run_noise = 5e-2, .seed = 2, .n_budgets = 2};
    const struct iso_analysis_options o = few();
    struct iso_runs runs;
    struct iso_analysis noisy;
    synth_runs(&runs, &s);
    run_study(&noisy, &runs, &o);
    assert_true(isnan(noisy.intervals.profile.low));
    assert_string_equal(noisy.intervals.widest, "profile");
    assert_true(noisy.intervals.widest_low == noisy.fit.lower[ISO_P_SHAPE]);
    iso_analysis_release(&noisy);
    iso_runs_release(&runs);
}

/* The paper's halves, its R2 of phi = 1, and the three injection conventions of the spec. */
static void test_robustness(void **state)
{
    (void)state;
    static const struct {
        const char *group, *name;
        double phi, tolerance;
    } expected[] = {{"budgets", "low half, C <= 2.15e+18", 0.441, 0.005},
                    {"budgets", "high half, C >= 4.64e+18", 0.489, 0.005},
                    {"injection", "once", 0.458, 0.003},
                    {"injection", "recurrent", 0.433, 0.003},
                    {"injection", "none", 0.472, 0.003},
                    {"delta", "0.001", 0.458, 0.003}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        bool found = false;
        for (size_t k = 0; k < analysis.robust.n; k++) {
            const struct iso_robust_row *row = &analysis.robust.row[k];
            if (strcmp(row->group, expected[i].group) || strcmp(row->name, expected[i].name))
                continue;
            found = true;
            assert_near(row->phi, expected[i].phi, expected[i].tolerance);
        }
        assert_true(found);
    }
    const struct iso_robust_row *half = analysis.robust.row;
    assert_true(half[0].most == 2.15e18 && isnan(half[0].least));
    assert_true(half[1].least == 4.64e18 && isnan(half[1].most));
    assert_near(analysis.phi_1.r2, 0.954, 0.002);
    assert_int_equal(analysis.robust.n_r, 3);
    for (size_t i = 0; i < 3; i++) /* r^phi is about the right shape: all phi's in the interval */
        assert_near(analysis.robust.phi_of_r[i].phi, 0.46, 0.08);
    assert_true(analysis.robust.holdout.budget == 2.15e19);
    assert_int_equal(analysis.robust.holdout.n_test, 16);
    assert_true(analysis.robust.holdout.rmse < 0.03);
}

/* Table tab:joint-residuals-per-r. */
static void test_residuals(void **state)
{
    (void)state;
    static const struct {
        double r, mean, max_abs, rmse;
    } rows[] = {{1, -0.001, 0.018, 0.009},
                {2, 0.004, 0.036, 0.011},
                {4, -0.006, 0.023, 0.011},
                {8, 0.001, 0.029, 0.010}};
    assert_int_equal(analysis.derived.n_stats, 5);
    for (size_t i = 0; i < 4; i++) {
        const struct iso_residual_stats *s = &analysis.derived.stats[i];
        assert_true(s->r == rows[i].r && s->n == 29);
        assert_near(s->mean, rows[i].mean, 0.0015);
        assert_near(s->max_abs, rows[i].max_abs, 0.0015);
        assert_near(s->rmse, rows[i].rmse, 0.001);
    }
    assert_near(analysis.derived.stats[4].rmse, 0.010, 0.0005);
    assert_near(analysis.derived.stats[4].max_abs, 0.036, 0.001);
}

/* Gaps of the empirical optima to r = 1: 0.03-0.06, 0.05-0.08, 0.09-0.12 nats. */
static void test_gaps(void **state)
{
    (void)state;
    static const double gaps[4][2] = {{0, 0}, {0.03, 0.06}, {0.05, 0.08}, {0.09, 0.12}};
    assert_int_equal(analysis.derived.n_parabolas, 24);
    for (size_t i = 0; i < 4; i++) {
        assert_near(analysis.derived.exponent[i].optimum_gap_min, gaps[i][0], 0.005);
        assert_near(analysis.derived.exponent[i].optimum_gap_max, gaps[i][1], 0.005);
    }
    for (size_t i = 0; i < analysis.derived.n_curves; i++) /* F(N) is exact in this design */
        assert_true(analysis.derived.curve[i].max_error < 1e-6);
}

/* Appendix app:equiv-sizes: at r = 4 a 1B baseline has 410M unique and 580M effective. */
static void test_equivalents(void **state)
{
    (void)state;
    const struct iso_equivalent *e = &analysis.derived.equivalent[2];
    assert_true(e->r == 4);
    assert_near(e->blocks, 1.89, 0.02);
    assert_near(e->recovered, 0.47, 0.01);
    assert_near(e->unique, 0.41, 0.005);
    assert_near(e->effective, 0.58, 0.01);
}

/* One phi for each r: what a block is worth follows from the phi of its own r. */
static void test_equivalents_per_r(void **state)
{
    (void)state;
    struct iso_analysis_options o = few();
    struct iso_analysis own;
    o.fit.law = &iso_law_phi_per_r;
    o.resamples = 0;
    run_study(&own, &paper, &o);
    assert_int_equal(own.derived.n_equivalents, 4);
    assert_near(own.derived.equivalent[0].blocks, 1, 1e-12);
    for (size_t i = 1; i < 4; i++) {
        const double phi = analysis.robust.phi_of_r[i - 1].phi; /* of the same law */
        assert_near(own.derived.equivalent[i].blocks, pow(own.derived.equivalent[i].r, phi), 1e-4);
    }
    iso_analysis_release(&own);
}

/* The frontier of a known law against brute force over widths. */
static void test_frontier(void **state)
{
    (void)state;
    const struct synth s = {.law = synth_paper};
    struct iso_analysis_options o = few();
    struct iso_runs runs;
    struct iso_analysis known;
    synth_runs(&runs, &s);
    o.resamples = 0;
    run_study(&known, &runs, &o);
    assert_int_equal(known.intervals.n_bootstraps, 0);
    assert_int_equal(known.derived.n_frontier, 24);
    for (size_t i = 0; i < 24; i++) {
        const struct iso_frontier_point *p = &known.derived.frontier[i];
        double best = INFINITY, width = 0;
        for (double d = 200; d < 6000; d *= 1.0003) {
            const double tokens = p->budget / synth_flops(d, (int)p->r, 1);
            const double loss = synth_loss(&s.law, d, (int)p->r, tokens);
            if (loss < best)
                best = loss, width = d;
        }
        assert_near(p->loss_opt, best, 1e-6);
        assert_near(p->d_model, width, 3e-3 * width);
    }
    iso_analysis_release(&known);
    iso_runs_release(&runs);
}

/* Repeated seeds: the noise comes out, and errors that a cell shares show as lack of fit. */
static void test_pure_error(void **state)
{
    (void)state;
    struct synth s = {.law = synth_paper, .run_noise = 2e-3, .seed = 9, .repeats = 3};
    const struct iso_fit_options o = few().fit;
    for (int shared = 0; shared < 2; shared++) {
        struct iso_runs runs;
        struct iso_fit f;
        struct iso_pure_error pure;
        s.cell_noise = shared ? 4e-3 : 0;
        synth_runs(&runs, &s);
        assert_int_equal(runs.n, 348);
        assert_int_equal(iso_fit_run(&f, &runs, &o, NULL), ISO_OK);
        iso_pure_error_run(&pure, &runs, &f);
        assert_int_equal(pure.n_points, 116);
        assert_int_equal(pure.df, 232);
        assert_int_equal(pure.df_lack, 110);
        assert_near(pure.sd, 2e-3, 3e-4);
        assert_true(shared ? pure.p_value < 1e-6 : pure.p_value > 0.001);
        iso_runs_release(&runs);
    }
}

/* The interval of a simulated study is the one that `fit` prints, with a heavy tail and without. */
static void test_interval_over_cells(void **state)
{
    (void)state;
    static const struct {
        const char *table, *method;
    } of[] = {{"examples/paper_baseline.csv", "percentile"},
              {"docs/results/desk/pilot.csv", "bca"}};
    const struct iso_analysis_options o = few();
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct iso_runs runs = {0};
        struct iso_analysis printed;
        struct iso_interval v;
        assert_int_equal(iso_runs_read(&runs, &of[i].table, 1, NULL, NULL), ISO_OK);
        run_study(&printed, &runs, &o);
        assert_int_equal(
            iso_interval_over_cells(&v, &runs, &printed.fit, &o.fit, o.resamples, NULL), ISO_OK);
        assert_string_equal(v.method, of[i].method);
        assert_true(v.low == printed.intervals.headline.low &&
                    v.high == printed.intervals.headline.high);
        iso_analysis_release(&printed);
        iso_runs_release(&runs);
    }
}

/* Power: the simulated spread matches the formula, and grows with the noise. */
static void test_power(void **state)
{
    (void)state;
    struct iso_power_options o = iso_power_defaults();
    struct iso_power quiet, loud;
    o.fit.threads = 2;
    o.fit.starts = 5;
    o.repetitions = 100;
    assert_int_equal(iso_power_run(&quiet, &paper, &o, NULL), ISO_OK);
    assert_near(quiet.spread, quiet.half_width_linear, 0.35 * quiet.half_width_linear);
    assert_near(quiet.bias, 0, 0.01);
    assert_int_equal(quiet.n_parts, 6 + 11);
    for (size_t i = 0; i < quiet.n_parts; i++)
        assert_true(quiet.part[i].half_width > quiet.half_width && quiet.part[i].gain > 0);
    o.run_noise *= 2;
    o.cell_noise *= 2;
    assert_int_equal(iso_power_run(&loud, &paper, &o, NULL), ISO_OK);
    assert_near(loud.spread / quiet.spread, 2, 0.4);
    assert_near(loud.half_width / quiet.half_width, 2, 0.4);
    assert_near(loud.smallest_delta / quiet.smallest_delta, 2, 0.4);
    iso_power_release(&quiet);
    iso_power_release(&loud);
}

/* The noise that was put in is the noise that is learnt. */
static void test_power_learns(void **state)
{
    (void)state;
    const struct synth s = {.law = synth_paper, .run_noise = 2e-3, .cell_noise = 3e-3, .seed = 4};
    struct iso_power_options o = iso_power_defaults();
    struct iso_runs runs;
    struct iso_fit f;
    synth_runs(&runs, &s);
    assert_int_equal(iso_fit_run(&f, &runs, &o.fit, NULL), ISO_OK);
    iso_power_learn(&o, &f, &runs);
    assert_near(o.run_noise, 2e-3, 4e-4);
    assert_near(o.cell_noise, 3e-3, 1.2e-3);
    assert_true(o.phi == f.phi);
    iso_runs_release(&runs);
}

/* What a grid is simulated with are the numbers of the shipped study that lies nearest. */
static void test_power_assumes(void **state)
{
    (void)state;
    static const char *const tables[] = {"examples/paper_baseline.csv",
                                         "docs/results/pocket/base.csv",
                                         "docs/results/desk/base.csv"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct iso_runs runs = {0};
        struct iso_power_options learnt = iso_power_defaults(), assumed = learnt;
        struct iso_fit f;
        assert_int_equal(iso_runs_read(&runs, &tables[i], 1, NULL, NULL), ISO_OK);
        assert_int_equal(iso_fit_run(&f, &runs, &learnt.fit, NULL), ISO_OK);
        iso_power_learn(&learnt, &f, &runs);
        iso_power_assume(&assumed, &runs);
        assert_string_equal(assumed.table, tables[i]);
        const double is[] = {assumed.A,   assumed.alpha, assumed.B,         assumed.beta,
                             assumed.E,   assumed.phi,   assumed.run_noise, assumed.cell_noise,
                             assumed.low, assumed.high};
        const double should[] = {learnt.A,   learnt.alpha, learnt.B,         learnt.beta,
                                 learnt.E,   learnt.phi,   learnt.run_noise, learnt.cell_noise,
                                 learnt.low, learnt.high};
        for (size_t k = 0; k < sizeof is / sizeof *is; k++)
            assert_near(is[k], should[k], 3e-3 * should[k]);
        for (size_t k = 0; k < runs.n; k++)
            runs.at[k].budget *= 10;
        assert_near(iso_power_distance(&runs, learnt.low, learnt.high), 10, 1e-9);
        iso_runs_release(&runs);
    }
}

/* The spread that is predicted is that of studies simulated apart from power.c. */
static void test_power_predicts(void **state)
{
    (void)state;
    enum { STUDIES = 150 };
    struct iso_power_options o = iso_power_defaults();
    struct iso_power power;
    double phi[STUDIES];
    o.fit.threads = 2;
    o.fit.starts = 5;
    o.repetitions = 150;
    o.A = synth_paper.A, o.alpha = synth_paper.alpha, o.B = synth_paper.B;
    o.beta = synth_paper.beta, o.E = synth_paper.E, o.phi = synth_paper.phi;
    assert_int_equal(iso_power_run(&power, &paper, &o, NULL), ISO_OK);
    for (uint64_t i = 0; i < STUDIES; i++) {
        const struct synth s = {.law = synth_paper,
                                .run_noise = o.run_noise,
                                .cell_noise = o.cell_noise,
                                .seed = 300 + i};
        struct iso_runs runs;
        struct iso_fit f;
        synth_runs(&runs, &s);
        assert_int_equal(iso_fit_run(&f, &runs, &o.fit, NULL), ISO_OK);
        phi[i] = f.phi;
        iso_runs_release(&runs);
    }
    iso_sort_doubles(phi, STUDIES);
    const double seen =
        0.5 * (iso_percentile(phi, STUDIES, 0.975) - iso_percentile(phi, STUDIES, 0.025));
    assert_near(power.spread, seen, 0.25 * seen);
    iso_power_release(&power);
}

static bool has_one_budget(const struct iso_run *run, const void *ctx)
{
    (void)ctx;
    return run->budget == paper.at[0].budget;
}

static bool is_looped(const struct iso_run *run, const void *ctx)
{
    (void)ctx;
    return run->r > 1;
}

/* Grids that cannot determine phi get no half-width, whatever the simulated fits would give. */
static void test_power_undetermined(void **state)
{
    (void)state;
    struct iso_power_options o = iso_power_defaults();
    bool (*const keep[])(const struct iso_run *, const void *) = {has_one_budget, is_looped};
    const char *const why[] = {"all runs have one budget", "no budget has runs with r = 1"};
    o.fit.starts = 2;
    o.repetitions = 10;
    for (size_t i = 0; i < 2; i++) {
        struct iso_power power;
        struct iso_runs part;
        iso_runs_filter(&part, &paper, keep[i], NULL);
        assert_int_equal(iso_power_run(&power, &part, &o, NULL), ISO_OK);
        assert_non_null(power.undetermined);
        assert_non_null(strstr(power.undetermined, why[i]));
        assert_true(isnan(power.half_width) && isnan(power.spread) && isnan(power.smallest_delta));
        assert_int_equal(power.n_parts, 0);
        iso_power_release(&power);
        iso_runs_release(&part);
    }
}

static bool is_narrow(const struct iso_run *run, const void *ctx)
{
    (void)ctx;
    return run->s <= 12;
}

/* Widths on one side of the optimum are reported; the paper's are not. */
static void test_power_brackets(void **state)
{
    (void)state;
    struct iso_power_options o = iso_power_defaults();
    struct iso_power power;
    struct iso_runs narrow;
    o.fit.starts = 2;
    o.repetitions = 10;
    assert_int_equal(iso_power_run(&power, &paper, &o, NULL), ISO_OK);
    assert_int_equal(power.n_cells, 24);
    assert_int_equal(power.n_outside, 0);
    iso_power_release(&power);
    iso_runs_filter(&narrow, &paper, is_narrow, NULL);
    assert_int_equal(iso_power_run(&power, &narrow, &o, NULL), ISO_OK);
    assert_true(power.n_outside > 0 && power.worst_factor > 1.5 && power.worst_budget > 4e18);
    struct iso_str page = {0};
    iso_power_write_page(&page, &power, false);
    assert_non_null(strstr(page.text, "Warning: the widths do not bracket the law's optimum"));
    iso_str_release(&page);
    iso_power_release(&power);
    iso_runs_release(&narrow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bootstrap),
        cmocka_unit_test(test_bootstrap_ignores_threads),
        cmocka_unit_test(test_refits_find_the_minimum),
        cmocka_unit_test(test_drawn_before),
        cmocka_unit_test(test_stable_ends),
        cmocka_unit_test(test_interval_words),
        cmocka_unit_test(test_bca),
        cmocka_unit_test(test_which_law),
        cmocka_unit_test(test_r_of_the_top_budget_only),
        cmocka_unit_test(test_scores_agree_with_the_page),
        cmocka_unit_test(test_jackknife),
        cmocka_unit_test(test_robustness),
        cmocka_unit_test(test_residuals),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_equivalents),
        cmocka_unit_test(test_frontier),
        cmocka_unit_test(test_pure_error),
        cmocka_unit_test(test_interval_over_cells),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_power_learns),
        cmocka_unit_test(test_power_assumes),
        cmocka_unit_test(test_power_predicts),
        cmocka_unit_test(test_power_brackets),
        cmocka_unit_test(test_power_undetermined),
        cmocka_unit_test(test_two_budgets),
        cmocka_unit_test(test_open_profile),
        cmocka_unit_test(test_equivalents_per_r),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
