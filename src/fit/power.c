/* Power of a planned grid: see power.h.
 *
 * 1. Spread of phi: studies are simulated under the law and the noise, and each is fitted as a
 *    real one would be.  Some of them get an interval, too (power_interval.c).
 * 2. Smallest change: each simulated study gets a variant with the same phi, whose looped runs
 *    have noise of their own while the r = 1 runs are shared; the change of phi of one joint model
 *    has standard deviation s.  A change of (1.96 + 0.84) s is found with 80 % probability at the
 *    5 % level.
 * 3. Worth of a budget or a width: with J the Jacobian of ln L at the true law and S the covariance
 *    of the noise, an unweighted fit has covariance (J'J)^-1 J'SJ (J'J)^-1.  Leaving the part out
 *    changes the variance of phi by a factor; the simulated half-width is scaled by its root, so
 *    that the comparison of parts has no simulation noise in it. */
#include "fit/power.h"

#include "base/parallel.h"
#include "base/progress.h"
#include "base/rng.h"
#include "fit/linalg.h"
#include "fit/multistart.h"
#include "fit/resample.h"
#include "fit/stats.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { N_LAW = ISO_P_SHAPE + 1 };

/* The true ln L of a run, and its derivatives by the parameters of the law. */
static double true_log_loss(double jacobian[N_LAW], const struct iso_run *run,
                            const struct iso_power_options *o)
{
    double once, rec;
    iso_design_sizes(&once, &rec, run, o->fit.injection, o->fit.embeddings);
    struct iso_worth at;
    iso_law_at(&at, &iso_law_joint, run->r, &o->phi);
    const double n_eff = at.u * once + at.w * rec, log_n = log(n_eff), log_d = log(run->tokens);
    const double t_n = o->A * exp(-o->alpha * log_n), t_d = o->B * exp(-o->beta * log_d);
    const double sum = t_n + t_d + o->E;
    jacobian[ISO_P_A] = t_n / sum;
    jacobian[ISO_P_ALPHA] = -log_n * t_n / sum;
    jacobian[ISO_P_B] = t_d / sum;
    jacobian[ISO_P_BETA] = -log_d * t_d / sum;
    jacobian[ISO_P_E] = o->E / sum;
    jacobian[ISO_P_SHAPE] = -o->alpha * at.d1[0] * rec / n_eff * t_n / sum;
    return log(sum);
}

struct job {
    const struct iso_power_options *options;
    const struct iso_design *alone, *paired; /* the grid, and the grid with its variant */
    const double *truth;                     /* [runs] ln L */
    const struct iso_blocks *cells;
    double *phi, *delta; /* [repetitions] */
    atomic_size_t done;
    struct iso_progress *progress;
};

void iso_power_draw(double *noise, const struct iso_blocks *cells,
                    const struct iso_power_options *options, size_t repetition, const char *what)
{
    struct iso_rng rng = {options->fit.seed, iso_rng_stream(what, repetition), 0};
    double *cell = ISO_NEW_N(double, cells->n + 1);
    for (size_t i = 0; i < cells->n; i++)
        cell[i] = options->cell_noise * iso_rng_normal(&rng);
    for (size_t i = 0; i < cells->n_runs; i++)
        noise[i] = cell[cells->of_run[i]] + options->run_noise * iso_rng_normal(&rng);
    free(cell);
}

/* Puts simulated losses into a copy of the design and fits it.  Row i of the design belongs to run
 * i modulo n_runs; the second half of a paired design is the variant's. */
static void refit(double *param, const struct job *job, const struct iso_design *from,
                  const double *noise, const double *variant_noise, size_t repetition)
{
    struct iso_design x = *from;
    struct iso_multistart m;
    const size_t n_runs = job->cells->n_runs;
    x.log_l = ISO_NEW_N(double, from->n);
    for (size_t i = 0; i < x.n; i++) {
        if (x.run[i] == SIZE_MAX)
            continue;
        const size_t run = x.run[i] % n_runs;
        x.log_l[i] = job->truth[run] + (x.run[i] < n_runs ? noise : variant_noise)[run];
    }
    iso_multistart_run(&m, &x, &job->options->fit, iso_rng_stream("power", repetition), 1);
    memcpy(param, m.best.param, x.n_param * sizeof *param);
    free(x.log_l);
}

static void run_repetition(void *ctx, size_t i, int worker)
{
    struct job *job = ctx;
    if (iso_progress_stopped(job->progress))
        return;
    const size_t n_runs = job->cells->n_runs;
    double *noise = ISO_NEW_N(double, 2 * n_runs + 1), param[ISO_MAX_PARAM];
    double *variant_noise = noise + n_runs;
    iso_power_draw(noise, job->cells, job->options, i, "power noise");
    iso_power_draw(variant_noise, job->cells, job->options, i, "variant noise");
    refit(param, job, job->alone, noise, variant_noise, i);
    job->phi[i] = param[ISO_P_SHAPE];
    refit(param, job, job->paired, noise, variant_noise, i);
    job->delta[i] = param[ISO_P_SHAPE + 1] - param[ISO_P_SHAPE];
    free(noise);
    const size_t done = atomic_fetch_add(&job->done, 1) + 1;
    if (worker == 0)
        iso_progress_update(job->progress, (double)done, NULL);
}

/* The grid, followed by its looped runs once more as a variant: run n + i is the variant of run i.
 * The order must not change, so this table is not sorted. */
static void pair_up(struct iso_runs *out, const struct iso_runs *planned)
{
    *out = (struct iso_runs){0};
    for (size_t copy = 0; copy < 2; copy++)
        for (size_t i = 0; i < planned->n; i++) {
            struct iso_run *run = ISO_PUSH(out->at, out->n, out->room);
            *run = planned->at[i];
            run->label = copy;
        }
}

/* Takes the variant's copies of the r = 1 runs out of the fit: they are shared. */
static void share_plain_runs(struct iso_design *x, const struct iso_runs *paired)
{
    unsigned *count = ISO_NEW_N(unsigned, paired->n + 1);
    struct iso_design all = *x;
    for (size_t i = 0; i < paired->n; i++)
        count[i] = paired->at[i].label == 0 || paired->at[i].r > 1;
    iso_design_resample(x, &all, count);
    iso_design_release(&all);
    free(count);
}

/* False when it was stopped. */
static bool simulate(struct iso_power *out, const struct iso_design *alone,
                     const struct iso_design *paired, const double *truth,
                     const struct iso_blocks *cells, const struct iso_power_options *o)
{
    struct iso_progress progress;
    const size_t n = o->repetitions;
    double mean = 0, variance = 0;
    struct job job = {.options = o,
                      .alone = alone,
                      .paired = paired,
                      .truth = truth,
                      .cells = cells,
                      .phi = out->phi,
                      .delta = ISO_NEW_N(double, n + 1),
                      .progress = &progress};
    iso_progress_begin(&progress, "simulate", (double)n);
    iso_parallel_for(n, o->fit.threads, run_repetition, &job);
    iso_progress_end(&progress);
    for (size_t i = 0; i < n; i++) {
        out->bias += (out->phi[i] - o->phi) / (double)n;
        mean += job.delta[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        variance += (job.delta[i] - mean) * (job.delta[i] - mean) / (double)(n > 1 ? n - 1 : 1);
    iso_sort_doubles(out->phi, n);
    out->spread = 0.5 * (iso_percentile(out->phi, n, 0.975) - iso_percentile(out->phi, n, 0.025));
    out->smallest_delta = (1.96 + 0.8416) * sqrt(variance);
    free(job.delta);
    return !iso_progress_stopped(&progress);
}

/* What leaving out means: a budget (width NaN) or a width (budget NaN); none when both are. */
struct omission {
    double budget, width;
};

static double width_of(const struct iso_run *run, const char *column)
{
    return iso_str_eq(column, "d_model") ? run->d_model
           : iso_str_eq(column, "s")     ? run->s
                                         : iso_run_params(run);
}

/* Variance of phi in an unweighted fit, by the formula at the head; NaN when undetermined. */
static double linear_variance(const struct iso_runs *planned, const struct iso_blocks *cells,
                              const struct iso_power_options *o, const char *column,
                              struct omission skip)
{
    double normal[N_LAW * N_LAW] = {0}, noise[N_LAW * N_LAW] = {0}, inverse[N_LAW * N_LAW];
    for (size_t i = 0; i < planned->n;) {
        double total[N_LAW] = {0};
        const size_t cell = cells->of_run[i];
        for (; i < planned->n && cells->of_run[i] == cell; i++) {
            const struct iso_run *run = &planned->at[i];
            double j[N_LAW];
            if (run->budget == skip.budget || width_of(run, column) == skip.width)
                continue;
            (void)true_log_loss(j, run, o);
            for (size_t p = 0; p < N_LAW; p++) {
                total[p] += j[p];
                for (size_t q = 0; q < N_LAW; q++) {
                    normal[p * N_LAW + q] += j[p] * j[q];
                    noise[p * N_LAW + q] += o->run_noise * o->run_noise * j[p] * j[q];
                }
            }
        }
        for (size_t p = 0; p < N_LAW; p++)
            for (size_t q = 0; q < N_LAW; q++)
                noise[p * N_LAW + q] += o->cell_noise * o->cell_noise * total[p] * total[q];
    }
    if (!iso_invert_spd(inverse, normal, N_LAW))
        return NAN;
    double variance = 0;
    for (size_t p = 0; p < N_LAW; p++)
        for (size_t q = 0; q < N_LAW; q++)
            variance += inverse[ISO_P_SHAPE * N_LAW + p] * noise[p * N_LAW + q] *
                        inverse[q * N_LAW + ISO_P_SHAPE];
    return variance;
}

double iso_power_linear(const struct iso_runs *planned, const struct iso_power_options *options)
{
    struct iso_blocks cells;
    iso_blocks_init(&cells, planned, ISO_BLOCK_CELL);
    const double variance =
        linear_variance(planned, &cells, options, "d_model", (struct omission){NAN, NAN});
    iso_blocks_release(&cells);
    return 1.96 * sqrt(variance);
}

static void weigh_part(struct iso_power *out, const char *what, struct omission skip,
                       const struct iso_runs *planned, const struct iso_blocks *cells,
                       const struct iso_power_options *o)
{
    struct iso_power_part *part = &out->part[out->n_parts++];
    *part = (struct iso_power_part){.what = what,
                                    .value = isnan(skip.budget) ? skip.width : skip.budget};
    for (size_t i = 0; i < planned->n; i++) {
        const struct iso_run *run = &planned->at[i];
        if (run->budget == skip.budget || width_of(run, out->width_column) == skip.width) {
            part->n_runs++;
            part->flops += run->budget;
        }
    }
    part->flops_share = part->flops / out->flops;
    const double all = out->half_width_linear / 1.96;
    const double rest = linear_variance(planned, cells, o, out->width_column, skip);
    part->half_width = out->half_width * sqrt(rest) / all;
    part->gain = isnan(rest) ? 1 : 1 - all * all / rest;
    part->gain_per_flop = part->gain / part->flops_share;
}

static const char *find_width_column(const struct iso_runs *planned)
{
    const char *column = "d_model";
    for (size_t i = 0; i < planned->n; i++)
        if (isnan(planned->at[i].d_model))
            column = isnan(planned->at[i].s) ? "N" : "s";
    return column;
}

static void weigh_parts(struct iso_power *out, const struct iso_runs *planned,
                        const struct iso_blocks *cells, const struct iso_power_options *o)
{
    double *budget, *width = iso_arena_alloc(&out->arena, planned->n + 1, sizeof *width);
    const size_t n_budgets = iso_runs_budgets(&budget, &out->arena, planned);
    for (size_t i = 0; i < planned->n; i++)
        width[i] = width_of(&planned->at[i], out->width_column);
    const size_t n_widths = iso_distinct_doubles(width, planned->n);
    out->half_width_linear = iso_power_linear(planned, o);
    out->part = iso_arena_alloc(&out->arena, n_budgets + n_widths + 1, sizeof *out->part);
    for (size_t i = 0; i < n_budgets; i++)
        weigh_part(out, "budget", (struct omission){budget[i], NAN}, planned, cells, o);
    for (size_t i = 0; i < n_widths; i++)
        weigh_part(out, "width", (struct omission){NAN, width[i]}, planned, cells, o);
}

static enum iso_status measure(struct iso_power *out, const struct iso_runs *planned,
                               const struct iso_power_options *options, struct iso_err *err)
{
    struct iso_runs paired;
    struct iso_blocks cells;
    struct iso_design alone = {0}, both = {0};
    double *truth = ISO_NEW_N(double, planned->n + 1), jacobian[N_LAW];
    pair_up(&paired, planned);
    iso_blocks_init(&cells, planned, ISO_BLOCK_CELL);
    for (size_t i = 0; i < planned->n; i++)
        truth[i] = true_log_loss(jacobian, &planned->at[i], options);
    enum iso_status st = iso_design_init(&alone, planned, &options->fit, err);
    if (st == ISO_OK)
        st = iso_design_init(&both, &paired, &options->fit, err);
    if (st == ISO_OK) {
        share_plain_runs(&both, &paired);
        if (!simulate(out, &alone, &both, truth, &cells, options))
            st = iso_fail(err, ISO_STOPPED, "stopped");
    }
    if (st == ISO_OK)
        st = iso_power_interval(&out->half_width, planned, &cells, options, err);
    if (st == ISO_OK)
        weigh_parts(out, planned, &cells, options);
    iso_design_release(&alone);
    iso_design_release(&both);
    iso_blocks_release(&cells);
    iso_runs_release(&paired);
    free(truth);
    return st;
}

static void give_up(struct iso_power *out)
{
    out->n_repetitions = 0;
    out->half_width = out->spread = out->half_width_linear = out->bias = out->smallest_delta = NAN;
}

enum iso_status iso_power_run(struct iso_power *out, const struct iso_runs *planned,
                              const struct iso_power_options *options, struct iso_err *err)
{
    *out = (struct iso_power){.n_runs = planned->n,
                              .n_repetitions = options->repetitions,
                              .assumed = *options,
                              .low = INFINITY,
                              .undetermined = iso_runs_undetermined(planned),
                              .width_column = find_width_column(planned)};
    out->phi = iso_arena_alloc(&out->arena, options->repetitions + 1, sizeof *out->phi);
    for (size_t i = 0; i < planned->n; i++) {
        out->flops += planned->at[i].budget;
        out->low = fmin(out->low, planned->at[i].budget);
        out->high = fmax(out->high, planned->at[i].budget);
    }
    iso_power_bracket(out, planned, options);
    out->distance = iso_power_distance(planned, options->low, options->high);
    if (!out->undetermined)
        out->undetermined = iso_runs_unanchored(planned);
    if (!out->undetermined)
        return measure(out, planned, options, err);
    give_up(out);
    return ISO_OK;
}

void iso_power_release(struct iso_power *power)
{
    iso_arena_release(&power->arena);
    *power = (struct iso_power){0};
}
