/* Leaving out each budget, each r and each cell; pure error: see interval.h. */
#include "fit/interval.h"

#include "base/parallel.h"
#include "base/rng.h"
#include "fit/multistart.h"
#include "fit/resample.h"
#include "fit/stats.h"

#include <math.h>
#include <stdlib.h>

/* A table where nearly every run is its own cell would need as many fits as it has runs. */
enum { MAX_LEFT_OUT = 200 };

struct job {
    const struct iso_design *x;
    const struct iso_runs *runs;
    const struct iso_fit_options *options;
    const struct iso_fit *best;
    struct iso_jackknife_row *row;
};

static void run_row(void *ctx, size_t i, int worker)
{
    struct job *job = ctx;
    struct iso_jackknife_row *row = &job->row[i];
    unsigned *count = ISO_NEW_N(unsigned, job->runs->n + 1);
    bool anchored = false; /* without plain runs phi has two mirror minima: see check anchor */
    (void)worker;
    for (size_t k = 0; k < job->runs->n; k++) {
        const struct iso_run *run = &job->runs->at[k];
        const bool out = (isnan(row->budget) || run->budget == row->budget) &&
                         (isnan(row->r) || run->r == row->r) &&
                         (isnan(row->unshared) || run->unshared == row->unshared) &&
                         (!row->cluster || iso_str_eq(run->cluster, row->cluster));
        count[k] = !out;
        row->n_runs += !out;
        anchored |= !out && run->r == 1;
    }
    struct iso_design left;
    iso_design_resample(&left, job->x, count);
    row->phi = row->shift = NAN;
    if (!iso_resample_usable(&left, job->runs)) {
        row->problem = "too few runs remain";
    } else if (!anchored) {
        row->problem = "no run with r = 1 remains";
    } else {
        struct iso_solution s;
        iso_refit(&s, &left, job->options, iso_rng_stream("jackknife", i));
        row->phi = s.param[left.phi];
        row->shift = row->phi - job->best->phi;
    }
    iso_design_release(&left);
    free(count);
}

/* A row for each cell or cluster; how many. */
static size_t add_units(struct iso_jackknife_row *row, const struct iso_runs *runs)
{
    struct iso_blocks units;
    size_t n = 0;
    iso_blocks_init(&units, runs, iso_runs_unit(runs));
    for (size_t i = 0; i < runs->n; i++)
        if (units.of_run[i] == n) /* the first of its block */
            row[n++] =
                (struct iso_jackknife_row){.budget = runs->clustered ? NAN : runs->at[i].budget,
                                           .r = runs->clustered ? NAN : runs->at[i].r,
                                           .unshared = runs->clustered ? NAN : runs->at[i].unshared,
                                           .cluster = runs->clustered ? runs->at[i].cluster : NULL};
    iso_blocks_release(&units);
    return n;
}

enum iso_status iso_jackknife_run(struct iso_jackknife *out, struct iso_arena *arena,
                                  const struct iso_runs *runs, const struct iso_fit *best,
                                  const struct iso_fit_options *options, struct iso_err *err)
{
    *out = (struct iso_jackknife){0};
    struct iso_design x;
    enum iso_status st = iso_design_init(&x, runs, options, err);
    if (st == ISO_OK) {
        double *budget, *r;
        iso_design_give_start(&x, best->param);
        const size_t n_budgets = iso_runs_budgets(&budget, arena, runs);
        const size_t n_r = iso_runs_recurrences(&r, arena, runs);
        out->row = iso_arena_alloc(arena, n_budgets + n_r + runs->n, sizeof *out->row);
        for (size_t i = 0; n_budgets <= MAX_LEFT_OUT && i < n_budgets; i++)
            out->row[out->n++] = (struct iso_jackknife_row){budget[i], NAN, .unshared = NAN};
        for (size_t i = 0; n_r <= MAX_LEFT_OUT && i < n_r; i++)
            out->row[out->n++] = (struct iso_jackknife_row){NAN, r[i], .unshared = NAN};
        const size_t without_cells = out->n;
        out->n += add_units(out->row + out->n, runs);
        if (out->n - without_cells > MAX_LEFT_OUT)
            out->n = without_cells;
        struct job job = {&x, runs, options, best, out->row};
        iso_parallel_for(out->n, options->threads, run_row, &job);
        for (size_t i = 0; i < out->n; i++) {
            out->n_problems += out->row[i].problem != NULL;
            if (!out->row[i].problem)
                out->max_shift = fmax(out->max_shift, fabs(out->row[i].shift));
        }
    }
    iso_design_release(&x);
    return st;
}

/* Sums of squares of ln L: between seeds of a point, and of the residuals of the fit. */
void iso_pure_error_run(struct iso_pure_error *out, const struct iso_runs *runs,
                        const struct iso_fit *fit)
{
    struct iso_blocks points;
    double pure = 0, total = 0;
    size_t free_params = 0;
    *out = (struct iso_pure_error){.sd = NAN, .f = NAN, .p_value = NAN};
    iso_blocks_init(&points, runs, ISO_BLOCK_POINT);
    for (size_t i = 0; i < runs->n;) {
        size_t end = i;
        double mean = 0;
        while (end < runs->n && points.of_run[end] == points.of_run[i])
            mean += log(runs->at[end++].loss);
        mean /= (double)(end - i);
        out->n_points += end - i > 1;
        out->df += end - i - 1;
        for (; i < end; i++) {
            const double log_loss = log(runs->at[i].loss);
            const double residual = log_loss - log(iso_fit_loss(fit, &runs->at[i]));
            pure += (log_loss - mean) * (log_loss - mean);
            total += residual * residual;
        }
    }
    for (size_t p = 0; p < fit->n_param; p++)
        free_params += fit->lower[p] < fit->upper[p];
    if (out->df > 0 && points.n > free_params) {
        out->sd = sqrt(pure / (double)out->df);
        out->df_lack = points.n - free_params;
        out->f = (total - pure) / (double)out->df_lack / (pure / (double)out->df);
        out->p_value = iso_f_tail(out->f, (double)out->df_lack, (double)out->df);
    } else {
        out->n_points = 0;
    }
    iso_blocks_release(&points);
}
