/* Does a proposed grid do what was promised?  Ten studies are simulated on the grid that
 * fit/propose.h chooses for eight hours, apart from power.c: with the law and the noise that it
 * assumed, and fitted as `isodepth fit` does by default.
 *
 * The promised half-width is that of a 95 % interval of phi; the realised one is that of each
 * study's interval (bootstrap over cells).  With ten studies the mean of the realised ones is known
 * to about a tenth, so it must lie within [0.7, 1.4] of the promise; and phi must be inside
 * twice the promised half-width of the truth every time. */
#include "test.h"

#include "base/parallel.h"
#include "base/rng.h"
#include "fit/analysis.h"
#include "propose_synth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STUDIES = 10 };

static struct iso_candidate candidates[N_R * N_WIDTHS];

/* Losses of one study: the law, noise of the cell, noise of the run. */
static void train(struct iso_runs *runs, const struct iso_power_options *o, uint64_t seed)
{
    struct iso_rng rng = {seed, iso_rng_stream("study", 0), 0};
    double cell = 0;
    for (size_t i = 0; i < runs->n; i++) {
        struct iso_run *run = &runs->at[i];
        if (i == 0 || run[-1].budget != run->budget || run[-1].r != run->r)
            cell = o->cell_noise * iso_rng_normal(&rng);
        const double n = run->n_once + run->n_inject + pow(run->r, o->phi) * run->n_rec;
        const double loss = o->E + o->A * pow(n, -o->alpha) + o->B * pow(run->tokens, -o->beta);
        run->loss = loss * exp(cell + o->run_noise * iso_rng_normal(&rng));
    }
}

struct result {
    double phi, half_width;
};

static struct result study(const struct iso_prospect *p, uint64_t seed)
{
    struct iso_runs runs;
    struct iso_analysis analysis = {0};
    struct iso_analysis_options o = iso_analysis_defaults();
    o.fit.threads = iso_cpu_count();
    o.fit.starts = 50;
    iso_proposal_runs(&runs, &p->plan, p->need);
    train(&runs, p->need->law, seed);
    assert_int_equal(iso_analysis_run(&analysis, &runs, &o, NULL), ISO_OK);
    double interval[2];
    iso_analysis_phi_interval(interval, &analysis);
    const struct result r = {analysis.fit.phi, 0.5 * (interval[1] - interval[0])};
    iso_analysis_release(&analysis);
    iso_runs_release(&runs);
    return r;
}

static void check(double hours, double low, double high)
{
    struct iso_power_options law = iso_power_defaults();
    const struct iso_propose_need need = synth_need(candidates, &law, hours, 2.5e7);
    struct iso_prospect p;
    double mean = 0, square = 0;
    iso_power_assume_between(&law, low, high);
    law.fit.threads = iso_cpu_count();
    assert_int_equal(iso_prospect_run(&p, &need, NULL), ISO_OK);
    const double promised = p.power.half_width;
    printf("%g hours, %s: promised +-%.3f (%.3f by the linear formula)\n  realised", hours,
           law.source, promised, p.power.half_width_linear);
    for (uint64_t i = 0; i < STUDIES; i++) {
        const struct result r = study(&p, i + 1);
        printf(" %.3f+-%.3f", r.phi, r.half_width);
        mean += r.half_width / STUDIES;
        square += (r.phi - law.phi) * (r.phi - law.phi) / STUDIES;
        assert_true(fabs(r.phi - law.phi) < 2 * promised);
    }
    printf("\n  mean +-%.3f; 1.96 x the spread of phi about the truth %.3f\n", mean,
           1.96 * sqrt(square));
    assert_true(mean > 0.7 * promised && mean < 1.4 * promised);
    iso_prospect_release(&p);
}

static void test_evening(void **state)
{
    (void)state;
    synth_candidates(candidates);
    check(8, 4e12, 1.6e13);
}

static void test_hour(void **state)
{
    (void)state;
    synth_candidates(candidates);
    check(1, 3.2e11, 6.6e12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evening),
        cmocka_unit_test(test_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
