/* What the checks share: see check_input.h. */
#include "fit/check_input.h"

#include "fit/stats.h"

#include <math.h>
#include <stdlib.h>

enum { QUICK_STARTS = 20 };

/* Three quarters of normal errors lie within this many standard deviations.  (The median of |x|
 * scatters more, above all after a fit that makes half of the residuals small.) */
static const double normal_three_quarters = 1.1503;
/* Losses are hardly ever known better than this part of themselves. */
static const double finest = 1e-5;

static bool is_free(const struct iso_fit *fit, size_t p)
{
    return fit->lower[p] < fit->upper[p];
}

static bool is_phi(const struct iso_fit *fit, size_t p)
{
    return fit->use[p].of && iso_str_eq(fit->use[p].of->name, "phi");
}

/* Adds to out[i * stride] the slope of ln L in one parameter, by central differences. */
static void add_slope(double *out, size_t stride, const struct iso_check_input *in, size_t p)
{
    struct iso_fit less = *in->fit, more = *in->fit;
    const double step = 1e-5 * (in->fit->upper[p] - in->fit->lower[p]);
    less.param[p] -= step;
    more.param[p] += step;
    for (size_t i = 0; i < in->runs->n; i++) {
        const struct iso_run *run = &in->runs->at[i];
        out[i * stride] +=
            (log(iso_fit_loss(&more, run)) - log(iso_fit_loss(&less, run))) / (2 * step);
    }
}

static void find_slopes(struct iso_check_input *in)
{
    const struct iso_fit *fit = in->fit;
    for (size_t p = 0; p < fit->n_param; p++)
        in->n_slopes += is_free(fit, p);
    in->slope = ISO_ARENA_NEW_N(in->arena, double, in->runs->n * in->n_slopes + 1);
    in->phi_slope = ISO_ARENA_NEW_N(in->arena, double, in->runs->n + 1);
    for (size_t p = 0, k = 0; p < fit->n_param; p++) {
        if (!is_free(fit, p))
            continue;
        add_slope(in->slope + k++, in->n_slopes, in, p);
        if (is_phi(fit, p))
            add_slope(in->phi_slope, 1, in, p);
    }
}

/* Of residuals that a fit of n_param parameters left: smaller than the errors by what it took. */
static double robust_deviation(const double *residual, size_t n, size_t n_param)
{
    double *size = ISO_NEW_N(double, n + 1);
    for (size_t i = 0; i < n; i++)
        size[i] = fabs(residual[i]);
    iso_sort_doubles(size, n);
    const double left = n > n_param ? (double)(n - n_param) : 1;
    const double quartile = iso_percentile(size, n, 0.75);
    free(size);
    return fmax(finest, quartile / normal_three_quarters * sqrt((double)n / left));
}

static void find_residuals(struct iso_check_input *in)
{
    const size_t n = in->runs->n;
    in->residual = ISO_ARENA_NEW_N(in->arena, double, n + 1);
    in->pulled = ISO_ARENA_NEW_N(in->arena, double, n + 1);
    for (size_t i = 0; i < n; i++)
        in->residual[i] = log(in->runs->at[i].loss / iso_fit_loss(in->fit, &in->runs->at[i]));
    in->deviation = robust_deviation(in->residual, n, in->n_slopes);
    const double most = 4 * in->deviation;
    for (size_t i = 0; i < n; i++)
        in->pulled[i] = fmax(-most, fmin(most, in->residual[i]));
}

void iso_check_input_init(struct iso_check_input *in, struct iso_arena *arena,
                          const struct iso_runs *runs, const struct iso_fit *fit,
                          const struct iso_fit_options *options,
                          const struct iso_intervals *intervals)
{
    *in = (struct iso_check_input){
        .arena = arena, .runs = runs, .fit = fit, .quick = *options, .intervals = intervals};
    if (in->quick.starts > QUICK_STARTS)
        in->quick.starts = QUICK_STARTS;
    iso_blocks_init(&in->cells, runs, iso_runs_unit(runs));
    find_slopes(in);
    find_residuals(in);
}

void iso_check_input_release(struct iso_check_input *in)
{
    iso_blocks_release(&in->cells);
}

void iso_finding_set(struct iso_finding *out, double value, double threshold)
{
    out->value = value;
    out->threshold = threshold;
    out->level = value > threshold ? ISO_LEVEL_CAUTION : ISO_LEVEL_OK;
}

void iso_finding_untested(struct iso_finding *out, enum iso_level level, const char *why)
{
    out->level = level;
    out->message = why;
}
