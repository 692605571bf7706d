/* Does the law hold?  Tests of a richer law against the fitted one that allow for an error shared
 * by all runs of a (budget, r) cell.
 *
 * Near the fit, ln L is linear in the parameters, so a richer law is the fitted one's slopes with
 * columns added: a slope of phi for each r, a step for "looped at all", a slope of phi that grows
 * with the budget.  The tests see one number per cell, the mean of its residuals, weighted by its
 * runs: what the runs of a cell share is then part of the noise that the test measures itself by,
 * and F has its book distribution with independent noise and with shared noise alike.  (The
 * likelihood ratio over single runs raises a false alarm in one study of six when cells share as
 * much noise as runs have.)
 *
 * What is left inside the cells is tested where seeds repeat: iso_check_noise. */
#include "fit/check_input.h"

#include "fit/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A test raises a false alarm in one clean study of 200. */
static const double alarm = 0.005;
/* No variance is trusted to be smaller: a part of 1e-5 of the loss. */
static const double least_variance = 1e-10;

/* A matrix of `rows` by `cols` and one right-hand side. */
struct system {
    size_t rows, cols;
    double *x, *y;
};

static struct system system_new(size_t rows, size_t cols)
{
    return (struct system){rows, cols, ISO_NEW_N(double, 1 + rows * cols),
                           ISO_NEW_N(double, rows + 1)};
}

static void system_release(struct system *s)
{
    free(s->x);
    free(s->y);
}

static double dot(const struct system *s, size_t a, const double *y, size_t stride)
{
    double sum = 0;
    for (size_t i = 0; i < s->rows; i++)
        sum += s->x[i * s->cols + a] * y[i * stride];
    return sum;
}

/* Makes column k orthonormal to those before it, or 0 when they span it already; gives its length
 * before it became 1. */
static double orthonormal(struct system *s, size_t k)
{
    double *column = s->x + k;
    const double before = sqrt(dot(s, k, column, s->cols));
    for (int twice = 0; twice < 2; twice++)
        for (size_t a = 0; a < k; a++) {
            const double along = dot(s, a, column, s->cols);
            for (size_t i = 0; i < s->rows; i++)
                column[i * s->cols] -= along * s->x[i * s->cols + a];
        }
    const double after = sqrt(dot(s, k, column, s->cols));
    const bool spans = after > 1e-9 * before;
    for (size_t i = 0; i < s->rows; i++)
        column[i * s->cols] = spans ? column[i * s->cols] / after : 0;
    return spans ? after : 0;
}

struct split {
    double explained[2], left; /* sums of squares: by the first columns, by the others, neither */
    size_t rank[2];
    double last; /* least-squares coefficient of the last column */
};

/* Least squares of y on the columns, the first `n_first` before the others. */
static struct split explain(struct system *s, size_t n_first)
{
    struct split out = {0};
    for (size_t i = 0; i < s->rows; i++)
        out.left += s->y[i] * s->y[i];
    for (size_t k = 0; k < s->cols; k++) {
        const double length = orthonormal(s, k), along = dot(s, k, s->y, 1);
        out.explained[k >= n_first] += along * along;
        out.rank[k >= n_first] += length > 0;
        out.left = fmax(0, out.left - along * along);
        out.last = length > 0 ? along / length : 0;
    }
    return out;
}

/* Mean residual and mean slopes of the cells, each times the root of the cell's runs, and `extra`
 * columns [runs * n_extra]. */
static struct system cell_means(const struct iso_check_input *in, const double *extra,
                                size_t n_extra)
{
    const size_t n = in->n_slopes;
    struct system s = system_new(in->cells.n, n + n_extra);
    double *size = ISO_NEW_N(double, in->cells.n + 1);
    for (size_t i = 0; i < in->runs->n; i++) {
        const size_t c = in->cells.of_run[i];
        double *row = s.x + c * s.cols;
        size[c]++;
        s.y[c] += in->pulled[i];
        for (size_t k = 0; k < n; k++)
            row[k] += in->slope[i * n + k];
        for (size_t k = 0; k < n_extra; k++)
            row[n + k] += extra[i * n_extra + k];
    }
    for (size_t c = 0; c < s.rows; c++) {
        s.y[c] /= sqrt(size[c]);
        for (size_t k = 0; k < s.cols; k++)
            s.x[c * s.cols + k] /= sqrt(size[c]);
    }
    free(size);
    return s;
}

/* Residuals and slopes of the runs, each less its cell's mean. */
static struct system within_cells(const struct iso_check_input *in)
{
    const size_t n = in->n_slopes, n_cells = in->cells.n;
    struct system s = system_new(in->runs->n, n);
    double *mean = ISO_NEW_N(double, n_cells *(n + 2) + 1);
    for (size_t i = 0; i < s.rows; i++) {
        double *m = mean + in->cells.of_run[i] * (n + 2);
        for (size_t k = 0; k < n; k++)
            m[k] += in->slope[i * n + k];
        m[n] += in->pulled[i];
        m[n + 1]++;
    }
    for (size_t i = 0; i < s.rows; i++) {
        const double *m = mean + in->cells.of_run[i] * (n + 2);
        for (size_t k = 0; k < n; k++)
            s.x[i * n + k] = in->slope[i * n + k] - m[k] / m[n + 1];
        s.y[i] = in->pulled[i] - m[n] / m[n + 1];
    }
    free(mean);
    return s;
}

struct f_test {
    double f, df1, df2, p, critical;
    double coefficient; /* of the last column */
};

static struct f_test f_test(double squares1, double df1, double squares2, double df2)
{
    struct f_test t = {.df1 = df1, .df2 = df2};
    t.f = squares1 / df1 / fmax(least_variance, squares2 / df2);
    t.p = iso_f_tail(t.f, df1, df2);
    t.critical = iso_f_point(alarm, df1, df2);
    return t;
}

static const char *units(const struct iso_check_input *in)
{
    return in->runs->clustered ? "clusters" : "(budget, r) cells";
}

/* Whether there are cells enough for a test of one more parameter. */
void iso_check_cells(struct iso_finding *out, const struct iso_check_input *in)
{
    const size_t needed = in->n_slopes + 1 + ISO_LEAST_FREEDOM;
    iso_finding_set(out, fmax(0, (double)needed - (double)in->cells.n), 0);
    if (iso_runs_cells_scatter(in->runs)) {
        out->level = ISO_LEVEL_CAUTION;
        out->message = "budgets nearly coincide, but most (budget, r) cells hold one run, so the "
                       "interval is one over runs and too narrow when a cell's runs share an "
                       "error; round the column budget to its nominal values";
    } else if (out->level == ISO_LEVEL_OK) {
        out->message = iso_arena_printf(in->arena, "%zu %s test the law", in->cells.n, units(in));
    } else {
        out->message = iso_arena_printf(
            in->arena,
            "%zu %s are too few to test the law, which takes %zu: whether one φ holds for every r "
            "and budget is open",
            in->cells.n, units(in), needed);
    }
}

/* Tests added columns; false, with the finding's message set, when the table does not allow it. */
static bool test_columns(struct f_test *t, struct iso_finding *out,
                         const struct iso_check_input *in, const double *extra, size_t n_extra)
{
    struct system s = cell_means(in, extra, n_extra);
    const struct split split = explain(&s, in->n_slopes);
    system_release(&s);
    const size_t used = split.rank[0] + split.rank[1];
    if (in->cells.n < used + ISO_LEAST_FREEDOM) {
        iso_finding_untested(out, ISO_LEVEL_OK,
                             iso_arena_printf(in->arena, "not tested: too few %s", units(in)));
        return false;
    }
    if (split.rank[1] == 0) {
        iso_finding_untested(out, ISO_LEVEL_OK, "not tested: the law leaves no room for it");
        return false;
    }
    *t =
        f_test(split.explained[1], (double)split.rank[1], split.left, (double)(in->cells.n - used));
    t->coefficient = split.last;
    iso_finding_set(out, t->f, t->critical);
    return true;
}

static const char *f_text(const struct iso_check_input *in, const struct f_test *t)
{
    return iso_arena_printf(in->arena, "F(%g, %g) = %.1f, p = %.2g", t->df1, t->df2, t->f, t->p);
}

/* Columns for one_phi: the slope of phi at each looped r but the first. */
static double *phi_by_r(size_t *n_columns, const struct iso_check_input *in)
{
    double *r;
    size_t n_r = iso_runs_recurrences(&r, in->arena, in->runs), first = 0;
    while (first < n_r && r[first] <= 1)
        first++;
    *n_columns = n_r > first ? n_r - first - 1 : 0;
    double *extra = ISO_ARENA_NEW_N(in->arena, double, in->runs->n **n_columns + 1);
    for (size_t i = 0; i < in->runs->n; i++)
        for (size_t k = 0; k < *n_columns; k++)
            if (in->runs->at[i].r == r[first + 1 + k])
                extra[i * *n_columns + k] = in->phi_slope[i];
    return extra;
}

/* "0.390 at r = 2, 0.498 at r = 4", fitted freely. */
static const char *phis(const struct iso_check_input *in)
{
    struct iso_fit_options options = in->quick;
    struct iso_fit fit;
    options.law = &iso_law_phi_per_r;
    if (iso_fit_run(&fit, in->runs, &options, NULL) != ISO_OK)
        return "not determined";
    double *r;
    const size_t n_r = iso_runs_recurrences(&r, in->arena, in->runs);
    const char *text = "";
    for (size_t i = 0; i < n_r; i++)
        if (r[i] > 1)
            text = iso_arena_printf(in->arena, "%s%s%.3f at r = %g", text, *text ? ", " : "",
                                    iso_fit_phi(&fit, r[i]), r[i]);
    return text;
}

void iso_check_one_phi(struct iso_finding *out, const struct iso_check_input *in)
{
    struct f_test t;
    size_t n_columns;
    const double *extra = phi_by_r(&n_columns, in);
    if (n_columns == 0)
        iso_finding_untested(out, ISO_LEVEL_OK, "not tested: there is one looped r");
    else if (!test_columns(&t, out, in, extra, n_columns))
        return;
    else if (out->level == ISO_LEVEL_OK)
        out->message = iso_arena_printf(in->arena, "one φ describes every r (%s)", f_text(in, &t));
    else
        out->message = iso_arena_printf(
            in->arena, "one φ does not describe every r (%s): with a φ for each r it is %s",
            f_text(in, &t), phis(in));
}

/* "; with such a step in the law phi would be 0.461", where that law relaxes the fitted one. */
static const char *phi_with_step(const struct iso_check_input *in)
{
    struct iso_fit_options options = in->quick;
    struct iso_fit fit;
    options.law = &iso_law_looped_offset;
    if (options.law->relaxes != in->fit->law ||
        iso_fit_run(&fit, in->runs, &options, NULL) != ISO_OK || fit.on_bound[fit.phi_param])
        return "";
    return iso_arena_printf(in->arena, "; with such a step in the law φ would be %.3f", fit.phi);
}

void iso_check_offset(struct iso_finding *out, const struct iso_check_input *in)
{
    struct f_test t;
    double *looped = ISO_ARENA_NEW_N(in->arena, double, in->runs->n + 1), loss = 0;
    for (size_t i = 0; i < in->runs->n; i++) {
        looped[i] = in->runs->at[i].r > 1;
        loss += in->runs->at[i].loss / (double)in->runs->n;
    }
    if (!test_columns(&t, out, in, looped, 1))
        return;
    if (out->level == ISO_LEVEL_OK)
        out->message = iso_arena_printf(
            in->arena, "no step seen between r = 1 and the looped runs (%s)", f_text(in, &t));
    else
        out->message = iso_arena_printf(
            in->arena,
            "a step between r = 1 and the looped runs that φ cannot describe: looped runs lie "
            "%.3f nats %s what the law allows (%s)%s",
            fabs(t.coefficient) * loss, t.coefficient > 0 ? "above" : "below", f_text(in, &t),
            phi_with_step(in));
}

void iso_check_drift(struct iso_finding *out, const struct iso_check_input *in)
{
    struct f_test t;
    double *extra = ISO_ARENA_NEW_N(in->arena, double, in->runs->n + 1);
    for (size_t i = 0; i < in->runs->n; i++)
        extra[i] = in->phi_slope[i] * log10(in->runs->at[i].budget / in->runs->at[0].budget);
    if (!test_columns(&t, out, in, extra, 1))
        return;
    if (out->level == ISO_LEVEL_OK)
        out->message =
            iso_arena_printf(in->arena, "φ is the same at every budget (%s)", f_text(in, &t));
    else
        out->message = iso_arena_printf(in->arena, "φ %s by %.2f for every tenfold budget (%s)",
                                        t.coefficient > 0 ? "rises" : "falls", fabs(t.coefficient),
                                        f_text(in, &t));
}

/* What cells share beside r, budget and step, over what runs of a cell differ by. */
void iso_check_cell_noise(struct iso_finding *out, const struct iso_check_input *in)
{
    size_t n_phi;
    const double *by_r = phi_by_r(&n_phi, in);
    const size_t n_extra = n_phi + 2, n = in->runs->n;
    double *extra = ISO_ARENA_NEW_N(in->arena, double, 1 + n * n_extra);
    for (size_t i = 0; i < n; i++) {
        const struct iso_run *run = &in->runs->at[i];
        memcpy(extra + i * n_extra, by_r + i * n_phi, n_phi * sizeof *extra);
        extra[i * n_extra + n_phi] = run->r > 1;
        extra[i * n_extra + n_phi + 1] = in->phi_slope[i] * log(run->budget);
    }
    struct system between = cell_means(in, extra, n_extra), within = within_cells(in);
    const struct split b = explain(&between, in->n_slopes), w = explain(&within, in->n_slopes);
    system_release(&between);
    system_release(&within);
    const size_t used = b.rank[0] + b.rank[1], inside = n - in->cells.n;
    if (in->cells.n < used + ISO_LEAST_FREEDOM || inside < w.rank[0] + ISO_LEAST_FREEDOM) {
        iso_finding_untested(out, ISO_LEVEL_OK,
                             "not tested: too few (budget, r) cells, or runs in a cell");
        return;
    }
    const double run_variance = fmax(least_variance, w.left / (double)(inside - w.rank[0]));
    const double cell_variance = b.left / (double)(in->cells.n - used);
    const double per_cell = (double)n / (double)in->cells.n;
    const double shared = sqrt(fmax(0, cell_variance - run_variance) / per_cell);
    iso_finding_set(out, shared / sqrt(run_variance), 2.5);
    out->message =
        shared == 0
            ? "the runs of a (budget, r) cell share no error beyond their scatter"
            : iso_arena_printf(in->arena,
                               "the runs of a (budget, r) cell share an error of %.2g %% of the "
                               "loss, %.1f times their scatter",
                               100 * shared, out->value);
}

/* Lack of fit inside the cells against the spread of repeated seeds. */
void iso_check_noise(struct iso_finding *out, const struct iso_check_input *in)
{
    struct iso_blocks points;
    iso_blocks_init(&points, in->runs, ISO_BLOCK_POINT);
    struct system s = within_cells(in);
    double *sum = ISO_NEW_N(double, points.n + 1), *size = ISO_NEW_N(double, points.n + 1);
    double pure = 0, total = 0;
    for (size_t i = 0; i < in->runs->n; i++) {
        sum[points.of_run[i]] += s.y[i];
        size[points.of_run[i]]++;
    }
    for (size_t i = 0; i < in->runs->n; i++) {
        const double off = s.y[i] - sum[points.of_run[i]] / size[points.of_run[i]];
        pure += off * off;
        total += s.y[i] * s.y[i];
    }
    const double repeats = (double)(in->runs->n - points.n);
    const double lack = (double)(points.n - in->cells.n);
    if (repeats < ISO_LEAST_FREEDOM || lack < 1) {
        iso_finding_untested(out, ISO_LEVEL_OK, "not tested: no point has repeated seeds");
    } else {
        const struct f_test t = f_test(total - pure, lack, pure, repeats);
        iso_finding_set(out, t.f, t.critical);
        out->message = iso_arena_printf(
            in->arena,
            out->level == ISO_LEVEL_OK
                ? "the law misses the runs of a cell by no more than seeds differ (%s)"
                : "the law misses the runs of a cell by more than seeds differ (%s)",
            f_text(in, &t));
    }
    free(sum);
    free(size);
    system_release(&s);
    iso_blocks_release(&points);
}
