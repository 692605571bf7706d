/* Delta phi of one pair of recipes: see delta.h.
 *
 * 1. Separate: the base and the variant are fitted one by one, each with the r = 1 runs that both
 *    use (the paper's way).
 * 2. Joint: the base's A, alpha, B, beta and E hold for the variant too, and its looped runs say
 *    its phi alone.  Where both have the same widths and tokens this is as sharp as one fit of all
 *    runs with two phi's, and the base keeps one phi whatever it is compared with.
 * 3. Errors come from leaving out one (budget, r) cell at a time (or one cluster, where the tables
 *    have them), in both recipes together, so runs of a cell may share an error, and the two
 *    recipes' cells may share it too.  With x_g the
 *    value without cell g and G cells, the covariance is (G - 1) / G sum (x_g - mean)^2.
 * 4. The interval is delta phi +- t error.  Few cells say much about phi (r = 8 more than r = 2):
 *    with w_g the squared slopes of ln L by phi in cell g, they count as (sum w)^2 / sum w^2 equal
 *    ones, and t has one degree of freedom less.
 * 5. Shared law: the variant's looped runs are fitted once more with alpha, beta and E free too.
 *    The three differences d from the base, with their covariance S from 3, give
 *    T^2 = d' S^-1 d, and T^2 (L - 3) / (3 (L - 1)) is about F with (3, L - 3) degrees of freedom
 *    for L looped cells. */
#include "fit/delta.h"

#include "base/parallel.h"
#include "fit/channel.h"
#include "fit/linalg.h"
#include "fit/multistart.h"
#include "fit/resample.h"
#include "fit/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PHI = ISO_P_SHAPE };

struct cell {
    const struct iso_run *run; /* one of its runs */
    bool is_cluster;
    double weight; /* what it says about phi; 0 for r = 1 */
};

static bool is_of(const struct iso_run *run, const struct cell *cell)
{
    return cell->is_cluster ? iso_str_eq(run->cluster, cell->run->cluster)
                            : iso_same_cell(run, cell->run);
}

/* Parameters of every fit to one set of runs. */
struct laws {
    double base[ISO_MAX_PARAM], variant[ISO_MAX_PARAM];
    double joint[ISO_MAX_PARAM]; /* the base's, but for phi */
    double freed[ISO_MAX_PARAM]; /* the base's A and B alone */
};

/* What the jackknife is about; NaN where the runs do not determine it. */
enum value { V_JOINT, V_SEPARATE, V_TOKEN, V_ALPHA, V_BETA, V_E, N_VALUES, N_SHARED = 3 };

struct job {
    const struct iso_runs *base, *variant;
    struct iso_design base_x, variant_x;
    const struct iso_fit *base_fit;
    const struct iso_delta *channels; /* whose channels show the token gain */
    const struct iso_fit_options *options;
    struct laws all; /* fits to all runs */
    size_t n_cells;
    struct cell *cell;
    double (*value)[N_VALUES]; /* [n_cells] without that cell */
};

static struct iso_fit with_params(const struct iso_fit *fit, const double *param)
{
    struct iso_fit out = *fit;
    memcpy(out.param, param, fit->n_param * sizeof *param);
    out.phi = param[PHI];
    return out;
}

/* --- Fits ------------------------------------------------------------------------------------ */

/* From a point nearby: nested models and refits without one cell start there. */
static void solve_near(double *param, const struct iso_design *x, const double *near)
{
    struct iso_solution s = {.iterations = 0};
    struct iso_scratch scratch;
    for (size_t p = 0; p < x->n_param; p++)
        s.param[p] = fmin(fmax(near[p], x->lower[p]), x->upper[p]);
    iso_scratch_init(&scratch, x->n);
    iso_solver_newton.finish(&s, x, 1000, &scratch);
    iso_scratch_release(&scratch);
    memcpy(param, s.param, x->n_param * sizeof *param);
}

/* The design with parameters of the base: all that laws share, or A and B. */
static struct iso_design hold(const struct iso_design *x, const double *base, bool all)
{
    struct iso_design out = *x;
    for (size_t p = 0; p < PHI; p++)
        if (all || p == ISO_P_A || p == ISO_P_B)
            out.lower[p] = out.upper[p] = base[p];
    return out;
}

/* The variant's looped runs under the base's law, with phi alone free. */
static void fit_joint(struct laws *laws, const struct iso_design *looped,
                      const struct iso_fit_options *o)
{
    const struct iso_design x = hold(looped, laws->base, true);
    struct iso_multistart m;
    iso_multistart_run(&m, &x, o, iso_rng_stream("compare", 0), o->threads);
    memcpy(laws->joint, m.best.param, x.n_param * sizeof *laws->joint);
}

/* And with alpha, beta and E free too. */
static void fit_freed(struct laws *laws, const struct iso_design *looped, const double *near)
{
    const struct iso_design x = hold(looped, laws->base, false);
    solve_near(laws->freed, &x, near);
}

static size_t rows(const struct iso_design *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++)
        n += x->weight[i] > 0;
    return n;
}

static void set_nan(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
}

/* The variant's looped runs but for one cell. */
static void take_looped(struct iso_design *out, const struct job *job, const struct cell *without)
{
    unsigned *count = ISO_NEW_N(unsigned, job->variant->n + 1);
    for (size_t i = 0; i < job->variant->n; i++) {
        const struct iso_run *run = &job->variant->at[i];
        count[i] = run->r > 1 && !(without && is_of(run, without));
    }
    iso_design_resample(out, &job->variant_x, count);
    free(count);
}

/* One recipe's fit without a cell; NaN when it does not determine phi any more. */
static void refit(double *param, const struct iso_design *x, const struct iso_runs *runs,
                  const struct cell *without, const double *near)
{
    unsigned *count = ISO_NEW_N(unsigned, runs->n + 1);
    struct iso_design left;
    for (size_t i = 0; i < runs->n; i++)
        count[i] = !is_of(&runs->at[i], without);
    iso_design_resample(&left, x, count);
    if (iso_resample_usable(&left, runs))
        solve_near(param, &left, near);
    else
        set_nan(param, ISO_MAX_PARAM);
    iso_design_release(&left);
    free(count);
}

static void find_values(double value[N_VALUES], const struct laws *laws, const struct job *job)
{
    const struct iso_fit base = with_params(job->base_fit, laws->base);
    value[V_JOINT] = laws->joint[PHI] - laws->base[PHI];
    value[V_SEPARATE] = laws->variant[PHI] - laws->base[PHI];
    value[V_TOKEN] = iso_channels_token(job->channels, &base);
    value[V_ALPHA] = laws->freed[ISO_P_ALPHA] - laws->base[ISO_P_ALPHA];
    value[V_BETA] = laws->freed[ISO_P_BETA] - laws->base[ISO_P_BETA];
    value[V_E] = laws->freed[ISO_P_E] - laws->base[ISO_P_E];
}

static void leave_out(void *ctx, size_t g, int worker)
{
    struct job *job = ctx;
    const struct cell *cell = &job->cell[g];
    struct iso_design looped;
    struct laws laws;
    (void)worker;
    refit(laws.base, &job->base_x, job->base, cell, job->all.base);
    refit(laws.variant, &job->variant_x, job->variant, cell, job->all.variant);
    take_looped(&looped, job, cell);
    if (isnan(laws.base[PHI]) || rows(&looped) < N_SHARED + 1) {
        set_nan(laws.joint, ISO_MAX_PARAM);
        set_nan(laws.freed, ISO_MAX_PARAM);
    } else {
        const struct iso_design x = hold(&looped, laws.base, true);
        solve_near(laws.joint, &x, job->all.joint);
        fit_freed(&laws, &looped, job->all.freed);
    }
    find_values(job->value[g], &laws, job);
    iso_design_release(&looped);
}

/* --- Cells ----------------------------------------------------------------------------------- */

/* (d ln L / d phi)^2 of a run, by differences. */
static double worth(const struct iso_fit *fit, const struct iso_run *run)
{
    const double step = 1e-4;
    struct iso_fit up = *fit, down = *fit;
    up.param[PHI] += step;
    down.param[PHI] -= step;
    const double slope = (log(iso_fit_loss(&up, run)) - log(iso_fit_loss(&down, run))) / (2 * step);
    return run->r > 1 ? slope * slope : 0;
}

static void add_cells(struct job *job, const struct iso_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        size_t g = 0;
        while (g < job->n_cells && !is_of(run, &job->cell[g]))
            g++;
        if (g == job->n_cells)
            job->cell[job->n_cells++] = (struct cell){run, runs->clustered, 0};
        job->cell[g].weight += worth(job->base_fit, run);
    }
}

static size_t looped_cells(const struct job *job)
{
    size_t n = 0;
    for (size_t g = 0; g < job->n_cells; g++)
        n += job->cell[g].run->r > 1;
    return n;
}

static double degrees_of_freedom(const struct job *job)
{
    double sum = 0, squares = 0;
    for (size_t g = 0; g < job->n_cells; g++) {
        sum += job->cell[g].weight;
        squares += job->cell[g].weight * job->cell[g].weight;
    }
    return sum * sum / squares - 1;
}

static double covariance(const struct job *job, size_t i, size_t j)
{
    const double n = (double)job->n_cells;
    double mean_i = 0, mean_j = 0, sum = 0;
    for (size_t g = 0; g < job->n_cells; g++) {
        mean_i += job->value[g][i] / n;
        mean_j += job->value[g][j] / n;
    }
    for (size_t g = 0; g < job->n_cells; g++)
        sum += (job->value[g][i] - mean_i) * (job->value[g][j] - mean_j);
    return (n - 1) / n * sum;
}

/* --- Results --------------------------------------------------------------------------------- */

static void test_shared_law(struct iso_shared_law *out, const struct job *job,
                            const double value[N_VALUES])
{
    enum { K = N_SHARED };
    const double n = (double)looped_cells(job);
    double correlation[K * K], inverse[K * K], scaled[K], t2 = 0;
    *out = (struct iso_shared_law){NAN, K, n - K, NAN};
    if (n <= K)
        return;
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++) /* scaled, because the three have different units */
            correlation[i * K + j] = covariance(job, V_ALPHA + i, V_ALPHA + j) /
                                     sqrt(covariance(job, V_ALPHA + i, V_ALPHA + i) *
                                          covariance(job, V_ALPHA + j, V_ALPHA + j));
    if (isnan(correlation[0]) || !iso_invert_spd(inverse, correlation, K))
        return;
    for (size_t i = 0; i < K; i++)
        scaled[i] = value[V_ALPHA + i] / sqrt(covariance(job, V_ALPHA + i, V_ALPHA + i));
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++)
            t2 += scaled[i] * inverse[i * K + j] * scaled[j];
    out->statistic = t2 * out->df_error / (K * (n - 1));
    out->p = iso_f_tail(out->statistic, K, out->df_error);
}

/* The share of the losses' variance that the two fits explain together. */
static double explained(const struct job *job, const struct iso_fit *variant_fit)
{
    const struct iso_runs *table[2] = {job->base, job->variant};
    const struct iso_fit *fit[2] = {job->base_fit, variant_fit};
    double n = 0, sum = 0, total = 0, squares = 0;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < table[k]->n; i++)
            if (k == 0 || table[k]->at[i].r > 1)
                n++, sum += table[k]->at[i].loss;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < table[k]->n; i++) {
            const struct iso_run *run = &table[k]->at[i];
            if (k == 1 && run->r <= 1)
                continue;
            total += pow(run->loss - sum / n, 2);
            squares += pow(run->loss - iso_fit_loss(fit[k], run), 2);
        }
    return 1 - squares / total;
}

static void find_channels(struct iso_delta *d, struct iso_arena *arena, const struct job *job,
                          const double *param)
{
    const struct iso_fit variant = with_params(job->base_fit, param);
    d->phi_base = job->all.base[PHI];
    d->phi = param[PHI];
    d->delta_phi = d->phi - d->phi_base;
    d->r2 = explained(job, &variant);
    iso_channels_run(d, arena, job->base, job->variant, job->base_fit, &variant);
}

static void find_interval(struct iso_delta *d, const struct job *job, enum value which)
{
    d->df = degrees_of_freedom(job);
    const double t = iso_t_quantile(job->options->level, d->df);
    d->error = sqrt(covariance(job, which, which));
    d->low = d->delta_phi - t * d->error;
    d->high = d->delta_phi + t * d->error;
    d->token_error = t * sqrt(covariance(job, V_TOKEN, V_TOKEN));
}

static void run(struct iso_variant *v, struct iso_arena *arena, struct job *job)
{
    struct iso_design looped;
    double value[N_VALUES];
    memcpy(job->all.base, job->base_fit->param, sizeof job->all.base);
    memcpy(job->all.variant, v->own.fit.param, sizeof job->all.variant);
    if (isnan(v->own.fit.phi))
        job->all.variant[PHI] = NAN; /* where the fit ended means nothing */
    take_looped(&looped, job, NULL);
    fit_joint(&job->all, &looped, job->options);
    fit_freed(&job->all, &looped, job->all.joint);
    iso_design_release(&looped);
    find_channels(&v->joint, arena, job, job->all.joint);
    find_channels(&v->separate, arena, job, job->all.variant);
    job->channels = &v->joint;

    job->cell = ISO_ARENA_NEW_N(arena, struct cell, job->base->n + job->variant->n);
    add_cells(job, job->base);
    add_cells(job, job->variant);
    job->value = iso_arena_alloc(arena, job->n_cells, sizeof *job->value);
    iso_parallel_for(job->n_cells, job->options->threads, leave_out, job);
    find_interval(&v->joint, job, V_JOINT);
    find_interval(&v->separate, job, V_SEPARATE);
    find_values(value, &job->all, job);
    test_shared_law(&v->shared, job, value);
}

enum iso_status iso_delta_run(struct iso_variant *v, struct iso_arena *arena,
                              const struct iso_recipe *base, const struct iso_fit_options *options,
                              struct iso_err *err)
{
    struct job job = {
        .base = base->runs, .variant = v->own.runs, .base_fit = &base->fit, .options = options};
    enum iso_status st = iso_design_init(&job.base_x, job.base, options, err);
    if (st == ISO_OK)
        st = iso_design_init(&job.variant_x, job.variant, options, err);
    if (st == ISO_OK)
        run(v, arena, &job);
    iso_design_release(&job.base_x);
    iso_design_release(&job.variant_x);
    return st;
}
