/* The law and the noise that a simulation assumes, and where they were measured: see power.h. */
#include "fit/power.h"

#include "fit/derived.h"
#include "fit/resample.h"
#include "fit/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Studies whose results the project ships: `isodepth power --from` the table would give these, and
 * `isodepth data` the bytes of a token (NaN: nobody knows).  The one place for law and noise:
 * power, design and sweep --adapt all ask here.  A test compares the rows with their tables. */
static const struct origin {
    const char *name, *table;
    double low, high; /* budgets */
    double A, alpha, B, beta, E, phi, run_noise, cell_noise;
    double bytes_per_token;
} origins[] = {
    {"the paper's runs", "examples/paper_baseline.csv", 4.64e17, 2.15e19, 28.24, 0.19967, 889.47,
     0.36705, 1.5667, 0.45792, 3.31e-3, 1.76e-3, NAN},
    {"the pocket study", "docs/results/pocket/base.csv", 3.2e11, 6.6e12, 6.9937, 0.17576, 1159.3,
     0.57535, 3.4848, 0.91301, 7.39e-3, 5.31e-3, 3.0675},
    {"the desk study", "docs/results/desk/base.csv", 1.5e12, 9e13, 12.927, 0.22146, 42.341, 0.24078,
     1.9481, 0.51764, 1.0896e-2, 1.1094e-2, 2.6937},
};

static void assume(struct iso_power_options *options, const struct origin *from)
{
    options->source = from->name;
    options->table = from->table;
    options->low = from->low;
    options->high = from->high;
    options->A = from->A;
    options->alpha = from->alpha;
    options->B = from->B;
    options->beta = from->beta;
    options->E = from->E;
    options->phi = from->phi;
    options->run_noise = from->run_noise;
    options->cell_noise = from->cell_noise;
    options->bytes_per_token = from->bytes_per_token;
    options->rescaled = false;
}

struct iso_power_options iso_power_defaults(void)
{
    struct iso_power_options o = {.fit = iso_fit_defaults(), .repetitions = 200, .intervals = 25};
    assume(&o, &origins[0]);
    o.fit.starts = 20;
    return o;
}

/* How far a budget lies outside [low, high], as a factor; 1 inside. */
static double outside(double budget, double low, double high)
{
    return fmax(1, fmax(low / budget, budget / high));
}

double iso_power_distance(const struct iso_runs *planned, double low, double high)
{
    double factor = 1;
    for (size_t i = 0; i < planned->n; i++)
        factor = fmax(factor, outside(planned->at[i].budget, low, high));
    return factor;
}

/* How far the budgets from low to high lie outside those of a study, as a factor. */
static double distance(const struct origin *from, double low, double high)
{
    return fmax(outside(low, from->low, from->high), outside(high, from->low, from->high));
}

void iso_power_assume_between(struct iso_power_options *options, double low, double high)
{
    const struct origin *best = &origins[0];
    for (size_t i = 1; i < sizeof origins / sizeof *origins; i++)
        if (distance(&origins[i], low, high) < distance(best, low, high))
            best = &origins[i];
    assume(options, best);
}

void iso_power_assume(struct iso_power_options *options, const struct iso_runs *planned)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < planned->n; i++) {
        low = fmin(low, planned->at[i].budget);
        high = fmax(high, planned->at[i].budget);
    }
    iso_power_assume_between(options, low, high);
}

void iso_power_rescale(struct iso_power_options *options, double bytes_per_token)
{
    const double ratio = bytes_per_token / options->bytes_per_token;
    if (!(ratio > 0 && isfinite(ratio)))
        return;
    options->A *= ratio;
    options->B *= ratio * pow(ratio, -options->beta);
    options->E *= ratio;
    options->bytes_per_token = bytes_per_token;
    options->rescaled = true;
}

void iso_power_learn(struct iso_power_options *options, const struct iso_fit *fit,
                     const struct iso_runs *runs)
{
    struct iso_blocks cells;
    double within = 0, between = 0;
    iso_blocks_init(&cells, runs, ISO_BLOCK_CELL);
    for (size_t i = 0; i < runs->n;) {
        size_t end = i;
        double mean = 0;
        for (; end < runs->n && cells.of_run[end] == cells.of_run[i]; end++)
            mean += log(runs->at[end].loss) - log(iso_fit_loss(fit, &runs->at[end]));
        mean /= (double)(end - i);
        between += (double)(end - i) * mean * mean;
        for (; i < end; i++) {
            const double e = log(runs->at[i].loss) - log(iso_fit_loss(fit, &runs->at[i])) - mean;
            within += e * e;
        }
    }
    /* Mean squares of a one-way layout; with one run per cell all of it is run noise. */
    const double n = (double)runs->n, k = (double)cells.n;
    const double ms_between = between / k, ms_within = n > k ? within / (n - k) : ms_between;
    struct origin from = {.name = "a fit to the runs given",
                          .low = runs->at[0].budget, /* they are sorted by it */
                          .high = runs->at[runs->n - 1].budget,
                          .A = fit->A,
                          .alpha = fit->alpha,
                          .B = fit->B,
                          .beta = fit->beta,
                          .E = fit->E,
                          .phi = fit->phi,
                          .bytes_per_token = NAN};
    from.run_noise = sqrt(ms_within);
    from.cell_noise = n > k ? sqrt(fmax(0, (ms_between - ms_within) * k / n)) : 0;
    assume(options, &from);
    iso_blocks_release(&cells);
}

struct iso_fit iso_power_law(const struct iso_power_options *o)
{
    struct iso_fit fit = {.law = &iso_law_joint,
                          .injection = o->fit.injection,
                          .embeddings = o->fit.embeddings,
                          .delta = o->fit.delta,
                          .n_param = ISO_P_SHAPE + 1,
                          .phi_param = ISO_P_SHAPE,
                          .A = o->A,
                          .alpha = o->alpha,
                          .B = o->B,
                          .beta = o->beta,
                          .E = o->E,
                          .phi = o->phi};
    const double param[] = {log(o->A), o->alpha, log(o->B), o->beta, log(o->E), o->phi};
    memcpy(fit.param, param, sizeof param);
    for (size_t p = 0; p <= ISO_P_SHAPE; p++)
        fit.use[p] =
            (struct iso_param_use){p < ISO_P_SHAPE ? NULL : iso_law_joint.param, NAN, SIZE_MAX};
    return fit;
}

/* Widths that miss the optimum by more than this factor in size say little about it. */
static const double too_far = 1.5;

void iso_power_bracket(struct iso_power *out, const struct iso_runs *planned,
                       const struct iso_power_options *o)
{
    const struct iso_fit law = iso_power_law(o);
    out->worst_factor = 1;
    for (size_t i = 0; i < planned->n;) {
        const struct iso_run *first = &planned->at[i];
        double low = INFINITY, high = 0;
        for (; i < planned->n && planned->at[i].budget == first->budget &&
               planned->at[i].r == first->r;
             i++) {
            low = fmin(low, iso_run_params(&planned->at[i]));
            high = fmax(high, iso_run_params(&planned->at[i]));
        }
        const struct iso_flops_curve curve = iso_flops_curve_of(&out->arena, planned, first->r);
        const double best = iso_frontier_at(&law, &curve, first->budget).n_opt;
        const double factor = outside(best, low, high);
        out->n_cells++;
        out->n_outside += factor > too_far;
        if (factor > out->worst_factor) {
            out->worst_factor = factor;
            out->worst_budget = first->budget;
            out->worst_r = first->r;
        }
    }
}
