/* Profile of the objective in phi: see interval.h.
 *
 * For an M-estimator 2 (rho(phi) - rho(best)) E psi' / E psi^2 is about chi-square with one
 * degree of freedom at the true phi (Schrader and Hettmansperger, 1980), if errors are
 * independent from run to run.  E psi^2 is the mean over the residuals; E psi', the share of
 * residuals inside +-delta, is estimated from the density over the inner half of the residuals,
 * because few lie inside a small delta. */
#include "fit/interval.h"

#include "base/parallel.h"
#include "base/rng.h"
#include "fit/multistart.h"
#include "fit/stats.h"

#include <math.h>
#include <stdlib.h>

enum { N_POINTS = 41 };

double iso_fit_scale(const struct iso_fit *fit, const struct iso_runs *runs)
{
    const size_t n = runs->n;
    double *residual = ISO_NEW_N(double, n + 1), squares = 0;
    size_t inside = 0, used = 0;
    for (size_t i = 0; i < n; i++) {
        residual[i] = log(iso_fit_loss(fit, &runs->at[i])) - log(runs->at[i].loss);
        squares += fmin(residual[i] * residual[i], fit->delta * fit->delta);
    }
    const double inner = fmax(fit->delta, iso_median_abs(residual, n));
    for (size_t i = 0; i < n; i++)
        inside += fabs(residual[i]) <= inner;
    for (size_t p = 0; p < fit->n_param; p++)
        used += fit->lower[p] < fit->upper[p];
    const double slope = (double)inside / (double)n * fit->delta / inner;
    const double freedom = (double)(n > used ? n - used : 1) / (double)n;
    free(residual);
    return squares / (double)n / slope / freedom;
}

struct job {
    const struct iso_design *x;
    const struct iso_fit_options *options;
    const double *phi;
    double *value;
};

static double value_at(const struct job *job, double phi)
{
    struct iso_design fixed = *job->x;
    struct iso_solution s;
    fixed.lower[fixed.phi] = fixed.upper[fixed.phi] = phi;
    iso_design_give_start(&fixed, fixed.given);
    iso_refit(&s, &fixed, job->options, iso_rng_stream("profile", 0));
    return s.value * fixed.delta * fixed.delta;
}

static void run_point(void *ctx, size_t i, int worker)
{
    struct job *job = ctx;
    (void)worker;
    job->value[i] = value_at(job, job->phi[i]);
}

/* Where the statistic crosses its critical value between an inside and an outside phi. */
static double crossing(const struct job *job, const struct iso_profile *p, double minimum,
                       double inside, double outside)
{
    for (int i = 0; i < 20 && fabs(outside - inside) > 1e-5; i++) {
        const double middle = 0.5 * (inside + outside);
        if (2 * (value_at(job, middle) - minimum) / p->scale > p->critical)
            outside = middle;
        else
            inside = middle;
    }
    return 0.5 * (inside + outside);
}

static void find_limits(struct iso_profile *p, const struct job *job, double minimum, double best)
{
    p->low = p->high = NAN;
    for (size_t i = 0; i + 1 < p->n; i++) {
        const bool left_out = p->statistic[i] > p->critical;
        const bool right_out = p->statistic[i + 1] > p->critical;
        if (left_out && !right_out && p->phi[i] < best && isnan(p->low))
            p->low = crossing(job, p, minimum, p->phi[i + 1], p->phi[i]);
        if (!left_out && right_out && p->phi[i + 1] > best)
            p->high = crossing(job, p, minimum, p->phi[i], p->phi[i + 1]);
    }
    /* Limits can be narrower than one grid step on both sides of the best phi. */
    for (size_t i = 0; i + 1 < p->n; i++)
        if (p->phi[i] <= best && best <= p->phi[i + 1]) {
            if (isnan(p->low) && p->statistic[i] > p->critical)
                p->low = crossing(job, p, minimum, best, p->phi[i]);
            if (isnan(p->high) && p->statistic[i + 1] > p->critical)
                p->high = crossing(job, p, minimum, best, p->phi[i + 1]);
        }
}

enum iso_status iso_profile_run(struct iso_profile *out, struct iso_arena *arena,
                                const struct iso_runs *runs, const struct iso_fit *best,
                                const struct iso_fit_options *options, struct iso_err *err)
{
    *out = (struct iso_profile){.n = N_POINTS, .low = NAN, .high = NAN};
    struct iso_design x;
    enum iso_status st = iso_design_init(&x, runs, options, err);
    if (st == ISO_OK) {
        out->phi = iso_arena_alloc(arena, out->n, sizeof(double));
        out->huber_sum = iso_arena_alloc(arena, out->n, sizeof(double));
        out->statistic = iso_arena_alloc(arena, out->n, sizeof(double));
        out->scale = iso_fit_scale(best, runs);
        out->critical = pow(iso_normal_quantile(options->level), 2);
        iso_design_give_start(&x, best->param);
        struct job job = {&x, options, out->phi, out->huber_sum};
        /* Widen the window until both ends are well outside the interval, or fill the box. */
        for (double half = 0.05;; half *= 2) {
            const double low = fmax(best->phi - half, best->lower[x.phi]);
            const double high = fmin(best->phi + half, best->upper[x.phi]);
            for (size_t i = 0; i < out->n; i++)
                out->phi[i] = low + (high - low) * (double)i / (double)(out->n - 1);
            const double ends[2] = {2 * (value_at(&job, low) - best->huber_sum) / out->scale,
                                    2 * (value_at(&job, high) - best->huber_sum) / out->scale};
            if (fmin(ends[0], ends[1]) > fmax(8, 2 * out->critical) || half > 6)
                break;
        }
        iso_parallel_for(out->n, options->threads, run_point, &job);
        for (size_t i = 0; i < out->n; i++)
            out->statistic[i] = fmax(0, 2 * (out->huber_sum[i] - best->huber_sum) / out->scale);
        find_limits(out, &job, best->huber_sum, best->phi);
    }
    iso_design_release(&x);
    return st;
}
