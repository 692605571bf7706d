/* What follows from a fit: see derived.h. */
#include "fit/derived.h"

#include "fit/linalg.h"

#include <math.h>

static void predict_runs(struct iso_derived *out, struct iso_arena *arena,
                         const struct iso_runs *runs, const struct iso_fit *fit)
{
    out->n_runs = runs->n;
    out->predicted = iso_arena_alloc(arena, runs->n + 1, sizeof(double));
    out->residual = iso_arena_alloc(arena, runs->n + 1, sizeof(double));
    out->n_eff = iso_arena_alloc(arena, runs->n + 1, sizeof(double));
    for (size_t i = 0; i < runs->n; i++) {
        out->predicted[i] = iso_fit_loss(fit, &runs->at[i]);
        out->residual[i] = runs->at[i].loss - out->predicted[i];
        out->n_eff[i] = iso_fit_n_eff(fit, &runs->at[i]);
    }
}

/* Over the runs of one r, or all of them when r is NaN. */
static struct iso_residual_stats stats_of(const struct iso_derived *d, const struct iso_runs *runs,
                                          double r)
{
    struct iso_residual_stats s = {.r = r};
    for (size_t i = 0; i < runs->n; i++) {
        if (!isnan(r) && runs->at[i].r != r)
            continue;
        s.n++;
        s.mean += d->residual[i];
        s.rmse += d->residual[i] * d->residual[i];
        s.max_abs = fmax(s.max_abs, fabs(d->residual[i]));
    }
    s.mean /= (double)s.n;
    s.rmse = sqrt(s.rmse / (double)s.n);
    return s;
}

/* The runs [first, first + n) are one cell; they are sorted by size. */
static struct iso_parabola parabola_of(struct iso_arena *arena, const struct iso_run *run, size_t n,
                                       const struct iso_flops_curve *curve)
{
    struct iso_parabola p = {
        .budget = run->budget, .r = run->r, .unshared = run->unshared, .n_runs = n};
    const double centre = log(iso_run_params(&run[n / 2]));
    double *x = iso_arena_alloc(arena, 3 * n, sizeof *x), *y = iso_arena_alloc(arena, n, sizeof *y);
    p.n_opt = p.d_opt = p.loss_opt = p.gap = NAN;
    for (size_t i = 0; i < n; i++) {
        const double t = log(iso_run_params(&run[i])) - centre;
        x[3 * i] = 1;
        x[3 * i + 1] = t;
        x[3 * i + 2] = t * t;
        y[i] = run[i].loss;
    }
    double c[3];
    if (n < 3 || !iso_least_squares(c, x, y, NULL, n, 3))
        return p;
    p.c[0] = c[0] - c[1] * centre + c[2] * centre * centre;
    p.c[1] = c[1] - 2 * c[2] * centre;
    p.c[2] = c[2];
    p.has_minimum = c[2] > 0;
    if (p.has_minimum) {
        p.n_opt = exp(centre - c[1] / (2 * c[2]));
        p.loss_opt = c[0] - c[1] * c[1] / (4 * c[2]);
        p.d_opt = p.budget / iso_flops_curve_at(curve, p.n_opt);
        p.inside = p.n_opt >= iso_run_params(&run[0]) && p.n_opt <= iso_run_params(&run[n - 1]);
    }
    return p;
}

/* Least squares of F / N = linear + root / sqrt(N), relative errors. */
struct iso_flops_curve iso_flops_curve_of(struct iso_arena *arena, const struct iso_runs *runs,
                                          double r)
{
    struct iso_flops_curve c = {.r = r, .n_min = INFINITY, .width = NAN, .embed = NAN};
    double *x = iso_arena_alloc(arena, 2 * runs->n, sizeof *x);
    double *y = iso_arena_alloc(arena, runs->n, sizeof *y), mean = 0, width = 0, embed = 0;
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++) {
        const struct iso_run *run = &runs->at[i];
        if (run->r != r)
            continue;
        const double size = iso_run_params(run);
        const double per_size = iso_run_flops_per_token(run) / size;
        x[2 * n] = 1 / per_size;
        x[2 * n + 1] = 1 / sqrt(size) / per_size;
        y[n++] = 1;
        mean += per_size;
        c.once += run->n_once / size;
        c.rec += run->n_rec / size;
        c.inject += run->n_inject / size;
        width += run->d_model / sqrt(size);
        embed += run->n_embed / sqrt(size);
        c.n_min = fmin(c.n_min, size);
        c.n_max = fmax(c.n_max, size);
    }
    double coefficient[2] = {mean / (double)n, 0};
    (void)iso_least_squares(coefficient, x, y, NULL, n, 2);
    if (!(coefficient[0] > 0) || !(coefficient[1] >= 0)) { /* sizes too close to distinguish */
        coefficient[0] = mean / (double)n;
        coefficient[1] = 0;
    }
    c.linear = coefficient[0];
    c.root = coefficient[1];
    c.once /= (double)n;
    c.rec /= (double)n;
    c.inject /= (double)n;
    c.width = width / (double)n;
    c.embed = embed / (double)n;
    for (size_t i = 0; i < n; i++)
        c.max_error = fmax(c.max_error, fabs(x[2 * i] * c.linear + x[2 * i + 1] * c.root - 1));
    return c;
}

double iso_flops_curve_at(const struct iso_flops_curve *curve, double n)
{
    return curve->linear * n + curve->root * sqrt(n);
}

struct iso_run iso_flops_curve_run(const struct iso_flops_curve *curve, double n, double budget)
{
    return (struct iso_run){.budget = budget,
                            .r = curve->r,
                            .n_once = curve->once * n,
                            .n_rec = curve->rec * n,
                            .n_inject = curve->inject * n,
                            .n_embed = curve->embed * sqrt(n),
                            .flops_per_token = iso_flops_curve_at(curve, n),
                            .tokens = budget / iso_flops_curve_at(curve, n),
                            .loss = NAN,
                            .s = NAN,
                            .d_model = curve->width * sqrt(n)};
}

static double loss_at(const struct iso_fit *fit, const struct iso_flops_curve *curve, double log_n,
                      double budget)
{
    const struct iso_run run = iso_flops_curve_run(curve, exp(log_n), budget);
    return iso_fit_loss(fit, &run);
}

struct iso_frontier_point iso_frontier_at(const struct iso_fit *fit,
                                          const struct iso_flops_curve *curve, double budget)
{
    /* The loss falls and then rises with N: golden-section search in ln N. */
    const double golden = 0.6180339887498949;
    double low = log(curve->n_min) - 7, high = log(curve->n_max) + 7;
    double x1 = high - golden * (high - low), x2 = low + golden * (high - low);
    double f1 = loss_at(fit, curve, x1, budget), f2 = loss_at(fit, curve, x2, budget);
    while (high - low > 1e-9) {
        if (f1 < f2) {
            high = x2, x2 = x1, f2 = f1;
            x1 = high - golden * (high - low);
            f1 = loss_at(fit, curve, x1, budget);
        } else {
            low = x1, x1 = x2, f1 = f2;
            x2 = low + golden * (high - low);
            f2 = loss_at(fit, curve, x2, budget);
        }
    }
    const double n = exp(0.5 * (low + high));
    const struct iso_run run = iso_flops_curve_run(curve, n, budget);
    return (struct iso_frontier_point){.budget = budget,
                                       .r = curve->r,
                                       .n_opt = n,
                                       .d_opt = run.tokens,
                                       .loss_opt = loss_at(fit, curve, log(n), budget),
                                       .d_model = run.d_model,
                                       .gap = NAN,
                                       .extrapolated = n < curve->n_min || n > curve->n_max};
}

/* Slope of ln y against ln x. */
static double exponent(const struct iso_frontier_point *p, size_t n, bool tokens)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = log(p[i].budget), y = log(tokens ? p[i].d_opt : p[i].n_opt);
        sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    const double m = (double)n, spread = sxx - sx * sx / m;
    return spread > 0 ? (sxy - sx * sy / m) / spread : NAN;
}

/* The range of numbers that come one by one. */
static void widen(double *low, double *high, double x)
{
    if (isnan(x))
        return;
    *low = isnan(*low) ? x : fmin(*low, x);
    *high = isnan(*high) ? x : fmax(*high, x);
}

/* The cell with r = 1 that another is compared with: of plain runs; where the anchor is the
 * unshared control, of as many iterations; NULL without any. */
static const struct iso_parabola *anchor_cell(const struct iso_derived *d,
                                              const struct iso_parabola *of)
{
    const double iterations = of->r == 1 ? of->unshared : of->r;
    const struct iso_parabola *best = NULL;
    for (size_t i = 0; i < d->n_parabolas; i++) {
        const struct iso_parabola *q = &d->parabola[i];
        if (q->r == 1 && q->budget == of->budget &&
            (!best || (best->unshared > 0 && q->unshared == iterations)))
            best = q;
    }
    return best;
}

void iso_derived_gaps(struct iso_derived *out, const struct iso_derived *reference)
{
    for (size_t i = 0; i < out->n_frontier; i++)
        for (size_t j = 0; j < reference->n_frontier; j++)
            if (reference->frontier[j].r == 1 &&
                reference->frontier[j].budget == out->frontier[i].budget)
                out->frontier[i].gap = out->frontier[i].loss_opt - reference->frontier[j].loss_opt;
    for (size_t i = 0; i < out->n_parabolas; i++) {
        struct iso_parabola *q = &out->parabola[i];
        const struct iso_parabola *one = anchor_cell(reference, q);
        if (one)
            q->gap = q->loss_opt - one->loss_opt;
    }
    for (size_t k = 0; k < out->n_exponents; k++) {
        struct iso_frontier_exponent *e = &out->exponent[k];
        e->gap_min = e->gap_max = e->optimum_gap_min = e->optimum_gap_max = NAN;
        for (size_t i = 0; i < out->n_frontier; i++)
            if (out->frontier[i].r == e->r)
                widen(&e->gap_min, &e->gap_max, out->frontier[i].gap);
        for (size_t i = 0; i < out->n_parabolas; i++)
            if (out->parabola[i].r == e->r)
                widen(&e->optimum_gap_min, &e->optimum_gap_max, out->parabola[i].gap);
    }
}

static void find_frontier(struct iso_derived *out, struct iso_arena *arena, const double *budget,
                          size_t n_budgets, const struct iso_fit *fit)
{
    out->frontier = iso_arena_alloc(arena, n_budgets * out->n_curves + 1, sizeof *out->frontier);
    out->exponent = iso_arena_alloc(arena, out->n_curves + 1, sizeof *out->exponent);
    for (size_t k = 0; k < out->n_curves; k++) {
        const struct iso_frontier_point *first = &out->frontier[out->n_frontier];
        for (size_t i = 0; i < n_budgets; i++)
            out->frontier[out->n_frontier++] = iso_frontier_at(fit, &out->curve[k], budget[i]);
        out->exponent[out->n_exponents++] =
            (struct iso_frontier_exponent){out->curve[k].r,
                                           exponent(first, n_budgets, false),
                                           exponent(first, n_budgets, true),
                                           NAN,
                                           NAN,
                                           NAN,
                                           NAN};
    }
    iso_derived_gaps(out, out);
}

static struct iso_equivalent equivalent_of(const struct iso_derived *d, size_t k,
                                           const struct iso_fit *fit)
{
    const struct iso_flops_curve *c = &d->curve[k], *plain = d->curve;
    struct iso_equivalent e = {.r = c->r, .unique = NAN, .effective = NAN};
    const struct iso_run run = iso_flops_curve_run(c, c->n_max, 1);
    const double n_eff = iso_fit_n_eff(fit, &run);
    e.blocks = iso_fit_worth(fit, c->r, 0);
    e.recovered = e.blocks / c->r;
    e.same_loss = n_eff / c->n_max;
    if (plain->r == 1) {
        e.unique = (plain->width / c->width) * (plain->width / c->width);
        e.effective = e.unique * e.same_loss;
    }
    return e;
}

void iso_derived_run(struct iso_derived *out, struct iso_arena *arena, const struct iso_runs *runs,
                     const struct iso_fit *fit)
{
    *out = (struct iso_derived){0};
    double *r, *budget;
    const size_t n_r = iso_runs_recurrences(&r, arena, runs);
    const size_t n_budgets = iso_runs_budgets(&budget, arena, runs);
    predict_runs(out, arena, runs, fit);
    out->stats = iso_arena_alloc(arena, n_r + 1, sizeof *out->stats);
    out->curve = iso_arena_alloc(arena, n_r + 1, sizeof *out->curve);
    for (size_t i = 0; i < n_r; i++) {
        out->stats[out->n_stats++] = stats_of(out, runs, r[i]);
        out->curve[out->n_curves++] = iso_flops_curve_of(arena, runs, r[i]);
    }
    if (n_r > 1)
        out->stats[out->n_stats++] = stats_of(out, runs, NAN);
    out->parabola = iso_arena_alloc(arena, runs->n + 1, sizeof *out->parabola);
    for (size_t i = 0; i < runs->n;) {
        size_t end = i, k = 0;
        while (end < runs->n && iso_same_cell(&runs->at[end], &runs->at[i]))
            end++;
        while (out->curve[k].r != runs->at[i].r)
            k++;
        if (end - i >= 3)
            out->parabola[out->n_parabolas++] =
                parabola_of(arena, &runs->at[i], end - i, &out->curve[k]);
        i = end;
    }
    /* A table in which every run has its own budget draws no frontier. */
    if (n_budgets < runs->n)
        find_frontier(out, arena, budget, n_budgets, fit);
    out->equivalent = iso_arena_alloc(arena, n_r + 1, sizeof *out->equivalent);
    for (size_t i = 0; i < n_r; i++)
        out->equivalent[out->n_equivalents++] = equivalent_of(out, i, fit);
}
