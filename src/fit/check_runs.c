/* Is the table what it should be?  Checks of single runs and columns. */
#include "fit/check_input.h"

#include "fit/stats.h"

#include <math.h>
#include <stdlib.h>

/* Up to this share of the runs a fault is a row's, which the Huber loss bears; above it, the
 * table's. */
static const double few = 0.05;

/* A list of rows for a message: the first three by name. */
struct rows {
    size_t n;
    const char *text;
};

static void add_row(struct rows *rows, const struct iso_check_input *in, const struct iso_run *run)
{
    if (rows->n == 3)
        rows->text = iso_arena_printf(in->arena, "%s, ...", rows->text);
    if (rows->n++ >= 3)
        return;
    const char *before = rows->n == 1 ? "" : iso_arena_printf(in->arena, "%s, ", rows->text);
    const char *name =
        *run->id ? run->id : iso_arena_printf(in->arena, "%s:%d", run->file, run->line);
    rows->text = iso_arena_printf(in->arena, "%s%s (loss %.4g)", before, name, run->loss);
}

/* Caution with a few bad rows, fail with more, at a value that counts them. */
static void judge_rows(struct iso_finding *out, const struct iso_check_input *in, size_t n_bad)
{
    iso_finding_set(out, (double)n_bad, 0);
    if ((double)n_bad > few * (double)in->runs->n)
        out->level = ISO_LEVEL_FAIL;
}

/* --- outliers ----------------------------------------------------------------------------------
 */

static const double far_deviations = 6;

static bool is_near(const struct iso_run *run, const void *ctx)
{
    const struct iso_check_input *in = ctx;
    return fabs(log(run->loss / iso_fit_loss(in->fit, run))) <= far_deviations * in->deviation;
}

/* "phi would be 0.461", or why there is none. */
static const char *without_outliers(const struct iso_check_input *in)
{
    struct iso_runs rest;
    struct iso_fit fit;
    iso_runs_filter(&rest, in->runs, is_near, in);
    const bool fits = iso_fit_run(&fit, &rest, &in->quick, NULL) == ISO_OK;
    iso_runs_release(&rest);
    if (!fits)
        return "too few runs remain for a fit without them";
    return isnan(fit.phi) ? iso_arena_printf(in->arena, "without them, R2 would be %.4f", fit.r2)
                          : iso_arena_printf(in->arena, "without them, φ would be %.3f and R2 %.4f",
                                             fit.phi, fit.r2);
}

void iso_check_outliers(struct iso_finding *out, const struct iso_check_input *in)
{
    struct rows rows = {0};
    double worst = 0;
    for (size_t i = 0; i < in->runs->n; i++) {
        const double off = fabs(in->residual[i]) / in->deviation;
        worst = fmax(worst, off);
        if (off > far_deviations)
            add_row(&rows, in, &in->runs->at[i]);
    }
    iso_finding_set(out, worst, far_deviations);
    if (rows.n == 0)
        out->message = iso_arena_printf(
            in->arena, "the run farthest from the law is %.1f robust deviations off", worst);
    else
        out->message = iso_arena_printf(
            in->arena, "%zu %s more than %g robust deviations from the law: %s; %s", rows.n,
            rows.n == 1 ? "run lies" : "runs lie", far_deviations, rows.text, without_outliers(in));
}

/* --- anchor ------------------------------------------------------------------------------------
 */

static bool has_run(const struct iso_runs *runs, double budget, bool looped)
{
    for (size_t i = 0; i < runs->n; i++)
        if (iso_same_budget(runs->at[i].budget, budget) && (runs->at[i].r > 1) == looped)
            return true;
    return false;
}

/* phi compares looped runs with plain ones of other sizes. */
void iso_check_anchor(struct iso_finding *out, const struct iso_check_input *in)
{
    const char *why = iso_runs_undetermined(in->runs);
    double *budget;
    const size_t n = iso_runs_budgets(&budget, in->arena, in->runs);
    size_t n_looped = 0, n_bare = 0;
    double nominal = 0;
    for (size_t i = 0; i < n; i++) {
        if (iso_same_budget(nominal, budget[i]))
            continue;
        nominal = budget[i];
        if (has_run(in->runs, nominal, true)) {
            n_looped++;
            n_bare += !has_run(in->runs, nominal, false);
        }
    }
    iso_finding_set(out, n_looped ? (double)n_bare / (double)n_looped : 0, 0.5);
    if (!why)
        why = iso_runs_unanchored(in->runs);
    if (why)
        out->level = ISO_LEVEL_FAIL;
    out->message =
        why ? why
            : iso_arena_printf(
                  in->arena,
                  "%zu of %zu budgets with looped runs have runs with r = 1 to compare with",
                  n_looped - n_bare, n_looped);
}

/* The largest sequence and vocabulary that a table is believed to have when it does not say. */
static const double most_context = 8192, most_vocab = 262144;

/* --- flops -------------------------------------------------------------------------------------
 */

static double executed(const struct iso_run *run)
{
    return run->n_once + run->r * (run->n_rec + run->n_inject);
}

/* The least a run can cost: backward through one recurrence only, and 10 % for whole steps. */
static double least_flops(const struct iso_run *run)
{
    return 0.9 * (6 * run->n_once + (2 * (run->r - 1) + 6) * (run->n_rec + run->n_inject));
}

/* The most: attention costs 12 d T per layer, the output layer 6 d V, and a layer has 12 d^2
 * parameters.  Where the table has no width, 100 layers are assumed, which makes it small. */
static double most_flops(const struct iso_run *run)
{
    const double n = executed(run);
    const double vocab = run->vocab > 0 ? run->vocab : most_vocab;
    const double length = run->seq_len > 0 ? run->seq_len : most_context;
    const double width = run->d_model > 0 ? run->d_model : sqrt(n / (12 * 100));
    const double layers = fmax(run->d_model > 0 ? n / (12 * width * width) : 100, 1);
    const double context = 12 * width * length * layers, output = 6 * width * vocab;
    return 1.1 * (6 * n + context + output);
}

/* Training FLOPs per token from the budget, against what the columns allow: 1 is inside. */
static double flops_factor(const struct iso_run *run)
{
    const double per_token = run->budget / run->tokens;
    double factor = fmax(per_token / most_flops(run), least_flops(run) / per_token);
    if (run->flops_per_token > 0) { /* 1.25: small studies train few whole steps */
        const double said = per_token / run->flops_per_token;
        factor = fmax(factor, fmax(said, 1 / said) / 1.25);
    }
    return fmax(1, factor);
}

/* Slope of ln(FLOPs per token) in ln(parameters executed) over the runs of one r; NaN when their
 * sizes are too close.  A stack has at most 1 (all in the blocks) and at least 1/2 (all in
 * attention and output layer); with sizes and tokens swapped it is the inverse. */
static double flops_slope(const struct iso_runs *runs, double r)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, n = 0;
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        if (run->r != r)
            continue;
        const double x = log(executed(run)), y = log(run->budget / run->tokens);
        sx += x, sy += y, sxx += x * x, sxy += x * y, n++;
    }
    const double spread = sxx - sx * sx / n;
    return n >= 3 && spread > 0.1 ? (sxy - sx * sy / n) / spread : NAN;
}

static const double steepest = 1.05;

void iso_check_flops(struct iso_finding *out, const struct iso_check_input *in)
{
    struct rows rows = {0};
    double worst = 1, slope = 0, *r;
    for (size_t i = 0; i < in->runs->n; i++) {
        const double factor = flops_factor(&in->runs->at[i]);
        worst = fmax(worst, factor);
        if (factor > 1)
            add_row(&rows, in, &in->runs->at[i]);
    }
    const size_t n_r = iso_runs_recurrences(&r, in->arena, in->runs);
    for (size_t i = 0; i < n_r; i++)
        slope = fmax(slope, flops_slope(in->runs, r[i])); /* fmax ignores NaN */
    judge_rows(out, in, rows.n);
    if (out->level != ISO_LEVEL_FAIL && slope > steepest) {
        iso_finding_set(out, slope, steepest);
        out->level = ISO_LEVEL_FAIL;
        out->message = iso_arena_printf(
            in->arena,
            "FLOPs per token grow faster than parameters (exponent %.2f, at most 1 is possible)",
            slope);
        return;
    }
    out->value = worst;
    out->threshold = 1;
    out->message =
        rows.n == 0
            ? "budget, sizes and tokens agree"
            : iso_arena_printf(in->arena,
                               "budget / tokens is not what a model of that size costs: %zu of %zu "
                               "runs lie outside what attention, output layer and truncation "
                               "explain, by a factor of up to %.3g: %s",
                               rows.n, in->runs->n, worst, rows.text);
}

/* --- diverged ----------------------------------------------------------------------------------
 */

/* Losses of one budget differ by less than this factor, whatever the size and r. */
static const double far_factor = 2;

/* The loss that this share of the runs of a budget is below; of all runs when it is NaN. */
static double loss_below(const struct iso_runs *runs, double budget, double share)
{
    double *loss = ISO_NEW_N(double, runs->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        if (isnan(budget) || runs->at[i].budget == budget)
            loss[n++] = runs->at[i].loss;
    iso_sort_doubles(loss, n);
    const double below = iso_percentile(loss, n, share);
    free(loss);
    return below;
}

/* Half of the losses are worse than guessing among any vocabulary: they are something else. */
static bool is_perplexity(struct iso_finding *out, const struct iso_check_input *in)
{
    const double median = loss_below(in->runs, NAN, 0.5), most = log(most_vocab);
    if (median <= most)
        return false;
    iso_finding_set(out, median, most);
    out->level = ISO_LEVEL_FAIL;
    out->message = iso_arena_printf(
        in->arena,
        "the median loss of %.4g is above %.1f nats, what guessing among %g tokens costs: "
        "perplexity? Its logarithm is the loss",
        median, most, most_vocab);
    return true;
}

void iso_check_diverged(struct iso_finding *out, const struct iso_check_input *in)
{
    struct rows rows = {0};
    double usual = NAN, budget = NAN;
    if (is_perplexity(out, in))
        return;
    for (size_t i = 0; i < in->runs->n; i++) {
        const struct iso_run *run = &in->runs->at[i];
        if (run->budget != budget)
            usual = loss_below(in->runs, budget = run->budget, 0.25);
        if (run->loss >= (run->vocab > 1 ? log(run->vocab) : far_factor * usual))
            add_row(&rows, in, run);
    }
    judge_rows(out, in, rows.n);
    if (rows.n == 0)
        out->message = "every run learnt";
    else
        out->message = iso_arena_printf(
            in->arena,
            "%zu of %zu runs did not learn: their loss is no better than guessing or far above the "
            "others of their budget: %s",
            rows.n, in->runs->n, rows.text);
}

/* --- one_data ----------------------------------------------------------------------------------
 */

static bool says_data(const struct iso_run *run)
{
    return run->data && *run->data;
}

void iso_check_one_data(struct iso_finding *out, const struct iso_check_input *in)
{
    const struct iso_runs *runs = in->runs;
    const char *data = runs->data && *runs->data ? runs->data : NULL;
    double vocab = NAN;
    struct rows rows = {0};
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        if (!data && says_data(run))
            data = run->data;
        if (isnan(vocab))
            vocab = run->vocab;
        if ((says_data(run) && !iso_str_eq(run->data, data)) ||
            (run->vocab > 0 && run->vocab != vocab))
            add_row(&rows, in, run);
    }
    iso_finding_set(out, (double)rows.n, 0);
    if (rows.n)
        out->message = iso_arena_printf(
            in->arena, "%zu of %zu runs are of other data or another vocabulary than %s: %s",
            rows.n, runs->n, runs->data ? "the base" : "the first", rows.text);
    else
        out->message = data ? "all runs are of one data set" : "the runs do not name their data";
}
