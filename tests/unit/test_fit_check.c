/* fit: checks.  Each fault of fit_faults.h is found by the check that is meant for it, at its
 * level; clean studies pass; the shipped tables get the word that docs/fitting.md says. */
#include "test.h"

#include "base/file.h"
#include "fit/analysis.h"
#include "fit/stats.h"
#include "fit_faults.h"

#include <string.h>

/* What the tests of a study share; each leaves it empty. */
struct study {
    const char *name; /* for messages */
    struct iso_runs runs;
    struct iso_arena arena;
    struct iso_checks checks;
};

static int release(void **state)
{
    struct study *s = *state;
    iso_runs_release(&s->runs);
    iso_arena_release(&s->arena);
    return 0;
}

static int set_up(void **state)
{
    static struct study study;
    *state = &study;
    return 0;
}

/* Empties it for the next study of a test. */
static struct study *start(void **state, const char *name)
{
    struct study *s = *state;
    release(state);
    s->name = name;
    return s;
}

static struct study *read_fault(void **state, const struct fault *fault, uint64_t seed)
{
    struct study *s = start(state, fault->name);
    fault_study(&s->runs, fault, seed);
    return s;
}

static struct study *read_clean(void **state, uint64_t seed)
{
    return read_fault(state, &faults[0], seed);
}

static struct study *read_synth(void **state, const struct synth *synth)
{
    struct study *s = start(state, "synthetic");
    synth_runs(&s->runs, synth);
    return s;
}

/* With a column more, of one value. */
static struct study *read_synth_with(void **state, const struct synth *synth, const char *column,
                                     const char *value)
{
    struct study *s = start(state, value);
    struct iso_str csv = {0}, more = {0};
    synth_rows(&csv, synth);
    for (char *line = strtok(csv.text, "\n"); line; line = strtok(NULL, "\n"))
        iso_str_printf(&more, "%s,%s\n", line, more.len ? value : column);
    if (iso_runs_add(&s->runs, more.text, more.len, "table", NULL, NULL) != ISO_OK ||
        iso_runs_finish(&s->runs, NULL) != ISO_OK)
        abort();
    iso_str_release(&csv);
    iso_str_release(&more);
    return s;
}

static struct study *read_table(void **state, const char *path)
{
    struct study *s = start(state, path);
    struct iso_err err;
    if (iso_runs_read(&s->runs, &path, 1, NULL, &err) != ISO_OK)
        fail_msg("%s", err.msg);
    return s;
}

static void judge(struct study *s)
{
    fault_judge(&s->checks, &s->arena, &s->runs, 20, 1);
}

/* The check is at this level and says these words. */
static void expect(const struct study *s, const char *check, enum iso_level level,
                   const char *words)
{
    const struct iso_finding *found = iso_checks_find(&s->checks, check);
    if (!found)
        fail_msg("%s: %s was left out", s->name, check);
    else if (found->level != level || !strstr(found->message, words))
        fail_msg("%s: %s is %s, not %s with \"%s\": %s", s->name, check,
                 iso_level_name(found->level), iso_level_name(level), words, found->message);
}

static void expect_trust(const struct study *s, enum iso_trust trust)
{
    const struct iso_finding *worst = iso_checks_worst(&s->checks);
    if (s->checks.trust != trust)
        fail_msg("%s: trust %s, not %s; %s: %s", s->name, iso_trust_name(s->checks.trust),
                 iso_trust_name(trust), worst->check->name, worst->message);
}

static void test_faults(void **state)
{
    static const enum iso_trust words[] = {ISO_TRUST_GOOD, ISO_TRUST_CAUTION,
                                           ISO_TRUST_UNDETERMINED};
    for (size_t i = 0; i < N_FAULTS; i++) {
        struct study *s = read_fault(state, &faults[i], 1000);
        judge(s);
        expect(s, faults[i].check ? faults[i].check : iso_checks_worst(&s->checks)->check->name,
               faults[i].level, "");
        expect_trust(s, words[faults[i].level]);
    }
}

/* The worst level decides the word. */
static void test_word(void **state)
{
    const struct fault mistyped = {"mistyped", fault_mistyped, "", ISO_LEVEL_CAUTION, 0, 0};
    struct study *s = read_fault(state, &mistyped, 3);
    judge(s);
    assert_string_equal(iso_trust_name(s->checks.trust), "caution");
    assert_int_equal(iso_checks_worst(&s->checks)->level, ISO_LEVEL_CAUTION);

    /* The row is named, with the fit without it, which is the clean study's. */
    const struct iso_finding *outliers = iso_checks_find(&s->checks, "outliers");
    size_t row = 0;
    while (s->runs.at[row].loss != 26.5)
        row++;
    char where[64];
    snprintf(where, sizeof where, "synthetic:%d (loss 26.5)", s->runs.at[row].line);
    assert_non_null(strstr(outliers->message, where));
    assert_non_null(strstr(outliers->message, "without them, φ would be 0.4"));
    assert_true(outliers->value > 6 && outliers->threshold == 6);
}

/* As docs/fitting.md says of them. */
static void test_shipped_tables(void **state)
{
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
        struct study *s = read_table(state, tables[i].path);
        size_t n_cautions = 0, n_expected = 0;
        judge(s);
        expect_trust(s, ISO_TRUST_CAUTION);
        for (; n_expected < 5 && tables[i].caution[n_expected]; n_expected++)
            expect(s, tables[i].caution[n_expected], ISO_LEVEL_CAUTION, "");
        for (size_t k = 0; k < s->checks.n; k++)
            n_cautions += s->checks.at[k].level != ISO_LEVEL_OK;
        if (n_cautions != n_expected)
            fail_msg("%s: %zu cautions, not %zu", s->name, n_cautions, n_expected);
    }
}

/* The vocabulary says what guessing gives: ln 16 = 2.77 lies among these losses, ln 32000 not. */
static void test_vocabulary(void **state)
{
    const struct synth synth = {.law = fault_truth, .run_noise = 1e-3, .seed = 5};
    struct study *s = read_synth_with(state, &synth, "vocab", "32000");
    judge(s);
    expect(s, "diverged", ISO_LEVEL_OK, "");
    read_synth_with(state, &synth, "vocab", "16");
    judge(s);
    expect(s, "diverged", ISO_LEVEL_FAIL, "");
    expect_trust(s, ISO_TRUST_UNDETERMINED);
}

/* Perplexities in the column of losses: no vocabulary is so large that guessing costs as much. */
static void test_perplexity(void **state)
{
    struct study *s = read_clean(state, 2);
    for (size_t i = 0; i < s->runs.n; i++)
        s->runs.at[i].loss = exp(s->runs.at[i].loss);
    judge(s);
    expect(s, "diverged", ISO_LEVEL_FAIL, "perplexity?");
}

/* A finding advises no law that may be the fitted one, and absence of proof is worded as such. */
static void test_words_of_findings(void **state)
{
    struct study *s = read_clean(state, 2);
    judge(s);
    assert_null(strstr(iso_checks_find(&s->checks, "one_phi")->check->advice, "saturating"));
    assert_true(iso_str_starts(iso_checks_find(&s->checks, "offset")->message, "no step seen"));
}

/* FLOPs per token that the table gives itself must agree with budget / tokens. */
static void test_flops_column(void **state)
{
    const struct synth synth = {.law = fault_truth, .run_noise = 1e-3, .seed = 5, .n_budgets = 4};
    struct study *s = read_synth_with(state, &synth, "flops_per_token", "1e9");
    judge(s);
    expect(s, "flops", ISO_LEVEL_FAIL, "");
}

/* Small models, where attention may cost anything: swapped columns show in the exponent alone. */
static void test_flops_of_small_models(void **state)
{
    struct study *s = read_table(state, "docs/results/pocket/base.csv");
    for (size_t i = 0; i < s->runs.n; i++)
        s->runs.at[i].flops_per_token = s->runs.at[i].d_model = NAN;
    judge(s);
    expect(s, "flops", ISO_LEVEL_OK, "");
    fault_swapped(&s->runs, NULL);
    judge(s);
    expect(s, "flops", ISO_LEVEL_FAIL, "exponent");
}

/* Looped runs so bad that no phi describes them: it runs to the edge. */
static void test_bounds(void **state)
{
    struct study *s = read_clean(state, 2);
    for (size_t i = 0; i < s->runs.n; i++)
        s->runs.at[i].loss += s->runs.at[i].r > 1 ? 0.5 : 0;
    judge(s);
    expect(s, "bounds", ISO_LEVEL_FAIL, "φ lies at -3");
}

/* Losses that are all equal, or know nothing of the parameters. */
static void test_without_signal(void **state)
{
    struct study *s = read_clean(state, 2);
    for (size_t i = 0; i < s->runs.n; i++)
        s->runs.at[i].loss = 4;
    judge(s);
    expect(s, "anchor", ISO_LEVEL_FAIL, "all runs have one loss");
    expect_trust(s, ISO_TRUST_UNDETERMINED);
    read_clean(state, 2);
    for (size_t i = 0; i < s->runs.n; i++)
        s->runs.at[i].loss = 1.8 + 2000 * pow(s->runs.at[i].tokens, -0.35);
    judge(s);
    expect(s, "bounds", ISO_LEVEL_FAIL, "the loss does not depend on the parameters");
    expect_trust(s, ISO_TRUST_UNDETERMINED);
}

/* Losses on two texts, or per tokens of two tokenizers; in a variant, on another than the base's. A
 * table that says nothing of its data passes. */
static void test_two_data_sets(void **state)
{
    struct study *s = read_clean(state, 2);
    judge(s);
    expect(s, "one_data", ISO_LEVEL_OK, "do not name their data");
    for (size_t i = 0; i < s->runs.n; i++)
        s->runs.at[i].data = i == 0 ? "" : "1ebf";
    judge(s);
    expect(s, "one_data", ISO_LEVEL_OK, "all runs are of one data set");
    s->runs.data = "a287";
    judge(s);
    expect(s, "one_data", ISO_LEVEL_CAUTION, "than the base");
    s->runs.data = NULL;
    s->runs.at[5].data = "a287";
    judge(s);
    expect(s, "one_data", ISO_LEVEL_CAUTION, "1 of ");
    expect_trust(s, ISO_TRUST_CAUTION);
    s->runs.at[5].data = NULL;
    s->runs.at[5].vocab = 256;
    s->runs.at[7].vocab = 32000;
    judge(s);
    expect(s, "one_data", ISO_LEVEL_CAUTION, "1 of ");
}

/* One wrong row hides no other fault. */
static void test_two_faults(void **state)
{
    struct study *s = read_clean(state, 2);
    struct iso_rng rng = {1, 2, 3};
    fault_saturation(&s->runs, &rng);
    fault_mistyped(&s->runs, &rng);
    judge(s);
    expect(s, "outliers", ISO_LEVEL_CAUTION, "");
    expect(s, "one_phi", ISO_LEVEL_CAUTION, "");
}

/* Seeds: the law holds inside the cells whatever cells share, and does not when a size is off. */
static void test_noise(void **state)
{
    const struct synth synth = {
        .law = fault_truth, .run_noise = 2e-3, .cell_noise = 2e-3, .seed = 7, .repeats = 2};
    struct study *s = read_synth(state, &synth);
    judge(s);
    assert_true(iso_checks_find(&s->checks, "noise")->value > 0);
    expect(s, "noise", ISO_LEVEL_OK, "");
    for (size_t i = 0; i < s->runs.n; i++) /* narrow models do worse than the law says */
        s->runs.at[i].loss *= s->runs.at[i].d_model < 700 ? 1.01 : 1;
    judge(s);
    expect(s, "noise", ISO_LEVEL_CAUTION, "");
}

/* A run that all tests see as one cell each, without phi or with phi held fixed: what applies. */
static void test_laws_without_phi(void **state)
{
    struct study *s = read_table(state, "examples/chinchilla.csv");
    struct iso_fit fit;
    struct iso_fit_options o = iso_fit_defaults();
    o.law = iso_law_find("chinchilla");
    o.starts = 20;
    assert_int_equal(iso_fit_run(&fit, &s->runs, &o, NULL), ISO_OK);
    iso_checks_run(&s->checks, &s->arena, &s->runs, &fit, &o, NULL);
    assert_null(iso_checks_find(&s->checks, "one_phi"));
    assert_null(iso_checks_find(&s->checks, "anchor"));
    expect(s, "flops", ISO_LEVEL_OK, "");
    expect(s, "outliers", ISO_LEVEL_CAUTION, ""); /* its authors left out five runs */
}

/* Without r = 1, a study of r = 1, 2, 4 has two minima; which one a refit finds says nothing. */
static void test_influence_keeps_the_anchor(void **state)
{
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct study *s = read_clean(state, seed);
        fault_keep(&s->runs, 1, 4, INFINITY);
        judge(s);
        expect(s, "influence", ISO_LEVEL_OK, "");
    }
}

/* FLOPs as counted miss the nominal budget by up to 0.1 %: r = 1 still stands beside looped runs.
 */
static void test_counted_budgets(void **state)
{
    struct study *s = read_clean(state, 2);
    struct iso_rng rng = {1, 2, 3};
    for (size_t i = 0; i < s->runs.n; i++)
        s->runs.at[i].budget *= 1 + 0.001 * (2 * iso_rng_uniform(&rng) - 1);
    iso_runs_sort(&s->runs);
    judge(s);
    expect(s, "anchor", ISO_LEVEL_OK, "6 of 6 budgets");
}

/* Exact losses: no test may take rounding for a fault. */
static void test_exact_law(void **state)
{
    struct study *s = read_synth(state, &(struct synth){.law = fault_truth});
    judge(s);
    expect_trust(s, ISO_TRUST_GOOD);
}

/* With nothing determined, no sentence says where phi lies against 0 and 1; without resampling,
 * the other checks remain. */
static void test_words_of_undetermined(void **state)
{
    const struct fault blown_up = {"blown up", fault_blown_up, "", ISO_LEVEL_FAIL, 0, 0};
    struct study *s = read_fault(state, &blown_up, 1);
    struct iso_analysis_options o = iso_analysis_defaults();
    struct iso_analysis analysis;
    struct iso_str verdict = {0}, headline = {0};
    o.fit.starts = 20;
    o.resamples = 0;
    assert_int_equal(iso_analysis_run(&analysis, &s->runs, &o, NULL), ISO_OK);
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
#define STUDY_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, release)
    const struct CMUnitTest tests[] = {
        STUDY_TEST(test_faults),
        STUDY_TEST(test_word),
        STUDY_TEST(test_shipped_tables),
        STUDY_TEST(test_vocabulary),
        STUDY_TEST(test_perplexity),
        STUDY_TEST(test_words_of_findings),
        STUDY_TEST(test_flops_column),
        STUDY_TEST(test_flops_of_small_models),
        STUDY_TEST(test_bounds),
        STUDY_TEST(test_without_signal),
        STUDY_TEST(test_two_data_sets),
        STUDY_TEST(test_two_faults),
        STUDY_TEST(test_noise),
        STUDY_TEST(test_laws_without_phi),
        STUDY_TEST(test_influence_keeps_the_anchor),
        STUDY_TEST(test_counted_budgets),
        STUDY_TEST(test_exact_law),
        STUDY_TEST(test_words_of_undetermined),
        cmocka_unit_test(test_f_point),
        cmocka_unit_test(test_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
