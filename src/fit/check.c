/* The table of checks: see check.h. */
#include "fit/check_input.h"

#include <math.h>

const struct iso_check iso_check_table[] = {
    {
        .name = "anchor",
        .statistic = "share of the budgets with looped runs that have no run with r = 1",
        .reason = "above 0.5; fails at 1, and with one budget or one r: phi compares looped runs "
                  "with plain ones",
        .advice = "add runs with r = 1 at every budget of the looped runs, two budgets at least",
        .phi_only = true,
        .may_fail = true,
        .run = iso_check_anchor,
    },
    {
        .name = "flops",
        .statistic =
            "factor by which budget / tokens lies outside what attention, output layer and "
            "truncation allow at that size; exponent of FLOPs per token in the size",
        .reason =
            "above 1, and fails at 5 % of the runs: wrong units are off by 1,000; fails above "
            "1.05: swapped columns have the inverse exponent, and at most 1 is possible",
        .advice = "check the units of budget and tokens and the order of the columns",
        .may_fail = true,
        .run = iso_check_flops,
    },
    {
        .name = "diverged",
        .statistic =
            "runs with a loss of ln(vocab) or more (without a column vocab: twice the lower "
            "quartile of their budget or more); the median loss",
        .reason =
            "above 0: a run that learnt beats guessing; fails at 5 % of the runs, more than the "
            "Huber loss tolerates, and with a median above ln(262144) = 12.5: perplexity",
        .advice = "give losses in nats; leave out blown-up runs (status diverged), or train them "
                  "again at a lower rate",
        .may_fail = true,
        .run = iso_check_diverged,
    },
    {
        .name = "one_data",
        .statistic = "runs on other data (data_checksum) or with another vocab than the first",
        .reason = "above 0: losses on other text, or per other tokens, do not compare",
        .advice = "fit the runs of each packed data set alone",
        .run = iso_check_one_data,
    },
    {
        .name = "bounds",
        .statistic = "parameters and ends of phi's interval on the edge of the range searched",
        .reason = "above 0, and fails for phi: the edge is not a measurement; fails where the term "
                  "of the parameters changes the loss by less than 1e-5 of it",
        .advice = "add budgets or sizes: these runs leave a direction of the law open",
        .may_fail = true,
        .reads_refits = true,
        .run = iso_check_bounds,
    },
    {
        .name = "heavy_tail",
        .statistic = "distance of the interval's ends from the median refit, relative to a normal "
                     "law with the same quartiles",
        .reason =
            "above 2.5: one clean study in 800; fails above 5, or with 1 % of the refits on the "
            "bound of phi: the ends are luck",
        .advice = "add cells: some resamples hold too few to determine φ; look at the profile",
        .phi_only = true,
        .may_fail = true,
        .reads_refits = true,
        .run = iso_check_heavy_tail,
    },
    {
        .name = "one_phi",
        .statistic = "F test of a phi for each r against one phi, on the means of the cells",
        .reason = "above the 0.5 % point of F: one clean study in 200",
        .advice = "tune the rates for each r, look at φ per r, and compare the laws",
        .phi_only = true,
        .run = iso_check_one_phi,
    },
    {
        .name = "offset",
        .statistic = "F test of a step in ln L between r = 1 and looped runs, likewise",
        .reason = "above the 0.5 % point of F: one clean study in 200",
        .advice =
            "tune r = 1 and looped runs with equal care, on the same data; an unshared control "
            "(share: false) shows how much of the step the looped graph itself causes",
        .phi_only = true,
        .run = iso_check_offset,
    },
    {
        .name = "drift",
        .statistic = "F test of a phi that changes with the logarithm of the budget, likewise",
        .reason = "above the 0.5 % point of F: one clean study in 200",
        .advice = "give φ for a range of budgets, and do not extrapolate it",
        .phi_only = true,
        .run = iso_check_drift,
    },
    {
        .name = "cell_noise",
        .statistic = "error that the runs of a cell share, over their scatter",
        .reason = "above 2.5: clean studies whose cells share as much noise as runs have reach "
                  "1.8; rate noise of 0.03 nats gives 6",
        .advice = "sweep the rates again in some cells: one rate may not suit them all",
        .phi_only = true,
        .run = iso_check_cell_noise,
    },
    {
        .name = "noise",
        .statistic =
            "F test of the law's misses inside the cells against the spread of repeated seeds",
        .reason = "above the 0.5 % point of F: one clean study in 200",
        .advice = "narrow the range of sizes: the law does not hold as finely as seeds repeat",
        .run = iso_check_noise,
    },
    {
        .name = "outliers",
        .statistic = "distance of the farthest run from the law, in robust standard deviations",
        .reason = "above 6: clean studies reach 5.1",
        .advice = "look at these rows: a wrong loss, or a run that went wrong",
        .run = iso_check_outliers,
    },
    {
        .name = "bracketing",
        .statistic = "factor by which the law's optimal size lies outside the sizes of its cell",
        .reason = "above 1.5: clean studies on the paper's grid reach 1.25",
        .advice = "add sizes on the side of the optimum",
        .run = iso_check_bracketing,
    },
    {
        .name = "influence",
        .statistic = "largest change of phi when a budget, an r above 1 or a cell is left out",
        .reason = "above 0.2, the gain of the best known recipe: clean studies reach 0.07",
        .advice = "add runs beside the part that carries the result",
        .phi_only = true,
        .run = iso_check_influence,
    },
    {
        .name = "cells",
        .statistic = "cells missing for a test of one more parameter with 3 degrees of freedom; "
                     "budgets that scatter within a cell",
        .reason = "above 0: with fewer cells the tests see nothing",
        .advice = "add budgets or values of r, and give the runs of a cell one nominal budget",
        .phi_only = true,
        .run = iso_check_cells,
    },
    {0},
};

const char *iso_level_name(enum iso_level level)
{
    static const char *const names[] = {"ok", "caution", "fail"};
    return names[level];
}

const char *iso_trust_name(enum iso_trust trust)
{
    static const char *const names[] = {"good", "caution", "undetermined"};
    return names[trust];
}

static enum iso_trust trust_of(const struct iso_checks *checks)
{
    enum iso_level worst = ISO_LEVEL_OK;
    for (size_t i = 0; i < checks->n; i++)
        worst = checks->at[i].level > worst ? checks->at[i].level : worst;
    static const enum iso_trust word[] = {
        [ISO_LEVEL_OK] = ISO_TRUST_GOOD,
        [ISO_LEVEL_CAUTION] = ISO_TRUST_CAUTION,
        [ISO_LEVEL_FAIL] = ISO_TRUST_UNDETERMINED,
    };
    return word[worst];
}

void iso_checks_run(struct iso_checks *out, struct iso_arena *arena, const struct iso_runs *runs,
                    const struct iso_fit *fit, const struct iso_fit_options *options,
                    const struct iso_intervals *intervals)
{
    struct iso_check_input in;
    *out = (struct iso_checks){0};
    iso_check_input_init(&in, arena, runs, fit, options, intervals);
    const bool has_phi = iso_fit_phi_is_free(fit);
    for (const struct iso_check *check = iso_check_table; check->name; check++) {
        if (check->phi_only && !has_phi)
            continue;
        ISO_ASSERT(out->n < ISO_MAX_CHECKS);
        struct iso_finding *found = &out->at[out->n++];
        *found = (struct iso_finding){.check = check, .value = NAN, .threshold = NAN};
        check->run(found, &in);
        ISO_ASSERT(found->message && (check->may_fail || found->level != ISO_LEVEL_FAIL));
    }
    out->trust = trust_of(out);
    out->resampled = !has_phi || (intervals && intervals->n_bootstraps > 0);
    iso_check_input_release(&in);
}

const struct iso_finding *iso_checks_find(const struct iso_checks *checks, const char *name)
{
    for (size_t i = 0; i < checks->n; i++)
        if (iso_str_eq(checks->at[i].check->name, name))
            return &checks->at[i];
    return NULL;
}

const struct iso_finding *iso_checks_worst(const struct iso_checks *checks)
{
    const struct iso_finding *worst = &checks->at[0];
    for (size_t i = 1; i < checks->n; i++)
        if (checks->at[i].level > worst->level)
            worst = &checks->at[i];
    return worst;
}

void iso_finding_write_json(struct iso_json_out *w, const struct iso_finding *found,
                            const char *recipe)
{
    iso_json_begin(w, NULL, '{');
    if (recipe)
        iso_json_put_string(w, "recipe", recipe);
    iso_json_put_string(w, "name", found->check->name);
    iso_json_put_string(w, "level", iso_level_name(found->level));
    iso_json_put_number(w, "value", found->value);
    iso_json_put_number(w, "threshold", found->threshold);
    iso_json_put_string(w, "message", found->message);
    iso_json_put_string(w, "advice", found->check->advice);
    iso_json_end(w, '}');
}

static bool is_unchecked(const struct iso_checks *checks, size_t i)
{
    return !checks->resampled && checks->at[i].check->reads_refits;
}

void iso_checks_write_json(struct iso_json_out *w, const struct iso_checks *checks)
{
    iso_json_put_string(w, "trust", iso_trust_name(checks->trust));
    iso_json_begin(w, "checks", '[');
    for (size_t i = 0; i < checks->n; i++)
        iso_finding_write_json(w, &checks->at[i], NULL);
    iso_json_end(w, ']');
    iso_checks_put_unchecked(w, checks);
}

void iso_checks_put_unchecked(struct iso_json_out *w, const struct iso_checks *checks)
{
    iso_json_begin(w, "unchecked", '[');
    for (size_t i = 0; i < checks->n; i++)
        if (is_unchecked(checks, i))
            iso_json_put_string(w, NULL, checks->at[i].check->name);
    iso_json_end(w, ']');
}

void iso_checks_write_unchecked(struct iso_str *out, const struct iso_checks *checks)
{
    const char *before = "";
    for (size_t i = 0; i < checks->n; i++)
        if (is_unchecked(checks, i)) {
            iso_str_printf(out, "%s%s", before, checks->at[i].check->name);
            before = ", ";
        }
}

void iso_finding_write(struct iso_str *out, const struct iso_finding *found, bool colour)
{
    static const char *const words[] = {"Passed", "Caution", "Fail"};
    iso_str_printf(out, colour ? "\033[1m%s\033[0m, %s: %s." : "%s, %s: %s.", words[found->level],
                   found->check->name, found->message);
    if (found->level != ISO_LEVEL_OK)
        iso_str_printf(out, " What to do: %s.", found->check->advice);
}

void iso_checks_write_text(struct iso_str *out, const struct iso_checks *checks, bool colour)
{
    struct iso_str unchecked = {0};
    iso_checks_write_unchecked(&unchecked, checks);
    if (checks->trust == ISO_TRUST_GOOD)
        iso_str_printf(
            out, unchecked.len ? "The checks that were made passed.\n" : "All %zu checks passed.\n",
            checks->n);
    for (int level = ISO_LEVEL_FAIL; level > ISO_LEVEL_OK; level--)
        for (size_t i = 0; i < checks->n; i++)
            if (checks->at[i].level == (enum iso_level)level) {
                iso_finding_write(out, &checks->at[i], colour);
                iso_str_putc(out, '\n');
            }
    if (unchecked.len && checks->trust != ISO_TRUST_UNDETERMINED)
        iso_str_printf(out, "Not checked to the end, because nothing was resampled: %s.\n",
                       unchecked.text);
    iso_str_release(&unchecked);
}
