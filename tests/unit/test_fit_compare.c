/* compare: known changes of recipe, made from laws; what is found must be what was put in. */
#include "test.h"

#include "fit/compare.h"
#include "fit_synth.h"

#include <string.h>

static struct iso_compare_options few(void)
{
    struct iso_compare_options o = {.fit = iso_fit_defaults(), .resamples = 60};
    o.fit.starts = 20;
    o.fit.threads = 2;
    return o;
}

/* Base on six budgets; variant without r = 1 runs, on the four lower ones. */
static void compare(struct iso_compare *out, struct iso_runs table[2], const struct synth *base,
                    const struct synth *variant)
{
    static const char *const names[] = {"base", "variant"};
    const struct iso_compare_options o = few();
    struct iso_err err;
    synth_runs(&table[0], base);
    synth_runs(&table[1], variant);
    if (iso_compare_run(out, &table[0], &table[1], 1, names, &o, &err) != ISO_OK)
        fail_msg("%s", err.msg);
}

static void release(struct iso_compare *c, struct iso_runs table[2])
{
    iso_compare_release(c);
    iso_runs_release(&table[0]);
    iso_runs_release(&table[1]);
}

/* The optimum of a law by brute force over widths. */
static double best_width(const struct synth_law *law, int r, double budget, double share,
                         double *loss)
{
    double best = 0;
    *loss = INFINITY;
    for (double d = 200; d < 4000; d *= 1.0002) {
        const double l = synth_loss(law, d, r, budget / synth_flops(d, r, share));
        if (l < *loss)
            *loss = l, best = d;
    }
    return best;
}

/* Cheaper tokens and a lower phi: the channels against brute force, to the digits that rounding
 * tokens to whole ones leaves. */
static void test_truncated(void **state)
{
    (void)state;
    const struct synth base = {.law = synth_paper};
    struct synth variant = {
        .law = synth_paper, .n_budgets = 4, .looped_only = true, .flops_share = 0.7};
    struct iso_compare c;
    struct iso_runs table[2];
    variant.law.phi = 0.38;
    compare(&c, table, &base, &variant);
    const struct iso_variant *v = &c.variant[0];
    assert_near(v->phi_base, 0.46, 1e-6);
    assert_near(v->phi, 0.38, 1e-6);
    assert_near(v->delta_phi, -0.08, 1e-6);
    assert_near(v->separate_delta, -0.08, 1e-5);
    assert_int_equal(v->n_budgets, 4);
    assert_int_equal(v->n_own, 60);
    assert_int_equal(v->n_base, 60);
    assert_int_equal(v->n_shared, 20);
    assert_int_equal(v->n_channels, 12);
    for (size_t i = 0; i < v->n_channels; i++) {
        const struct iso_channel *ch = &v->channel[i];
        const int r = (int)ch->r;
        double base_loss, variant_loss;
        const double d_b = best_width(&base.law, r, ch->budget, 1, &base_loss);
        const double d_v = best_width(&variant.law, r, ch->budget, 0.7, &variant_loss);
        const double cheap = ch->budget / synth_flops(d_b, r, 0.7);
        assert_near(ch->base_d_model, d_b, 2e-3 * d_b);
        assert_near(ch->variant_d_model, d_v, 2e-3 * d_v);
        assert_near(ch->base_loss, base_loss, 1e-6);
        assert_near(ch->variant_loss, variant_loss, 1e-6);
        assert_near(ch->token, synth_loss(&base.law, d_b, r, cheap) - base_loss, 1e-5);
        assert_near(ch->capacity,
                    synth_loss(&variant.law, d_b, r, cheap) - synth_loss(&base.law, d_b, r, cheap),
                    1e-5);
        assert_near(ch->token + ch->capacity + ch->width, ch->change, 1e-12);
        assert_true(ch->token < 0 && ch->capacity > 0 && ch->width <= 0);
        assert_true(ch->variant_d_model > ch->base_d_model);
        /* 2 (N_once + r (N_rec + N_inject)) + a third of attention and output layer */
        const double inference = synth_flops(ch->base_d_model, r, 1) / 3;
        assert_near(ch->base_inference, inference, 1e-4 * inference);
    }
    assert_int_equal(v->verdict, ISO_VERDICT_TRADE);
    assert_true(v->inference_change > 0.05);
    assert_non_null(strstr(v->sentence, "token gain, capacity loss"));
    assert_non_null(strstr(v->sentence, "inference cost of the compute-optimal model up"));
    release(&c, table);
}

/* A better loop at equal cost, with noise: found, narrower at its optimum, and the joint model's
 * interval is the tighter one. */
static void test_hyper(void **state)
{
    (void)state;
    const struct synth base = {
        .law = synth_paper, .run_noise = 1e-3, .cell_noise = 1e-3, .seed = 5};
    struct synth variant = {.law = synth_paper,
                            .run_noise = 1e-3,
                            .cell_noise = 1e-3,
                            .seed = 6,
                            .n_budgets = 4,
                            .looped_only = true};
    struct iso_compare c;
    struct iso_runs table[2];
    variant.law.phi = 0.65;
    compare(&c, table, &base, &variant);
    const struct iso_variant *v = &c.variant[0];
    assert_near(v->delta_phi, 0.19, 0.05);
    assert_true(v->delta_low > 0 && v->delta_low < v->delta_phi && v->delta_phi < v->delta_high);
    assert_true(v->share_above == 1);
    assert_int_equal(v->verdict, ISO_VERDICT_CAPACITY);
    assert_true(v->inference_change < 0);
    assert_true(v->delta_high - v->delta_low < v->separate_high - v->separate_low);
    release(&c, table);
}

/* The base has no r = 1 runs where the variant has looped runs: those of the variant serve both. */
static void test_plain_of_variant(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "variant"};
    const struct synth whole = {.law = synth_paper};
    const struct iso_compare_options o = few();
    struct iso_runs base, variant, kept[2] = {0};
    synth_runs(&base, &whole);
    synth_runs(&variant, &whole);
    for (size_t i = 0; i < base.n; i++) { /* r = 1 at the lowest budget only, which is not shared */
        const bool lowest = base.at[i].budget == base.at[0].budget;
        if (base.at[i].r > 1 || lowest)
            *ISO_PUSH(kept[0].at, kept[0].n, kept[0].room) = base.at[i];
        if (!lowest)
            *ISO_PUSH(kept[1].at, kept[1].n, kept[1].room) = variant.at[i];
    }
    for (int plain = 1; plain >= 0; plain--) {
        struct iso_compare c;
        struct iso_str page = {0};
        assert_int_equal(iso_compare_run(&c, &kept[0], &kept[1], 1, names, &o, NULL), ISO_OK);
        const struct iso_variant *v = &c.variant[0];
        assert_int_equal(v->n_shared, plain ? 25 : 0);
        assert_int_equal(v->n_ignored, 0);
        assert_int_equal(v->joint.n_runs, v->n_base + v->n_own + v->n_shared);
        iso_compare_write_page(&page, &c, false);
        assert_non_null(
            strstr(page.text, plain ? "25 shared runs of r = 1 (those of the variant; the base"
                                    : "looped runs, no runs of r = 1; R2"));
        iso_str_release(&page);
        iso_compare_release(&c);
        size_t n = 0;
        for (size_t i = 0; i < kept[1].n; i++)
            if (kept[1].at[i].r > 1)
                kept[1].at[n++] = kept[1].at[i];
        kept[1].n = n;
    }
    free(kept[0].at);
    free(kept[1].at);
    iso_runs_release(&base);
    iso_runs_release(&variant);
}

/* Cheaper tokens alone. */
static void test_token_gain(void **state)
{
    (void)state;
    const struct synth base = {
        .law = synth_paper, .run_noise = 2e-3, .cell_noise = 2e-3, .seed = 1};
    const struct synth variant = {.law = synth_paper,
                                  .run_noise = 2e-3,
                                  .cell_noise = 2e-3,
                                  .seed = 3,
                                  .n_budgets = 4,
                                  .flops_share = 0.7};
    struct iso_compare c;
    struct iso_runs table[2];
    compare(&c, table, &base, &variant);
    assert_int_equal(c.variant[0].verdict, ISO_VERDICT_TOKENS);
    assert_non_null(strstr(c.variant[0].sentence, "token gain only"));
    release(&c, table);
}

/* The same recipe twice. */
static void test_no_change(void **state)
{
    (void)state;
    const struct synth base = {
        .law = synth_paper, .run_noise = 2e-3, .cell_noise = 2e-3, .seed = 1};
    const struct synth variant = {
        .law = synth_paper, .run_noise = 2e-3, .cell_noise = 2e-3, .seed = 3, .n_budgets = 4};
    struct iso_compare c;
    struct iso_runs table[2];
    compare(&c, table, &base, &variant);
    const struct iso_variant *v = &c.variant[0];
    assert_int_equal(v->verdict, ISO_VERDICT_UNDECIDED);
    assert_true(v->delta_low < 0 && v->delta_high > 0);
    assert_int_equal(v->n_ignored, 20); /* its own r = 1 runs: those of the base serve both */
    release(&c, table);
}

/* The difference of phi is that of the joint law, whatever law the study beside it has. */
static void test_other_law(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "variant"};
    const struct synth base = {.law = synth_paper};
    struct synth variant = {.law = synth_paper, .n_budgets = 4, .looped_only = true};
    struct iso_compare_options o = few();
    struct iso_runs table[2];
    struct iso_compare c;
    variant.law.phi = 0.56;
    synth_runs(&table[0], &base);
    synth_runs(&table[1], &variant);
    for (size_t i = 0; iso_laws[i]; i++) {
        o.fit.law = iso_laws[i];
        assert_int_equal(iso_compare_run(&c, &table[0], &table[1], 1, names, &o, NULL), ISO_OK);
        assert_near(c.variant[0].delta_phi, 0.1, 1e-5);
        assert_near(c.variant[0].delta_low, 0.1, 1e-4);
        iso_compare_release(&c);
    }
    iso_runs_release(&table[0]);
    iso_runs_release(&table[1]);
}

/* Runs that tell no phi: no number is given, and no verdict. */
static void test_undetermined(void **state)
{
    (void)state;
    const struct synth base = {.law = synth_paper, .n_budgets = 1};
    struct synth variant = {.law = synth_paper, .n_budgets = 1, .looped_only = true};
    struct iso_compare c;
    struct iso_runs table[2];
    variant.law.phi = 0.9;
    compare(&c, table, &base, &variant);
    const struct iso_variant *v = &c.variant[0];
    assert_int_equal(v->verdict, ISO_VERDICT_UNDETERMINED);
    assert_non_null(
        strstr(v->sentence, "undecided, phi is not determined: all runs have one budg"));
    assert_true(isnan(v->delta_phi) && isnan(v->delta_low) && isnan(v->mean_change));
    assert_int_equal(v->n_channels + v->n_resamples, 0);
    release(&c, table);
}

static void test_nothing_shared(void **state)
{
    (void)state;
    static const char other[] = "budget,r,n_once,n_rec,tokens,loss\n3e18,2,5e7,4e7,1e9,3\n";
    static const char *const names[] = {"base", "other"};
    const struct synth base = {.law = synth_paper};
    const struct iso_compare_options o = few();
    struct iso_runs table[2] = {0};
    struct iso_compare c;
    struct iso_err err;
    synth_runs(&table[0], &base);
    assert_int_equal(
        iso_runs_add_csv(&table[1], other, strlen(other), "other", ISO_RUNS_TRAINED, &err), ISO_OK);
    assert_int_equal(iso_runs_finish(&table[1], &err), ISO_OK);
    assert_int_equal(iso_compare_run(&c, &table[0], &table[1], 1, names, &o, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "no budget has looped runs"));
    release(&c, table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncated),    cmocka_unit_test(test_hyper),
        cmocka_unit_test(test_no_change),    cmocka_unit_test(test_other_law),
        cmocka_unit_test(test_undetermined), cmocka_unit_test(test_plain_of_variant),
        cmocka_unit_test(test_token_gain),   cmocka_unit_test(test_nothing_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
