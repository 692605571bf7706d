/* compare: known changes of recipe, made from laws; what is found must be what was put in. */
#include "test.h"

#include "fit/compare.h"
#include "fit/stats.h"
#include "pair_synth.h"

#include <string.h>

static struct iso_compare_options few(void)
{
    struct iso_compare_options o = {.fit = iso_fit_defaults()};
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
    const struct iso_delta *d = v->headline;
    assert_near(d->phi_base, 0.46, 1e-6);
    assert_near(d->phi, 0.38, 1e-6);
    assert_near(v->joint.delta_phi, -0.08, 1e-6);
    assert_near(v->separate.delta_phi, -0.08, 1e-5);
    assert_int_equal(c.n_budgets, 4);
    assert_int_equal(v->own.n_looped, 60);
    assert_int_equal(c.base.n_looped, 60);
    assert_int_equal(c.n_plain, 20);
    assert_int_equal(d->n_channels, 12);
    for (size_t i = 0; i < d->n_channels; i++) {
        const struct iso_channel *ch = &d->channel[i];
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
    assert_int_equal(d->verdict, ISO_VERDICT_TRADE);
    assert_true(d->inference_change > 0.05);
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
    const struct iso_delta *d = v->headline;
    assert_string_equal(iso_variant_estimator(v), "joint");
    assert_near(d->delta_phi, 0.19, 0.05);
    assert_true(d->low > 0 && d->low < d->delta_phi && d->delta_phi < d->high);
    assert_int_equal(d->verdict, ISO_VERDICT_CAPACITY);
    assert_true(d->inference_change < 0);
    assert_true(d->high - d->low < v->separate.high - v->separate.low);
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
        assert_int_equal(c.n_plain, plain ? 25 : 0);
        assert_int_equal(c.variant[0].n_ignored, 0);
        assert_int_equal(c.base.fit.n_runs, c.base.n_looped + c.n_plain);
        assert_int_equal(c.variant[0].own.fit.n_runs, c.variant[0].own.n_looped + c.n_plain);
        iso_compare_write_page(&page, &c, false);
        assert_non_null(strstr(page.text, plain ? "25 runs of r = 1, those of variant, for all"
                                                : "looped runs; no runs of r = 1."));
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
    assert_int_equal(c.variant[0].headline->verdict, ISO_VERDICT_TOKENS);
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
    assert_int_equal(v->headline->verdict, ISO_VERDICT_UNDECIDED);
    assert_true(v->headline->low < 0 && v->headline->high > 0);
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
        assert_near(c.variant[0].headline->delta_phi, 0.1, 1e-5);
        assert_near(c.variant[0].headline->low, 0.1, 1e-4);
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
    assert_int_equal(v->headline->verdict, ISO_VERDICT_UNDETERMINED);
    assert_non_null(
        strstr(v->sentence, "undecided, phi is not determined: in base, all runs have one budg"));
    assert_true(isnan(v->joint.delta_phi) && isnan(v->separate.low) && isnan(v->joint.change));
    assert_int_equal(v->headline->n_channels, 0);
    release(&c, table);
}

/* One shared budget of six: the message does not say that the base has one. */
static void test_one_shared_budget(void **state)
{
    (void)state;
    const struct synth base = {.law = synth_paper};
    const struct synth variant = {.law = synth_paper, .n_budgets = 1, .looped_only = true};
    struct iso_compare c;
    struct iso_runs table[2];
    struct iso_str page = {0};
    compare(&c, table, &base, &variant);
    assert_non_null(strstr(c.variant[0].sentence,
                           ": in base, cut to the shared budgets, all runs have one budget"));
    iso_compare_write_page(&page, &c, false);
    assert_non_null(strstr(page.text, "base: 1 shared budget, 12 looped runs"));
    assert_null(strstr(page.text, "nan"));
    iso_str_release(&page);
    release(&c, table);
}

/* A change that rounds to zero has no minus. */
static void test_plain_zero(void **state)
{
    (void)state;
    const struct synth base = {.law = synth_paper};
    struct iso_compare c;
    struct iso_runs table[2];
    struct iso_str page = {0};
    compare(&c, table, &base, &base);
    for (size_t i = 0; i < c.variant[0].headline->n_channels; i++)
        c.variant[0].headline->channel[i].change = -4e-5;
    iso_compare_write_page(&page, &c, false);
    assert_non_null(strstr(page.text, "+0.0000"));
    assert_null(strstr(page.text, "-0.0000"));
    iso_str_release(&page);
    release(&c, table);
}

/* A fit that its checks do not believe: numbers, and no verdict. */
static void test_not_believed(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "variant"};
    const struct iso_compare_options o = few();
    const struct pair_synth p = pair_of(-0.08, 0, false);
    for (int which = 0; which < 2; which++) {
        struct iso_runs table[2];
        struct iso_compare c;
        pair_runs(table, &p);
        for (size_t i = 0; i < table[which].n; i++)
            if (table[which].at[i].r > 1)
                table[which].at[i].tokens /= 1e3; /* written in thousands */
        assert_int_equal(iso_compare_run(&c, &table[0], &table[1], 1, names, &o, NULL), ISO_OK);
        const struct iso_variant *v = &c.variant[0];
        assert_int_equal(v->trust, ISO_TRUST_UNDETERMINED);
        assert_int_equal(v->joint.verdict, ISO_VERDICT_UNDETERMINED);
        assert_int_equal(v->separate.verdict, ISO_VERDICT_UNDETERMINED);
        assert_non_null(
            strstr(v->sentence, which ? "determined: in variant, " : "determined: in base, "));
        assert_non_null(strstr(v->sentence, " Trust: undetermined."));
        release(&c, table);
    }
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
    assert_int_equal(iso_runs_add(&table[1], other, strlen(other), "other", NULL, &err), ISO_OK);
    assert_int_equal(iso_runs_finish(&table[1], &err), ISO_OK);
    assert_int_equal(iso_compare_run(&c, &table[0], &table[1], 1, names, &o, &err), ISO_BAD_INPUT);
    assert_non_null(strstr(err.msg, "no budget has looped runs"));
    release(&c, table);
}

/* Student's t against tables. */
static void test_t_quantile(void **state)
{
    (void)state;
    assert_near(iso_t_quantile(0.95, 1), 12.7062, 1e-4);
    assert_near(iso_t_quantile(0.95, 9), 2.26216, 1e-5);
    assert_near(iso_t_quantile(0.99, 30), 2.75000, 1e-5);
    assert_near(iso_t_quantile(0.95, 1e7), 1.95996, 1e-5);
    assert_true(isnan(iso_t_quantile(0.95, 0)));
}

static void take_without(struct iso_runs *out, const struct iso_runs *from, double budget, double r)
{
    *out = (struct iso_runs){0};
    for (size_t i = 0; i < from->n; i++)
        if (from->at[i].budget != budget || from->at[i].r != r)
            *ISO_PUSH(out->at, out->n, out->room) = from->at[i];
}

/* The error is that of comparing again without each cell, and its degrees of freedom follow from
 * what the cells say about phi. */
static void test_error(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "variant"};
    const struct iso_compare_options o = few();
    struct pair_synth p = pair_of(0.05, 5e-3, false);
    struct iso_runs table[2];
    struct iso_compare c;
    double joint[16], separate[16], cells = 0, sum = 0, squares = 0;
    p.seed = 4;
    pair_runs(table, &p);
    assert_int_equal(iso_compare_run(&c, &table[0], &table[1], 1, names, &o, NULL), ISO_OK);
    const struct iso_variant *v = &c.variant[0];
    for (int b = 0; b < PAIR_BUDGETS; b++)
        for (int r = 1; r <= 8; r *= 2) {
            struct iso_runs left[2];
            struct iso_compare without;
            for (int k = 0; k < 2; k++)
                take_without(&left[k], &table[k], synth_budget[b], r);
            assert_int_equal(iso_compare_run(&without, &left[0], &left[1], 1, names, &o, NULL),
                             ISO_OK);
            joint[(int)cells] = without.variant[0].joint.delta_phi;
            separate[(int)cells++] = without.variant[0].separate.delta_phi;
            release(&without, left);
            const struct iso_fit *f = &c.base.fit;
            double weight = 0;
            for (int k = 0; k < 2; k++)
                for (size_t i = 0; r > 1 && i < table[k].n; i++) {
                    const struct iso_run *run = &table[k].at[i];
                    if (run->budget != synth_budget[b] || run->r != r)
                        continue;
                    const double worth = pow(r, f->phi) * run->n_rec;
                    const double n_eff = run->n_once + run->n_inject + worth;
                    const double slope = f->A * pow(n_eff, -f->alpha) * f->alpha * log(r) * worth /
                                         n_eff / iso_fit_loss(f, run);
                    weight += slope * slope;
                }
            sum += weight;
            squares += weight * weight;
        }
    const struct {
        const struct iso_delta *d;
        const double *left_out;
    } check[] = {{&v->joint, joint}, {&v->separate, separate}};
    for (int k = 0; k < 2; k++) {
        const struct iso_delta *d = check[k].d;
        double mean = 0, spread = 0;
        for (int i = 0; i < 16; i++)
            mean += check[k].left_out[i] / 16;
        for (int i = 0; i < 16; i++)
            spread += pow(check[k].left_out[i] - mean, 2);
        assert_near(d->error, sqrt(spread * 15 / 16), 1e-5 * d->error);
        assert_near(d->df, sum * sum / squares - 1, 1e-3);
        assert_near(d->high - d->delta_phi, iso_t_quantile(0.95, d->df) * d->error, 1e-12);
        assert_near(d->delta_phi - d->low, d->high - d->delta_phi, 1e-12);
    }
    release(&c, table);
}

/* A short form of tests/long/test_delta.c: how often intervals and verdicts are wrong. */
static void test_calibrated(void **state)
{
    (void)state;
    enum { N = 16 };
    for (int kind = 0; kind < 3; kind++) {
        const struct pair_synth same = pair_of(0, kind ? 5e-3 : 0, kind == 2);
        const struct pair_counts n = pair_study(&same, N, 0);
        assert_true(n.wrong <= 1);
        assert_true(n.headline >= N - 3 && n.joint >= N - 3 && n.separate >= N - 3);
        assert_true(n.rejected <= 3);
        assert_int_equal(n.undetermined, 0);
    }
    const struct pair_synth less = pair_of(-0.08, 0, false); /* intervals are not endless */
    assert_true(pair_study(&less, N, 0).found >= N - 2);
}

/* The base's phi does not depend on what it is compared with. */
static void test_one_base(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "less", "same", "more"};
    const struct iso_compare_options o = few();
    struct iso_runs base, variant[3];
    struct iso_compare c;
    for (int i = 0; i < 3; i++) {
        struct pair_synth p = pair_of(0.2 * (i - 1), 0, false);
        struct iso_runs table[2];
        p.seed = 11;
        pair_runs(table, &p);
        variant[i] = table[1];
        if (i == 0)
            base = table[0];
        else
            iso_runs_release(&table[0]);
    }
    assert_int_equal(iso_compare_run(&c, &base, variant, 3, names, &o, NULL), ISO_OK);
    for (int i = 0; i < 3; i++) {
        assert_true(c.variant[i].joint.phi_base == c.base.fit.phi);
        assert_true(c.variant[i].separate.phi_base == c.base.fit.phi);
        assert_near(c.variant[i].joint.delta_phi, 0.2 * (i - 1), 0.05);
    }
    iso_compare_release(&c);
    iso_runs_release(&base);
    for (int i = 0; i < 3; i++)
        iso_runs_release(&variant[i]);
}

/* All recipes of a call are cut to the budgets that all of them have. */
static void test_budgets_of_all(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "four", "upper"};
    const struct iso_compare_options o = few();
    const struct synth four = {.law = synth_paper, .n_budgets = 4, .looped_only = true};
    const struct synth six = {.law = synth_paper};
    struct iso_runs base, variant[2];
    struct iso_compare c;
    struct iso_err err;
    for (int drop = 2; drop <= 4; drop += 2) {
        synth_runs(&base, &six);
        synth_runs(&variant[0], &four);
        synth_runs(&variant[1], &six);
        size_t n = 0;
        for (size_t i = 0; i < variant[1].n; i++)
            if (variant[1].at[i].budget >= synth_budget[drop])
                variant[1].at[n++] = variant[1].at[i];
        variant[1].n = n;
        const enum iso_status st = iso_compare_run(&c, &base, variant, 2, names, &o, &err);
        if (drop == 2) {
            assert_int_equal(st, ISO_OK);
            assert_int_equal(c.n_budgets, 2);
            assert_int_equal(c.variant[0].own.n_looped, 33);
            assert_int_equal(c.variant[0].n_left, 2); /* the two lowest */
            assert_int_equal(c.variant[1].n_left, 2); /* the two highest */
        } else {
            assert_int_equal(st, ISO_BAD_INPUT);
            assert_non_null(strstr(err.msg, "compare fewer variants at a time"));
        }
        iso_compare_release(&c);
        iso_runs_release(&base);
        iso_runs_release(&variant[0]);
        iso_runs_release(&variant[1]);
    }
}

/* A token channel that is a small part of the change is not named. */
static void test_small_channel(void **state)
{
    (void)state;
    const struct synth base = {.law = synth_paper};
    struct synth variant = {
        .law = synth_paper, .n_budgets = 4, .looped_only = true, .flops_share = 0.97};
    struct iso_compare c;
    struct iso_runs table[2];
    variant.law.phi += 0.15;
    compare(&c, table, &base, &variant);
    const struct iso_delta *d = c.variant[0].headline;
    assert_true(d->token < -1e-3 && d->token > 0.2 * d->change);
    assert_int_equal(d->verdict, ISO_VERDICT_CAPACITY);
    release(&c, table);
    variant.flops_share = 0.8; /* and a large part is */
    compare(&c, table, &base, &variant);
    assert_int_equal(c.variant[0].headline->verdict, ISO_VERDICT_BOTH);
    release(&c, table);
}

/* Looped runs with another E: one law is rejected, and the separate fits speak. */
static void test_other_e(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "variant"};
    const struct iso_compare_options o = few();
    struct pair_synth p = pair_of(0, 0, false);
    struct iso_runs table[2];
    struct iso_compare c;
    p.variant.E += 0.03;
    p.seed = 5;
    pair_runs(table, &p);
    assert_int_equal(iso_compare_run(&c, &table[0], &table[1], 1, names, &o, NULL), ISO_OK);
    const struct iso_variant *v = &c.variant[0];
    assert_true(v->shared.p < 0.01);
    assert_near(v->shared.df, 3, 0);
    assert_near(v->shared.df_error, 9, 0); /* 12 looped cells */
    assert_string_equal(iso_variant_estimator(v), "separate");
    assert_non_null(strstr(v->sentence, "one law does not fit both recipes, p = "));
    assert_int_equal(v->trust, ISO_TRUST_CAUTION);
    assert_non_null(strstr(v->sentence, "shared_law)."));
    release(&c, table);
}

/* Too few runs are left without a cell: a change, no interval, no verdict. */
static void test_too_few_cells(void **state)
{
    (void)state;
    static const char *const names[] = {"base", "variant"};
    const struct iso_compare_options o = few();
    const struct synth all = {.law = synth_paper, .n_budgets = 2};
    struct iso_runs table[2], kept[2] = {0};
    struct iso_compare c;
    synth_runs(&table[0], &all);
    synth_runs(&table[1], &all);
    for (size_t i = 0; i < table[0].n; i++) { /* two widths of r = 1 and 2: eight runs, less one */
        const struct iso_run *run = &table[0].at[i];
        if (run->r > 2 || run->s < 8 || run->s > 10 || (run->r == 1 && i == 1))
            continue;
        for (int k = 0; k < 2; k++)
            *ISO_PUSH(kept[k].at, kept[k].n, kept[k].room) = *run;
    }
    assert_int_equal(kept[0].n, 7);
    assert_int_equal(iso_compare_run(&c, &kept[0], &kept[1], 1, names, &o, NULL), ISO_OK);
    assert_int_equal(c.variant[0].headline->verdict, ISO_VERDICT_NONE);
    assert_near(c.variant[0].headline->delta_phi, 0, 1e-3);
    assert_non_null(
        strstr(c.variant[0].sentence, "not judged, too few cells for an interval; phi"));
    assert_null(strstr(c.variant[0].sentence, "nan"));
    release(&c, kept);
    iso_runs_release(&table[0]);
    iso_runs_release(&table[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncated),         cmocka_unit_test(test_hyper),
        cmocka_unit_test(test_no_change),         cmocka_unit_test(test_other_law),
        cmocka_unit_test(test_undetermined),      cmocka_unit_test(test_plain_of_variant),
        cmocka_unit_test(test_token_gain),        cmocka_unit_test(test_nothing_shared),
        cmocka_unit_test(test_t_quantile),        cmocka_unit_test(test_error),
        cmocka_unit_test(test_calibrated),        cmocka_unit_test(test_one_base),
        cmocka_unit_test(test_budgets_of_all),    cmocka_unit_test(test_small_channel),
        cmocka_unit_test(test_one_shared_budget), cmocka_unit_test(test_plain_zero),
        cmocka_unit_test(test_not_believed),      cmocka_unit_test(test_other_e),
        cmocka_unit_test(test_too_few_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
