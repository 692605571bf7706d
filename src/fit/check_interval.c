/* Do the runs pin phi down?  Checks of bounds, grid and resampling. */
#include "fit/check_input.h"

#include "fit/derived.h"
#include "fit/stats.h"

#include <math.h>

static bool at(double x, double bound)
{
    return fabs(x - bound) < 1e-6;
}

/* --- bounds ------------------------------------------------------------------------------------
 */

/* The end of the box that phi or an end of its interval lies on, or NaN.  Where nothing determines
 * phi, as the check anchor says, a fit may end there as well as anywhere. */
static double phi_bound(const struct iso_check_input *in, size_t phi)
{
    const double low = in->fit->lower[phi], high = in->fit->upper[phi];
    if (iso_runs_undetermined(in->runs))
        return NAN;
    if (in->fit->on_bound[phi])
        return in->fit->param[phi];
    if (!in->intervals)
        return NAN;
    const struct iso_interval *v = &in->intervals->headline;
    return at(v->low, low) ? low : at(v->high, high) ? high : NAN;
}

/* By what part of the loss the term of the parameters differs between the runs. */
static double size_matters(const struct iso_check_input *in)
{
    double low = INFINITY, high = 0, loss = INFINITY;
    for (size_t i = 0; i < in->runs->n; i++) {
        const struct iso_run *run = &in->runs->at[i];
        const double term = in->fit->A * pow(iso_fit_n_eff(in->fit, run), -in->fit->alpha);
        low = fmin(low, term);
        high = fmax(high, term);
        loss = fmin(loss, run->loss);
    }
    return (high - low) / loss;
}

/* phi says how parameters count: where they do not, the runs cannot show it.  Losses are hardly
 * ever known better than to this part of themselves. */
static bool is_without_size(struct iso_finding *out, const struct iso_check_input *in)
{
    const double least = 1e-5;
    if (!iso_fit_phi_is_free(in->fit) || iso_runs_undetermined(in->runs) ||
        size_matters(in) >= least)
        return false;
    iso_finding_set(out, 1, 0);
    out->level = ISO_LEVEL_FAIL;
    out->message = iso_arena_printf(in->arena,
                                    "in the law that was fitted, the loss does not depend on the "
                                    "parameters (alpha = %.2g, A = %.2g), so nothing determines φ",
                                    in->fit->alpha, in->fit->A);
    return true;
}

void iso_check_bounds(struct iso_finding *out, const struct iso_check_input *in)
{
    const struct iso_fit *fit = in->fit;
    const size_t phi = fit->phi_param;
    size_t n = 0;
    const char *names = "";
    if (is_without_size(out, in))
        return;
    for (size_t p = 0; p < fit->n_param; p++)
        if (fit->on_bound[p] && p != phi) {
            names = iso_arena_printf(in->arena, "%s%s%s = %g", names, n ? ", " : "", fit->name[p],
                                     fit->param[p]);
            n++;
        }
    const double bound = phi != ISO_NO_PARAM ? phi_bound(in, phi) : NAN;
    iso_finding_set(out, (double)n + !isnan(bound), 0);
    if (!isnan(bound)) {
        out->level = ISO_LEVEL_FAIL;
        out->message = iso_arena_printf(
            in->arena, "%s lies at %g, the edge of the range searched: these runs do not bound it",
            fit->on_bound[phi] ? "φ" : "an end of the interval of φ", bound);
    } else if (n) {
        out->message = iso_arena_printf(
            in->arena, "the fit ended on the edge of the range searched: %s", names);
    } else {
        out->message = in->intervals && !isnan(in->intervals->headline.low)
                           ? "no parameter and no end of the interval lies on its bound"
                           : "no parameter lies on its bound; there is no interval to check";
    }
}

/* --- bracketing --------------------------------------------------------------------------------
 */

/* The factor by which the law's optimal size of a cell lies outside the sizes tried; 1: inside. */
static double outside(const struct iso_check_input *in, const struct iso_flops_curve *curve,
                      double budget)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < in->runs->n; i++) {
        const struct iso_run *run = &in->runs->at[i];
        if (run->budget == budget && run->r == curve->r) {
            low = fmin(low, iso_run_params(run));
            high = fmax(high, iso_run_params(run));
        }
    }
    const double best = iso_frontier_at(in->fit, curve, budget).n_opt;
    return high == 0 ? 1 : fmax(1, fmax(low / best, best / high));
}

void iso_check_bracketing(struct iso_finding *out, const struct iso_check_input *in)
{
    const double limit = 1.5;
    double *budget, *r, worst = 1, worst_budget = NAN, worst_r = NAN;
    const size_t n_budgets = iso_runs_budgets(&budget, in->arena, in->runs);
    const size_t n_r = iso_runs_recurrences(&r, in->arena, in->runs);
    size_t n_outside = 0;
    if (n_budgets == in->runs->n) {
        iso_finding_untested(out, ISO_LEVEL_OK, "not tested: every run has its own budget");
        return;
    }
    for (size_t k = 0; k < n_r; k++) {
        const struct iso_flops_curve curve = iso_flops_curve_of(in->arena, in->runs, r[k]);
        for (size_t i = 0; i < n_budgets; i++) {
            const double factor = outside(in, &curve, budget[i]);
            n_outside += factor > limit;
            if (factor > worst)
                worst = factor, worst_budget = budget[i], worst_r = r[k];
        }
    }
    iso_finding_set(out, worst, limit);
    if (out->level == ISO_LEVEL_OK)
        out->message = "the sizes tried bracket the law's optimum at every budget";
    else
        out->message = iso_arena_printf(
            in->arena,
            "the sizes tried do not bracket the law's optimum in %zu of %zu cells: at %.3g FLOPs, "
            "r = %g, it lies outside by a factor of %.1f",
            n_outside, in->cells.n, worst_budget, worst_r, worst);
}

/* --- influence ---------------------------------------------------------------------------------
 */

static const struct iso_jackknife_row *most_influential(const struct iso_jackknife *j)
{
    const struct iso_jackknife_row *most = NULL;
    for (size_t i = 0; i < j->n; i++)
        if (!j->row[i].problem && (!most || fabs(j->row[i].shift) > fabs(most->shift)))
            most = &j->row[i];
    return most;
}

void iso_check_influence(struct iso_finding *out, const struct iso_check_input *in)
{
    struct iso_jackknife own = {0};
    const struct iso_jackknife *j = &own;
    if (in->intervals && in->intervals->jackknife.n)
        j = &in->intervals->jackknife;
    else
        (void)iso_jackknife_run(&own, in->arena, in->runs, in->fit, &in->quick, NULL);
    const struct iso_jackknife_row *most = most_influential(j);
    if (!most) {
        iso_finding_untested(out, ISO_LEVEL_CAUTION,
                             "not tested: without any one budget, r or cell too few runs remain, "
                             "or none with r = 1");
        return;
    }
    iso_finding_set(out, fabs(most->shift), 0.2);
    const char *what =
        most->cluster         ? iso_arena_printf(in->arena, "cluster %.60s", most->cluster)
        : isnan(most->r)      ? iso_arena_printf(in->arena, "budget %.3g", most->budget)
        : isnan(most->budget) ? iso_arena_printf(in->arena, "r = %g", most->r)
        : most->unshared > 0
            ? iso_arena_printf(in->arena, "the cell of budget %.3g and %g unshared iterations",
                               most->budget, most->unshared)
            : iso_arena_printf(in->arena, "the cell of budget %.3g and r = %g", most->budget,
                               most->r);
    out->message = iso_arena_printf(
        in->arena, "leaving out one budget, r or cell moves φ by up to %.3f (to %.3f, without %s)",
        fabs(most->shift), most->phi, what);
}

/* --- heavy tail --------------------------------------------------------------------------------
 */

void iso_check_heavy_tail(struct iso_finding *out, const struct iso_check_input *in)
{
    if (!in->intervals || !in->intervals->n_bootstraps) {
        iso_finding_untested(out, ISO_LEVEL_OK, "not tested: nothing was resampled");
        return;
    }
    const struct iso_bootstrap *b = &in->intervals->bootstrap[0];
    const double low = b->tail_low, high = b->tail_high;
    const double on_bound = (double)b->at_bound / (double)b->n_resamples, most_on_bound = 0.01;
    iso_finding_set(out, fmax(low, high), 2.5);
    if (out->value > 5 || on_bound > most_on_bound)
        out->level = ISO_LEVEL_FAIL;
    if (out->level == ISO_LEVEL_OK)
        out->message = "the refits of the bootstrap scatter evenly";
    else if (on_bound > most_on_bound)
        out->message = iso_arena_printf(
            in->arena,
            "%.1f %% of the refits of the bootstrap end on the bound of φ, so the ends "
            "of the interval are the bound's",
            100 * on_bound);
    else
        out->message = iso_arena_printf(
            in->arena,
            "the refits of the bootstrap have a heavy tail %s, %.1f times a normal one, %s",
            low > high ? "below" : "above", out->value,
            out->level == ISO_LEVEL_FAIL ? "too heavy for any interval of them"
                                         : "which the interval is corrected for (BCa)");
}
