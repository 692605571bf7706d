/* fit: checks.  Each fault of fit_faults.h is found by the check that is meant for it, at its
 * level; clean studies pass; the shipped tables get the word that docs/fitting.md says. */
#include "test.h"

#include "base/file.h"
#include "fit/analysis.h"
#include "fit/stats.h"
#include "fit_faults.h"

#include <string.h>

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FAULTS; i++) {
        const struct fault *fault = &faults[i];
        struct iso_arena arena = {0};
        struct iso_runs runs;
        struct iso_checks checks;
        fault_study(&runs, fault, 1000);
        fault_judge(&checks, &arena, &runs, 20, 1);
        static const enum iso_trust words[] = {ISO_TRUST_GOOD, ISO_TRUST_CAUTION,
                                               ISO_TRUST_UNDETERMINED};
        const struct iso_finding *found =
            fault->check ? iso_checks_find(&checks, fault->check) : iso_checks_worst(&checks);
        if (!found || found->level != fault->level || checks.trust != words[fault->level])
            fail_msg("%s: %s is %s, trust %s", fault->name, found ? found->check->name : "-",
                     found ? iso_level_name(found->level) : "-", iso_trust_name(checks.trust));
        iso_runs_release(&runs);
        iso_arena_release(&arena);
    }
}

/* The worst level decides the word. */
static void test_word(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    const struct fault *mistyped = NULL;
    for (size_t i = 0; i < N_FAULTS; i++)
        if (faults[i].plant == fault_mistyped)
            mistyped = &faults[i];
    fault_study(&runs, mistyped, 3);
    fault_judge(&checks, &arena, &runs, 20, 1);
    assert_string_equal(iso_trust_name(checks.trust), "caution");
    assert_int_equal(iso_checks_worst(&checks)->level, ISO_LEVEL_CAUTION);

    /* The row is named, with the fit without it, which is the clean study's. */
    const struct iso_finding *outliers = iso_checks_find(&checks, "outliers");
    size_t row = 0;
    while (runs.at[row].loss != 26.5)
        row++;
    char where[64];
    snprintf(where, sizeof where, "synthetic:%d (loss 26.5)", runs.at[row].line);
    assert_non_null(strstr(outliers->message, where));
    assert_non_null(strstr(outliers->message, "without them, φ would be 0.4"));
    assert_true(outliers->value > 6 && outliers->threshold == 6);
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

static void read_table(struct iso_runs *runs, const char *path)
{
    struct iso_err err;
    *runs = (struct iso_runs){0};
    if (iso_runs_read(runs, &path, 1, NULL, &err) != ISO_OK)
        fail_msg("%s", err.msg);
}

static void check_level(const struct iso_checks *checks, const char *name, enum iso_level level)
{
    const struct iso_finding *found = iso_checks_find(checks, name);
    assert_non_null(found);
    if (found->level != level)
        fail_msg("%s is %s: %s", name, iso_level_name(found->level), found->message);
}

/* As docs/fitting.md says of them. */
static void test_shipped_tables(void **state)
{
    (void)state;
    static const struct {
        const char *path, *caution[5];
    } tables[] = {
        {"examples/paper_baseline.csv", {"one_phi"}},
        {"docs/results/pocket/base.csv", {"one_phi", "offset", "noise"}},
        {"docs/results/pocket/truncated.csv", {"offset", "bracketing"}},
        {"docs/results/pocket/hyper.csv", {"one_phi", "offset", "bracketing"}},
        {"docs/results/pocket/pilot.csv", {"cells", "bracketing"}},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct iso_runs runs;
        struct iso_arena arena = {0};
        struct iso_checks checks;
        size_t n_cautions = 0, n_expected = 0;
        read_table(&runs, tables[i].path);
        fault_judge(&checks, &arena, &runs, 20, 1);
        assert_int_equal(checks.trust, ISO_TRUST_CAUTION);
        for (; n_expected < 5 && tables[i].caution[n_expected]; n_expected++)
            check_level(&checks, tables[i].caution[n_expected], ISO_LEVEL_CAUTION);
        for (size_t k = 0; k < checks.n; k++)
            n_cautions += checks.at[k].level != ISO_LEVEL_OK;
        assert_int_equal(n_cautions, n_expected);
        iso_runs_release(&runs);
        iso_arena_release(&arena);
    }
}

static void judge_csv(struct iso_checks *checks, struct iso_arena *arena, const struct synth *s,
                      const char *column, const char *value)
{
    struct iso_str csv = {0}, more = {0};
    struct iso_runs runs = {0};
    synth_rows(&csv, s);
    for (char *line = strtok(csv.text, "\n"); line; line = strtok(NULL, "\n"))
        iso_str_printf(&more, "%s,%s\n", line, more.len ? value : column);
    if (iso_runs_add(&runs, more.text, more.len, "table", NULL, NULL) != ISO_OK ||
        iso_runs_finish(&runs, NULL) != ISO_OK)
        abort();
    fault_judge(checks, arena, &runs, 20, 1);
    iso_runs_release(&runs);
    iso_str_release(&csv);
    iso_str_release(&more);
}

/* The vocabulary says what guessing gives: ln 16 = 2.77 lies among these losses, ln 32000 not. */
static void test_vocabulary(void **state)
{
    (void)state;
    const struct synth s = {.law = fault_truth, .run_noise = 1e-3, .seed = 5};
    struct iso_arena arena = {0};
    struct iso_checks checks;
    judge_csv(&checks, &arena, &s, "vocab", "32000");
    check_level(&checks, "diverged", ISO_LEVEL_OK);
    judge_csv(&checks, &arena, &s, "vocab", "16");
    check_level(&checks, "diverged", ISO_LEVEL_FAIL);
    assert_int_equal(checks.trust, ISO_TRUST_UNDETERMINED);
    iso_arena_release(&arena);
}

/* Perplexities in the column of losses: no vocabulary is so large that guessing costs as much. */
static void test_perplexity(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    fault_study(&runs, &faults[0], 2);
    for (size_t i = 0; i < runs.n; i++)
        runs.at[i].loss = exp(runs.at[i].loss);
    fault_judge(&checks, &arena, &runs, 20, 1);
    check_level(&checks, "diverged", ISO_LEVEL_FAIL);
    assert_non_null(strstr(iso_checks_find(&checks, "diverged")->message, "perplexity?"));
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

/* A finding advises no law that may be the fitted one, and absence of proof is worded as such. */
static void test_words_of_findings(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    fault_study(&runs, &faults[0], 2);
    fault_judge(&checks, &arena, &runs, 20, 1);
    assert_null(strstr(iso_checks_find(&checks, "one_phi")->check->advice, "saturating"));
    assert_true(iso_str_starts(iso_checks_find(&checks, "offset")->message, "no step seen"));
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

/* FLOPs per token that the table gives itself must agree with budget / tokens. */
static void test_flops_column(void **state)
{
    (void)state;
    const struct synth s = {.law = fault_truth, .run_noise = 1e-3, .seed = 5, .n_budgets = 4};
    struct iso_arena arena = {0};
    struct iso_checks checks;
    judge_csv(&checks, &arena, &s, "flops_per_token", "1e9");
    check_level(&checks, "flops", ISO_LEVEL_FAIL);
    iso_arena_release(&arena);
}

/* Small models, where attention may cost anything: swapped columns show in the exponent alone. */
static void test_flops_of_small_models(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    read_table(&runs, "docs/results/pocket/base.csv");
    for (size_t i = 0; i < runs.n; i++)
        runs.at[i].flops_per_token = runs.at[i].d_model = NAN;
    fault_judge(&checks, &arena, &runs, 20, 1);
    check_level(&checks, "flops", ISO_LEVEL_OK);
    fault_swapped(&runs, NULL);
    fault_judge(&checks, &arena, &runs, 20, 1);
    check_level(&checks, "flops", ISO_LEVEL_FAIL);
    assert_non_null(strstr(iso_checks_find(&checks, "flops")->message, "exponent"));
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

/* Looped runs so bad that no phi describes them: it runs to the edge. */
static void test_bounds(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    fault_study(&runs, &faults[0], 2);
    for (size_t i = 0; i < runs.n; i++)
        runs.at[i].loss += runs.at[i].r > 1 ? 0.5 : 0;
    fault_judge(&checks, &arena, &runs, 20, 1);
    check_level(&checks, "bounds", ISO_LEVEL_FAIL);
    assert_non_null(strstr(iso_checks_find(&checks, "bounds")->message, "φ lies at -3"));
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

/* One wrong row hides no other fault. */
static void test_two_faults(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    struct iso_rng rng = {1, 2, 3};
    fault_study(&runs, &faults[0], 2);
    fault_saturation(&runs, &rng);
    fault_mistyped(&runs, &rng);
    fault_judge(&checks, &arena, &runs, 20, 1);
    check_level(&checks, "outliers", ISO_LEVEL_CAUTION);
    check_level(&checks, "one_phi", ISO_LEVEL_CAUTION);
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

/* Seeds: the law holds inside the cells whatever cells share, and does not when a size is off. */
static void test_noise(void **state)
{
    (void)state;
    const struct synth s = {
        .law = fault_truth, .run_noise = 2e-3, .cell_noise = 2e-3, .seed = 7, .repeats = 2};
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    synth_runs(&runs, &s);
    fault_judge(&checks, &arena, &runs, 20, 1);
    assert_true(iso_checks_find(&checks, "noise")->value > 0);
    check_level(&checks, "noise", ISO_LEVEL_OK);
    for (size_t i = 0; i < runs.n; i++) /* narrow models do worse than the law says */
        runs.at[i].loss *= runs.at[i].d_model < 700 ? 1.01 : 1;
    fault_judge(&checks, &arena, &runs, 20, 1);
    check_level(&checks, "noise", ISO_LEVEL_CAUTION);
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

/* A run that all tests see as one cell each, without phi or with phi held fixed: what applies. */
static void test_laws_without_phi(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    struct iso_fit fit;
    struct iso_fit_options o = iso_fit_defaults();
    o.law = iso_law_find("chinchilla");
    o.starts = 20;
    read_table(&runs, "examples/chinchilla.csv");
    assert_int_equal(iso_fit_run(&fit, &runs, &o, NULL), ISO_OK);
    iso_checks_run(&checks, &arena, &runs, &fit, &o, NULL);
    assert_null(iso_checks_find(&checks, "one_phi"));
    assert_null(iso_checks_find(&checks, "anchor"));
    check_level(&checks, "flops", ISO_LEVEL_OK);
    check_level(&checks, "outliers", ISO_LEVEL_CAUTION); /* its authors left out five runs */
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

/* Without r = 1, a study of r = 1, 2, 4 has two minima; which one a refit finds says nothing. */
static void test_influence_keeps_the_anchor(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct iso_runs runs;
        struct iso_arena arena = {0};
        struct iso_checks checks;
        fault_study(&runs, &faults[0], seed);
        fault_keep(&runs, 1, 4, INFINITY);
        fault_judge(&checks, &arena, &runs, 20, 1);
        check_level(&checks, "influence", ISO_LEVEL_OK);
        iso_runs_release(&runs);
        iso_arena_release(&arena);
    }
}

/* FLOPs as counted miss the nominal budget by up to 0.1 %: r = 1 still stands beside looped runs.
 */
static void test_counted_budgets(void **state)
{
    (void)state;
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    struct iso_rng rng = {1, 2, 3};
    fault_study(&runs, &faults[0], 2);
    for (size_t i = 0; i < runs.n; i++)
        runs.at[i].budget *= 1 + 0.001 * (2 * iso_rng_uniform(&rng) - 1);
    iso_runs_sort(&runs);
    fault_judge(&checks, &arena, &runs, 20, 1);
    check_level(&checks, "anchor", ISO_LEVEL_OK);
    assert_non_null(strstr(iso_checks_find(&checks, "anchor")->message, "6 of 6 budgets"));
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

/* Exact losses: no test may take rounding for a fault. */
static void test_exact_law(void **state)
{
    (void)state;
    const struct synth s = {.law = fault_truth};
    struct iso_runs runs;
    struct iso_arena arena = {0};
    struct iso_checks checks;
    synth_runs(&runs, &s);
    fault_judge(&checks, &arena, &runs, 20, 1);
    assert_int_equal(checks.trust, ISO_TRUST_GOOD);
    iso_runs_release(&runs);
    iso_arena_release(&arena);
}

/* With nothing determined, no sentence says where phi lies against 0 and 1; without resampling,
 * the other checks remain. */
static void test_words_of_undetermined(void **state)
{
    (void)state;
    struct iso_analysis_options o = iso_analysis_defaults();
    struct iso_runs runs;
    struct iso_analysis analysis;
    struct iso_str verdict = {0}, headline = {0};
    o.fit.starts = 20;
    o.resamples = 0;
    const struct fault blown_up = {"", fault_blown_up, "", ISO_LEVEL_FAIL, 0, 0};
    fault_study(&runs, &blown_up, 1);
    assert_int_equal(iso_analysis_run(&analysis, &runs, &o, NULL), ISO_OK);
    iso_analysis_write_verdict(&verdict, &analysis);
    iso_analysis_write_headline(&headline, &analysis, false);
    assert_string_equal(headline.text, "phi is not determined   trust: undetermined");
    assert_non_null(strstr(verdict.text, "These runs do not determine φ (diverged"));
    assert_null(strstr(verdict.text, "φ = 0"));
    assert_null(strstr(verdict.text, "φ = 1"));
    assert_null(strstr(verdict.text, "worth"));
    iso_str_release(&verdict);
    iso_str_release(&headline);
    iso_analysis_release(&analysis);
    iso_runs_release(&runs);
}

/* Points of F from tables of the distribution. */
static void test_f_point(void **state)
{
    (void)state;
    assert_near(iso_f_point(0.05, 1, 10), 4.9646, 1e-4);
    assert_near(iso_f_point(0.01, 2, 16), 6.2262, 1e-4);
    assert_near(iso_f_point(0.005, 1, 17), 10.384, 1e-3);
}

/* Appends a text with φ for phi, as the pages write it. */
static void put_greek(struct iso_str *out, const char *text)
{
    while (*text) {
        const bool phi = iso_str_starts(text, "phi");
        iso_str_append(out, phi ? "φ" : text, phi ? strlen("φ") : 1);
        text += phi ? 3 : 1;
    }
}

/* docs/fitting.md has the rows of the table: name, statistic, threshold with its reason. */
static void test_documented(void **state)
{
    (void)state;
    struct iso_str page = {0}, row = {0};
    assert_int_equal(iso_file_read(&page, "docs/fitting.md", NULL), ISO_OK);
    for (const struct iso_check *check = iso_check_table; check->name; check++) {
        iso_str_clear(&row);
        iso_str_printf(&row, "\n| `%s` | ", check->name);
        put_greek(&row, check->statistic);
        iso_str_puts(&row, " | ");
        put_greek(&row, check->reason);
        iso_str_puts(&row, " |\n");
        if (!strstr(page.text, row.text))
            fail_msg("docs/fitting.md lacks%s", row.text);
    }
    iso_str_release(&page);
    iso_str_release(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_word),
        cmocka_unit_test(test_shipped_tables),
        cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_perplexity),
        cmocka_unit_test(test_words_of_findings),
        cmocka_unit_test(test_flops_column),
        cmocka_unit_test(test_flops_of_small_models),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_two_faults),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_laws_without_phi),
        cmocka_unit_test(test_influence_keeps_the_anchor),
        cmocka_unit_test(test_counted_budgets),
        cmocka_unit_test(test_exact_law),
        cmocka_unit_test(test_words_of_undetermined),
        cmocka_unit_test(test_f_point),
        cmocka_unit_test(test_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
