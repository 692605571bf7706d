/* fit: derivatives, solvers, recovery of known laws, the published figures. */
#include "test.h"

#include "base/file.h"
#include "fit/linalg.h"
#include "fit/multistart.h"
#include "fit/simd.h"
#include "fit/stats.h"
#include "fit_synth.h"

#include <string.h>

static void read_example(struct iso_runs *runs, const char *path)
{
    struct iso_err err;
    *runs = (struct iso_runs){0};
    if (iso_runs_read(runs, &path, 1, NULL, &err) != ISO_OK)
        fail_msg("%s", err.msg);
}

static struct iso_fit fit(const struct iso_runs *runs, const struct iso_fit_options *options)
{
    struct iso_fit f;
    struct iso_err err;
    if (iso_fit_run(&f, runs, options, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    return f;
}

static struct iso_fit_options quick(void)
{
    struct iso_fit_options o = iso_fit_defaults();
    o.starts = 60;
    o.threads = 2;
    return o;
}

struct range {
    double low, high;
};

static bool in_range(const struct iso_run *run, const void *ctx)
{
    const struct range *range = ctx;
    return run->budget >= range->low && run->budget <= range->high;
}

static bool has_r(const struct iso_run *run, const void *r)
{
    return run->r == *(const double *)r;
}

/* Against libm, which is right to half a unit in the last place. */
static void test_exp_and_log(void **state)
{
    (void)state;
    double worst_exp = 0, worst_log = 0;
    for (int i = 0; i < 200000; i++) {
        struct iso_rng rng = {1, 2, (uint64_t)i * 2};
        const double x = -100 + 140 * iso_rng_uniform(&rng), y = exp(x);
        double out[4];
        store4(out, exp4(splat(x)));
        worst_exp = fmax(worst_exp, fabs(out[i % 4] - y) / y);
        store4(out, log4(splat(y)));
        worst_log = fmax(worst_log, fabs(out[i % 4] - log(y)) / fmax(fabs(log(y)), 1e-3));
    }
    assert_true(worst_exp < 5e-16);
    assert_true(worst_log < 5e-16);
    double zero[4];
    store4(zero, exp4(splat(-1000)));
    assert_true(zero[0] == 0);
}

/* Gradient and Hessian of every law against central differences. */
static void check_derivatives(const struct iso_law *law, const struct iso_runs *runs)
{
    struct iso_fit_options o = quick();
    struct iso_design x;
    struct iso_scratch scratch;
    struct iso_err err;
    o.law = law;
    o.delta = 0.02; /* some residuals inside, some outside */
    assert_int_equal(iso_design_init(&x, runs, &o, &err), ISO_OK);
    iso_scratch_init(&scratch, x.n);
    double p[ISO_MAX_PARAM] = {3.2, 0.19, 6.5, 0.35, 0.4};
    for (size_t i = ISO_P_SHAPE; i < x.n_param; i++) /* somewhere inside the box */
        p[i] = x.use[i].of->role == ISO_OFFSET ? 0.01 * ((double)(i % 3) - 1)
                                               : 0.35 + 0.07 * (double)(i - ISO_P_SHAPE);
    double g[ISO_MAX_PARAM], h[ISO_MAX_PARAM * ISO_MAX_PARAM], up[ISO_MAX_PARAM],
        down[ISO_MAX_PARAM];
    iso_objective(&x, p, g, h, ISO_CURVE_EXACT, &scratch);
    for (size_t i = 0; i < x.n_param; i++) {
        const double step = 1e-6, keep = p[i];
        p[i] = keep + step;
        const double above = iso_objective(&x, p, up, NULL, ISO_CURVE_NONE, &scratch);
        p[i] = keep - step;
        const double below = iso_objective(&x, p, down, NULL, ISO_CURVE_NONE, &scratch);
        p[i] = keep;
        assert_near((above - below) / (2 * step), g[i], 1e-5 * (fabs(g[i]) + 1));
        for (size_t j = 0; j < x.n_param; j++) {
            const double slope = (up[j] - down[j]) / (2 * step), exact = h[i * x.n_param + j];
            const double scale = sqrt(fabs(h[i * x.n_param + i] * h[j * x.n_param + j]));
            assert_near(slope, exact, 1e-5 * (scale + 1));
        }
    }
    iso_scratch_release(&scratch);
    iso_design_release(&x);
}

static void test_derivatives(void **state)
{
    (void)state;
    struct iso_runs runs;
    read_example(&runs, "examples/paper_baseline.csv");
    for (size_t i = 0; iso_laws[i]; i++)
        check_derivatives(iso_laws[i], &runs);
    iso_runs_release(&runs);
}

/* Exact losses give A, B and E back. */
static void test_linear_part(void **state)
{
    (void)state;
    const struct synth s = {.law = synth_paper};
    const struct iso_fit_options o = iso_fit_defaults();
    struct iso_runs runs;
    struct iso_design x;
    struct iso_scratch scratch;
    synth_runs(&runs, &s);
    assert_int_equal(iso_design_init(&x, &runs, &o, NULL), ISO_OK);
    iso_scratch_init(&scratch, x.n);
    double param[ISO_MAX_PARAM] = {0};
    param[ISO_P_ALPHA] = s.law.alpha;
    param[ISO_P_BETA] = s.law.beta;
    param[x.phi] = s.law.phi;
    iso_solve_linear_part(param, &x, &scratch);
    assert_near(exp(param[ISO_P_A]), s.law.A, 1e-4 * s.law.A);
    assert_near(exp(param[ISO_P_B]), s.law.B, 1e-4 * s.law.B);
    assert_near(exp(param[ISO_P_E]), s.law.E, 1e-4 * s.law.E);
    assert_near(param[ISO_P_ALPHA], s.law.alpha, 0);

    /* ln B of this exponent is beyond the box: the exponent gives way. */
    param[ISO_P_BETA] = 2.4;
    iso_solve_linear_part(param, &x, &scratch);
    assert_near(param[ISO_P_B], 35, 0);
    assert_true(param[ISO_P_BETA] > 1.5 && param[ISO_P_BETA] < 2);
    iso_scratch_release(&scratch);
    iso_design_release(&x);
    iso_runs_release(&runs);
}

/* The two solvers are each other's oracle. */
static void test_solvers_agree(void **state)
{
    (void)state;
    if (!iso_solver_find("lbfgs"))
        skip(); /* this build has no NLopt */
    struct iso_runs runs;
    read_example(&runs, "examples/paper_baseline.csv");
    for (size_t i = 0; iso_laws[i]; i++) {
        struct iso_fit_options o = quick();
        o.law = iso_laws[i];
        o.solver = &iso_solver_newton;
        const struct iso_fit newton = fit(&runs, &o);
        o.solver = iso_solver_find("lbfgs");
        o.starts = 200; /* few of them reach the best minimum */
        const struct iso_fit lbfgs = fit(&runs, &o);
        assert_true(newton.huber_sum <= lbfgs.huber_sum * (1 + 1e-9));
        assert_near(lbfgs.huber_sum, newton.huber_sum, 1e-6 * newton.huber_sum);
        for (size_t p = 0; p < newton.n_param; p++)
            assert_near(lbfgs.param[p], newton.param[p], 2e-3);
        assert_true(newton.gradient_norm < 1e-4);
    }
    iso_runs_release(&runs);
}

static void test_threads_change_nothing(void **state)
{
    (void)state;
    struct iso_runs runs;
    read_example(&runs, "examples/paper_baseline.csv");
    struct iso_fit_options o = quick();
    o.threads = 1;
    const struct iso_fit one = fit(&runs, &o);
    o.threads = 3;
    const struct iso_fit three = fit(&runs, &o);
    assert_memory_equal(one.param, three.param, sizeof one.param);
    assert_int_equal(one.starts_best, three.starts_best);
    iso_runs_release(&runs);
}

/* Without noise a law comes back to 1e-6, whatever its phi. */
static void test_recovery(void **state)
{
    (void)state;
    static const double phis[] = {0, 0.3, 0.65, 1, 1.3};
    for (size_t i = 0; i < sizeof phis / sizeof *phis; i++) {
        struct synth s = {.law = synth_paper};
        struct iso_runs runs;
        s.law.phi = phis[i];
        synth_runs(&runs, &s);
        const struct iso_fit_options o = quick();
        const struct iso_fit f = fit(&runs, &o);
        assert_near(f.phi, phis[i], 1e-6);
        assert_near(f.alpha, s.law.alpha, 1e-6);
        assert_near(f.beta, s.law.beta, 1e-6);
        assert_near(f.E, s.law.E, 1e-5);
        assert_true(f.r2 > 1 - 1e-9);
        iso_runs_release(&runs);
    }
}

/* The joint fit of the paper: spec section 5. */
static void test_published_joint(void **state)
{
    (void)state;
    struct iso_runs runs, part;
    read_example(&runs, "examples/paper_baseline.csv");
    assert_int_equal(runs.n, 116);
    struct iso_fit_options o = iso_fit_defaults();
    o.threads = 2;
    struct iso_fit f = fit(&runs, &o);
    assert_near(f.phi, 0.458, 0.003);
    assert_near(f.alpha, 0.199, 0.003);
    assert_near(f.beta, 0.369, 0.005);
    assert_near(f.E, 1.57, 0.01);
    assert_near(f.r2, 0.9972, 0.0003);
    assert_true(f.starts_best > 250); /* no lucky find */
    assert_int_equal(f.n_rivals, 0);
    o.starts = 60;
    o.injection = ISO_INJECT_RECURRENT;
    assert_near(fit(&runs, &o).phi, 0.433, 0.003);
    o.injection = ISO_INJECT_NONE;
    assert_near(fit(&runs, &o).phi, 0.472, 0.003);
    o.injection = ISO_INJECT_ONCE;
    iso_fit_fix(&o, "phi", 1);
    f = fit(&runs, &o);
    assert_near(f.r2, 0.954, 0.002);
    assert_near(f.beta, 0.410, 0.003);
    assert_true(f.phi == 1);
    o.n_fixed = 0;
    iso_fit_fix(&o, "phi", 0);
    f = fit(&runs, &o);
    assert_near(f.r2, 0.9858, 0.002);
    assert_near(f.alpha, 0.227, 0.01);
    o.n_fixed = 0;
    static const struct {
        struct range budgets;
        size_t n;
        double phi;
    } parts[] = {
        {{0, 2.15e18}, 56, 0.441}, {{4.64e18, 1e20}, 60, 0.489}, {{0, 4.64e18}, 80, 0.452}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        iso_runs_filter(&part, &runs, in_range, &parts[i].budgets);
        assert_int_equal(part.n, parts[i].n);
        f = fit(&part, &o);
        assert_near(f.phi, parts[i].phi, 0.005);
        iso_runs_release(&part);
    }
    assert_near(f.alpha, 0.266, 0.005); /* the four lower budgets, the last of them */
    assert_near(f.beta, 0.457, 0.005);
    assert_near(f.E, 1.85, 0.01);
    iso_runs_release(&runs);
}

/* Table tab:fit-params of the paper. */
static void test_published_chinchilla_rows(void **state)
{
    (void)state;
    static const struct {
        double r, A, alpha, B, beta, E, huber, r2;
    } rows[] = {{1, 58, 0.251, 150, 0.267, 1.56, 5.84e-5, 0.9979},
                {2, 33, 0.216, 910, 0.365, 1.60, 5.27e-5, 0.9983},
                {4, 23, 0.191, 1300, 0.388, 1.56, 6.81e-5, 0.9976},
                {8, 41, 0.235, 780, 0.362, 1.69, 5.33e-5, 0.9980}};
    struct iso_runs runs, part;
    read_example(&runs, "examples/paper_baseline.csv");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct iso_fit_options o = quick();
        o.law = &iso_law_chinchilla;
        iso_runs_filter(&part, &runs, has_r, &rows[i].r);
        const struct iso_fit f = fit(&part, &o);
        assert_near(f.A, rows[i].A, 0.02 * rows[i].A);
        assert_near(f.alpha, rows[i].alpha, 0.001);
        assert_near(f.B, rows[i].B, 0.05 * rows[i].B);
        assert_near(f.beta, rows[i].beta, 0.0025);
        assert_near(f.E, rows[i].E, 0.006);
        assert_near(f.huber_sum, rows[i].huber, 0.02e-5);
        assert_near(f.r2, rows[i].r2, 0.0001);
        iso_runs_release(&part);
    }
    iso_runs_release(&runs);
}

static bool below_loss(const struct iso_run *run, const void *limit)
{
    return run->loss < *(const double *)limit;
}

/* Besiroglu et al.'s refits of Hoffmann et al.'s runs. */
static void test_published_chinchilla_refit(void **state)
{
    (void)state;
    struct iso_runs runs, part;
    struct iso_fit_options o = quick();
    o.law = &iso_law_chinchilla;
    read_example(&runs, "examples/chinchilla.csv");
    assert_int_equal(runs.n, 245);
    double loss[245];
    for (size_t i = 0; i < runs.n; i++)
        loss[i] = runs.at[i].loss;
    iso_sort_doubles(loss, 245);
    iso_runs_filter(&part, &runs, below_loss, &loss[240]);
    assert_int_equal(part.n, 240);
    struct iso_fit f = fit(&part, &o);
    assert_true(f.huber_sum <= 1.0183e-3);
    assert_near(f.param[ISO_P_A], 6.17796, 0.05);
    assert_near(f.param[ISO_P_B], 7.64273, 0.05);
    assert_near(f.param[ISO_P_E], 0.597112, 0.005);
    assert_near(f.alpha, 0.347813, 0.003);
    assert_near(f.beta, 0.365854, 0.003);
    f = fit(&runs, &o);
    assert_near(f.param[ISO_P_A], 6.13834, 0.1);
    assert_near(f.param[ISO_P_B], 9.43584, 0.1);
    assert_near(f.param[ISO_P_E], 0.634128, 0.01);
    assert_near(f.alpha, 0.345357, 0.01);
    assert_near(f.beta, 0.451892, 0.01);
    iso_runs_release(&part);
    iso_runs_release(&runs);
}

/* What SciPy's L-BFGS-B finds on the same sums (bench/fit_scipy.py, 60 to 500 starts): never
 * better. */
static void test_never_worse_than_scipy(void **state)
{
    (void)state;
    static const struct {
        double r, huber, beta; /* r = 0: the joint law */
    } found[] = {{0, 2.843654523530e-04, 0.36705116},
                 {1, 5.837051181165683e-05, 0.26710418},
                 {2, 5.275189614417886e-05, 0.36433079},
                 {4, 6.810627707846998e-05, 0.38955154},
                 {8, 5.342756919571902e-05, 0.36199002}};
    struct iso_runs runs;
    read_example(&runs, "examples/paper_baseline.csv");
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        struct iso_fit_options o = quick();
        struct iso_runs part = {0};
        o.law = found[i].r == 0 ? &iso_law_joint : &iso_law_chinchilla;
        iso_runs_filter(&part, &runs, has_r, &found[i].r);
        const struct iso_fit f = fit(found[i].r == 0 ? &runs : &part, &o);
        assert_true(f.huber_sum <= found[i].huber * (1 + 1e-9));
        assert_near(f.beta, found[i].beta, 1e-5);
        iso_runs_release(&part);
    }
    iso_runs_release(&runs);
}

/* What counts as N moves phi: by about -0.09 with the output layer, by -0.19 with all embeddings.
 */
static void test_embeddings(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_fit_options o = quick();
    read_example(&runs, "examples/paper_baseline.csv");
    const double without = fit(&runs, &o).phi;
    o.embeddings = true;
    for (int matrices = 1; matrices <= 2; matrices++) {
        for (size_t i = 0; i < runs.n; i++)
            runs.at[i].n_embed = matrices * 32064 * runs.at[i].d_model;
        assert_near(fit(&runs, &o).phi - without, matrices == 1 ? -0.09 : -0.19, 0.03);
    }
    iso_runs_release(&runs);
}

/* More runs than parameters, and some that loop, or a clear refusal. */
static void test_refusals(void **state)
{
    (void)state;
    static const char few[] = "budget,r,n_once,n_rec,tokens,loss\n"
                              "1e18,1,1e8,0,1e9,3.0\n1e18,2,5e7,4e7,1e9,3.1\n"
                              "1e18,1,2e8,0,5e8,3.0\n1e18,2,9e7,8e7,5e8,3.1\n"
                              "1e18,1,4e8,0,2e8,3.2\n1e18,1,4e8,0,2e8,3.3\n";
    static const char flat[] = "budget,n_once,tokens,loss\n1e18,1e8,1e9,3\n1e18,2e8,1e9,2.9\n"
                               "1e18,3e8,1e9,2.8\n1e18,4e8,1e9,2.7\n1e18,5e8,1e9,2.65\n"
                               "1e18,6e8,1e9,2.6\n1e18,7e8,1e9,2.55\n";
    const struct iso_fit_options o = quick();
    struct iso_err err;
    struct iso_fit f;
    struct iso_runs runs = {0};
    assert_int_equal(iso_runs_add(&runs, few, strlen(few), "few", NULL, &err), 0);
    assert_int_equal(iso_runs_finish(&runs, &err), ISO_OK);
    assert_int_equal(iso_fit_run(&f, &runs, &o, &err), ISO_BAD_INPUT);
    assert_string_equal(err.msg, "5 distinct runs are too few for law joint, which has 6 free "
                                 "parameters");
    iso_runs_release(&runs);
    assert_int_equal(iso_runs_add(&runs, flat, strlen(flat), "flat", NULL, &err), 0);
    assert_int_equal(iso_runs_finish(&runs, &err), ISO_OK);
    assert_int_equal(iso_fit_run(&f, &runs, &o, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "no run has r above 1"));
    iso_runs_release(&runs);
}

/* Known values: SciPy's f.sf and NumPy's percentile; a matrix with eigenvalues 1, 3. */
static void test_statistics(void **state)
{
    (void)state;
    /* Student's t at 97.5 %: 12.7062 (1), 4.30265 (2), 2.22814 (10), from any table. */
    assert_near(iso_mean_error(1, 1, 1), 12.706204736174694, 1e-9);
    assert_near(iso_mean_error(1, 2, 1), 4.302652729696142, 1e-9);
    assert_near(iso_mean_error(3, 10, 9), 2.2281388519649385, 1e-9);
    assert_true(isnan(iso_mean_error(1, 0, 1)));
    assert_near(iso_f_tail(4.964603, 1, 10), 0.04999999512509326, 1e-12);
    assert_near(iso_f_tail(2.348, 4, 60), 0.06448238746287996, 1e-12);
    assert_near(iso_f_tail(0.3, 7, 3), 0.9141254977479154, 1e-12);
    assert_near(iso_f_tail(30, 12, 25), 7.670335362094818e-12, 1e-18);
    const double x[] = {1, 2, 3, 4};
    assert_near(iso_percentile(x, 4, 0.5), 2.5, 1e-15);
    assert_near(iso_percentile(x, 4, 0.025), 1.075, 1e-15);
    const double m[] = {2, 1, 1, 2};
    double eigen[2];
    iso_eigenvalues(eigen, m, 2);
    assert_near(eigen[0], 1, 1e-14);
    assert_near(eigen[1], 3, 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp_and_log),
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_linear_part),
        cmocka_unit_test(test_solvers_agree),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_published_joint),
        cmocka_unit_test(test_published_chinchilla_rows),
        cmocka_unit_test(test_published_chinchilla_refit),
        cmocka_unit_test(test_never_worse_than_scipy),
        cmocka_unit_test(test_embeddings),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
