/* The objective and its derivatives: see objective.h.
 *
 * The runs of a group share u and w, so the vector loop knows one shape, l = ln w, and the chain
 * rule adds what the law's parameters theta make of it, once for each group.
 *
 * With u1 = a - alpha ln N, u2 = b - beta ln D, u3 = e, t_k = exp(u_k), S = t1 + t2 + t3 and
 * p_k = t_k / S, the predicted ln L is f = ln S (+ offset).  Then
 *     grad f  = sum_k p_k grad u_k
 *     hess f  = sum_k p_k grad u_k grad u_k' - grad f grad f' + p_1 hess u_1
 * with grad u1 = (1, x, y) in (a, alpha, l), x = -ln N, y = -alpha s, s = w N_rec / N_eff, and
 * grad u2 = (1, q) in (b, beta), q = -ln D; hess u1 has -s at (alpha, l) and -alpha s (1 - s) at
 * (l, l).
 * For z = (f - ln L) / delta, Huber's psi is z cut to [-1, 1].  The objective is the sum of
 * w psi (z - psi/2), and its Hessian is the sum of k1 grad f grad f' + k2 hess f, where
 * k2 = w psi / delta and k1 = w / delta^2 where |z| < 1, else 0.  The IRLS form replaces k1 by
 * w psi / (z delta^2) and k2 by 0.
 * The chain rule: with l_i = dl/dtheta_i and l_ij likewise, the gradient is l_i g_l, and the
 * Hessian l_i l_j h_ll + l_ij g_l; the IRLS form leaves out the last term too, so that it is never
 * negative.
 *
 * In the box no exponential overflows and t3 >= exp(-3), so S needs no scaling. */
#include "fit/objective.h"

#include "base/mem.h"
#include "fit/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums over rows: the objective, the gradient by (a, alpha, b, beta, e) and the Hessian. */
enum sum {
    S_VALUE,
    G_A,
    G_ALPHA,
    G_B,
    G_BETA,
    G_E,
    H_A_A,
    H_A_ALPHA,
    H_ALPHA_ALPHA,
    H_B_B,
    H_B_BETA,
    H_BETA_BETA,
    H_E_E,
    H_A_B,
    H_ALPHA_B,
    H_A_BETA,
    H_ALPHA_BETA,
    H_A_E,
    H_ALPHA_E,
    H_B_E,
    H_BETA_E,
    N_SUMS,
};

/* And those that belong to one group: by its l = ln w (L) and its offset (O).  The places of the
 * five shared parameters in each half are those of ISO_P_*. */
enum own_sum {
    H_A_L,
    H_ALPHA_L,
    H_B_L,
    H_BETA_L,
    H_E_L,
    G_L,
    H_L_L,
    H_A_O,
    H_ALPHA_O,
    H_B_O,
    H_BETA_O,
    H_E_O,
    G_O,
    H_L_O,
    H_O_O,
    N_OWN_SUMS,
};

void iso_scratch_init(struct iso_scratch *s, size_t n)
{
    double **array[] = {&s->ln_n, &s->share, &s->t_n, &s->t_d, &s->ln_s};
    const size_t n_arrays = sizeof array / sizeof *array;
    s->memory = iso_alloc_aligned(n_arrays * n, sizeof(double));
    for (size_t i = 0; i < n_arrays; i++)
        *array[i] = s->memory + i * n;
    const size_t groups = n / ISO_LANES + 1; /* no group has fewer rows */
    s->worth = ISO_NEW_N(struct iso_worth, groups);
    s->own = ISO_NEW_N(double, groups *N_OWN_SUMS);
}

void iso_scratch_release(struct iso_scratch *s)
{
    free(s->memory);
    free(s->worth);
    free(s->own);
    *s = (struct iso_scratch){0};
}

struct rows {
    const double *ln_n, *share, *log_d, *log_l, *weight;
    double *t_n, *t_d, *ln_s; /* scratch */
    size_t n, n_group;
    const struct iso_row_group *group;
    const double *param;
    double a, alpha, b, beta, e_term, inv_delta;
    enum iso_curvature curvature;
    bool with_offset; /* some group has one */
};

ISO_INLINE void fill_sizes_body(double *ln_n, double *share, const double *n_once,
                                const double *n_rec, size_t n, const struct iso_worth *at)
{
    for (size_t i = 0; i < n; i += ISO_LANES) {
        const v4d looped = at->w * load4(n_rec + i), n_eff = at->u * load4(n_once + i) + looped;
        store4(share + i, looped / n_eff);
        store4(ln_n + i, log4(n_eff));
    }
}

ISO_TWICE(static, fill_sizes, fill_sizes_body,
          (double *ln_n, double *share, const double *n_once, const double *n_rec, size_t n,
           const struct iso_worth *at),
          (ln_n, share, n_once, n_rec, n, at))

/* The terms of the law.  Short loops of their own: their iterations overlap in the processor. */
ISO_INLINE void fill_terms_body(const struct rows *r)
{
    for (size_t i = 0; i < r->n; i += ISO_LANES) {
        store4(r->t_n + i, exp4(r->a - r->alpha * load4(r->ln_n + i)));
        store4(r->t_d + i, exp4(r->b - r->beta * load4(r->log_d + i)));
    }
    for (size_t i = 0; i < r->n; i += ISO_LANES)
        store4(r->ln_s + i, log4(load4(r->t_n + i) + load4(r->t_d + i) + splat(r->e_term)));
}

ISO_TWICE(static, fill_terms, fill_terms_body, (const struct rows *r), (r))

static double offset_of(const struct iso_row_group *group, const double *param)
{
    return group->offset == ISO_NO_PARAM ? 0 : param[group->offset];
}

/* Adds the rows of a group to sum[N_SUMS] and own[N_OWN_SUMS], four lanes each.  Whether there is
 * an offset and which curvature is wanted are constants where this is inlined. */
ISO_INLINE void sum_group(v4d *sum, v4d *own, const struct rows *r,
                          const struct iso_row_group *group, enum iso_curvature curvature,
                          bool with_offset)
{
    const double offset = with_offset ? offset_of(group, r->param) : 0;
    const v4d e_term = splat(r->e_term), inv_delta = splat(r->inv_delta);
    const v4d one = splat(1.0), zero = splat(0.0);
    for (size_t i = group->first; i < group->first + group->n; i += ISO_LANES) {
        const v4d x = -load4(r->ln_n + i), q = -load4(r->log_d + i), w = load4(r->weight + i);
        const v4d t1 = load4(r->t_n + i), t2 = load4(r->t_d + i), s = t1 + t2 + e_term;
        const v4d z = (load4(r->ln_s + i) + offset - load4(r->log_l + i)) * inv_delta;
        const v4i low = (v4i)(z < -one), high = (v4i)(one < z), inside = ~(low | high);
        const v4d psi = pick4(low, -one, pick4(high, one, z));
        sum[S_VALUE] += w * psi * (z - 0.5 * psi);

        const v4d inv_s = one / s;
        const v4d p1 = t1 * inv_s, p2 = t2 * inv_s, p3 = e_term * inv_s;
        const v4d share = load4(r->share + i), y = -r->alpha * share;
        const v4d k = w * psi * inv_delta; /* d objective / d f */
        const v4d g1 = k * p1, g2 = k * p2;
        sum[G_A] += g1;
        sum[G_ALPHA] += g1 * x;
        sum[G_B] += g2;
        sum[G_BETA] += g2 * q;
        sum[G_E] += k * p3;
        own[G_L] += g1 * y;
        if (with_offset)
            own[G_O] += k;
        if (curvature == ISO_CURVE_NONE)
            continue;

        const bool exact = curvature == ISO_CURVE_EXACT;
        const v4d unit = w * inv_delta * inv_delta;
        const v4d irls = unit * pick4(inside, one, one / pick4(inside, one, pick4(low, -z, z)));
        const v4d k1 = exact ? pick4(inside, unit, zero) : irls;
        const v4d k2 = exact ? k : zero;
        const v4d h = k1 - k2;
        const v4d c11 = p1 * (h * p1 + k2), c22 = p2 * (h * p2 + k2), c12 = h * p1 * p2;
        const v4d c13 = h * p1 * p3, c23 = h * p2 * p3;
        const v4d c11x = c11 * x, c12q = c12 * q;
        sum[H_A_A] += c11;
        sum[H_A_ALPHA] += c11x;
        sum[H_ALPHA_ALPHA] += c11x * x;
        sum[H_B_B] += c22;
        sum[H_B_BETA] += c22 * q;
        sum[H_BETA_BETA] += c22 * q * q;
        sum[H_E_E] += p3 * (h * p3 + k2);
        sum[H_A_B] += c12;
        sum[H_ALPHA_B] += c12 * x;
        sum[H_A_BETA] += c12q;
        sum[H_ALPHA_BETA] += c12q * x;
        sum[H_A_E] += c13;
        sum[H_ALPHA_E] += c13 * x;
        sum[H_B_E] += c23;
        sum[H_BETA_E] += c23 * q;
        own[H_A_L] += c11 * y;
        own[H_ALPHA_L] += c11x * y;
        own[H_B_L] += c12 * y;
        own[H_BETA_L] += c12q * y;
        own[H_E_L] += c13 * y;
        own[H_L_L] += c11 * y * y;
        if (exact) {
            own[H_ALPHA_L] -= g1 * share;
            own[H_L_L] += g1 * y * (one - share);
        }
        if (with_offset) {
            own[H_A_O] += k1 * p1;
            own[H_ALPHA_O] += k1 * p1 * x;
            own[H_B_O] += k1 * p2;
            own[H_BETA_O] += k1 * p2 * q;
            own[H_E_O] += k1 * p3;
            own[H_L_O] += k1 * p1 * y;
            own[H_O_O] += k1;
        }
    }
}

ISO_INLINE void sum_groups(double *total, double *own_total, const struct rows *r,
                           enum iso_curvature curvature, bool with_offset)
{
    v4d sum[N_SUMS], own[N_OWN_SUMS];
    memset(sum, 0, sizeof sum);
    for (size_t g = 0; g < r->n_group; g++) {
        memset(own, 0, sizeof own);
        sum_group(sum, own, r, &r->group[g], curvature, with_offset);
        for (size_t i = 0; i < (with_offset ? N_OWN_SUMS : H_A_O); i++)
            own_total[g * N_OWN_SUMS + i] = (own[i][0] + own[i][1]) + (own[i][2] + own[i][3]);
    }
    for (size_t i = 0; i < N_SUMS; i++)
        total[i] = (sum[i][0] + sum[i][1]) + (sum[i][2] + sum[i][3]);
}

/* Fills total[N_SUMS], and own_total[N_OWN_SUMS] for each group. */
ISO_INLINE void sum_rows_body(double *total, double *own_total, const struct rows *r)
{
    if (r->with_offset)
        sum_groups(total, own_total, r, r->curvature, true);
    else if (r->curvature == ISO_CURVE_EXACT)
        sum_groups(total, own_total, r, ISO_CURVE_EXACT, false);
    else if (r->curvature == ISO_CURVE_IRLS)
        sum_groups(total, own_total, r, ISO_CURVE_IRLS, false);
    else
        sum_groups(total, own_total, r, ISO_CURVE_NONE, false);
}

ISO_TWICE(static, sum_rows, sum_rows_body, (double *total, double *own_total, const struct rows *r),
          (total, own_total, r))

struct derivatives {
    double *gradient, *hessian;
    size_t n_param;
    enum iso_curvature curvature;
};

static void add_pair(const struct derivatives *d, size_t i, size_t j, double x)
{
    d->hessian[i * d->n_param + j] += x;
    if (i != j)
        d->hessian[j * d->n_param + i] += x;
}

/* The sums over all rows go to their places. */
static void add_shared(const struct derivatives *d, const double *s)
{
    static const struct {
        unsigned char sum, i, j;
    } place[] = {
        {H_A_A, 0, 0},    {H_A_ALPHA, 0, 1}, {H_ALPHA_ALPHA, 1, 1}, {H_B_B, 2, 2},
        {H_B_BETA, 2, 3}, {H_E_E, 4, 4},     {H_BETA_BETA, 3, 3},   {H_A_B, 0, 2},
        {H_A_BETA, 0, 3}, {H_ALPHA_B, 1, 2}, {H_ALPHA_BETA, 1, 3},  {H_A_E, 0, 4},
        {H_B_E, 2, 4},    {H_ALPHA_E, 1, 4}, {H_BETA_E, 3, 4},
    };
    for (size_t i = 0; i < ISO_P_SHAPE; i++)
        d->gradient[i] += s[G_A + i];
    for (size_t k = 0; d->curvature != ISO_CURVE_NONE && k < sizeof place / sizeof *place; k++)
        add_pair(d, place[k].i, place[k].j, s[place[k].sum]);
}

/* The chain rule from l = ln w of a group to the shape parameters. */
static void add_shapes(const struct derivatives *d, const double *own,
                       const struct iso_row_group *g, size_t n_shape, const struct iso_worth *at)
{
    for (size_t i = 0; g->r > 1 && i < n_shape; i++) { /* at r = 1 the worth is 1 */
        const size_t p = g->shape[i];
        const double slope = at->d1[i] / at->w; /* dl / dtheta_i */
        if (p == ISO_NO_PARAM)
            continue;
        d->gradient[p] += slope * own[G_L];
        if (d->curvature == ISO_CURVE_NONE)
            continue;
        for (size_t k = 0; k < ISO_P_SHAPE; k++)
            add_pair(d, k, p, slope * own[H_A_L + k]);
        if (g->offset != ISO_NO_PARAM)
            add_pair(d, g->offset, p, slope * own[H_L_O]);
        for (size_t j = i; j < n_shape; j++) {
            const double other = at->d1[j] / at->w, bend = at->d2[i][j] / at->w - slope * other;
            if (g->shape[j] != ISO_NO_PARAM)
                add_pair(d, p, g->shape[j],
                         slope * other * own[H_L_L] +
                             (d->curvature == ISO_CURVE_EXACT ? bend * own[G_L] : 0));
        }
    }
}

static void add_offset(const struct derivatives *d, const double *own, size_t offset)
{
    d->gradient[offset] += own[G_O];
    if (d->curvature == ISO_CURVE_NONE)
        return;
    for (size_t k = 0; k < ISO_P_SHAPE; k++)
        add_pair(d, k, offset, own[H_A_O + k]);
    add_pair(d, offset, offset, own[H_O_O]);
}

static void find_worth(struct iso_worth *out, const struct iso_design *x,
                       const struct iso_row_group *group, const double *param)
{
    double theta[ISO_MAX_SHAPE]; /* at r = 1 none of them matters */
    for (size_t i = 0; i < x->n_shape; i++)
        theta[i] = group->shape[i] == ISO_NO_PARAM ? 0 : param[group->shape[i]];
    iso_law_at(out, x->law, group->r, theta);
}

void iso_log_sizes(const struct iso_design *x, const double *param, struct iso_scratch *s)
{
    for (size_t g = 0; g < x->n_group; g++) {
        const size_t i = x->group[g].first;
        find_worth(&s->worth[g], x, &x->group[g], param);
        fill_sizes(s->ln_n + i, s->share + i, x->n_once + i, x->n_rec + i, x->group[g].n,
                   &s->worth[g]);
    }
}

static struct rows all_rows(const struct iso_design *x, const double *param,
                            enum iso_curvature curvature, struct iso_scratch *s)
{
    bool with_offset = false;
    for (size_t g = 0; g < x->n_group; g++)
        with_offset |= x->group[g].offset != ISO_NO_PARAM;
    return (struct rows){.ln_n = s->ln_n,
                         .share = s->share,
                         .log_d = x->log_d,
                         .log_l = x->log_l,
                         .weight = x->weight,
                         .t_n = s->t_n,
                         .t_d = s->t_d,
                         .ln_s = s->ln_s,
                         .n = x->n,
                         .n_group = x->n_group,
                         .group = x->group,
                         .param = param,
                         .a = param[ISO_P_A],
                         .alpha = param[ISO_P_ALPHA],
                         .b = param[ISO_P_B],
                         .beta = param[ISO_P_BETA],
                         .e_term = exp(param[ISO_P_E]),
                         .inv_delta = 1.0 / x->delta,
                         .curvature = curvature,
                         .with_offset = with_offset};
}

double iso_objective_sized(const struct iso_design *x, const double *param, double *gradient,
                           double *hessian, enum iso_curvature curvature, struct iso_scratch *s)
{
    double unused[ISO_MAX_PARAM], sum[N_SUMS];
    const struct derivatives d = {gradient ? gradient : unused, hessian, x->n_param, curvature};
    const struct rows rows = all_rows(x, param, curvature, s);
    memset(d.gradient, 0, x->n_param * sizeof *gradient);
    if (curvature != ISO_CURVE_NONE)
        memset(hessian, 0, x->n_param * x->n_param * sizeof *hessian);
    fill_terms(&rows);
    sum_rows(sum, s->own, &rows);
    for (size_t g = 0; g < x->n_group; g++) {
        const double *own = s->own + g * N_OWN_SUMS;
        add_shapes(&d, own, &x->group[g], x->n_shape, &s->worth[g]);
        if (x->group[g].offset != ISO_NO_PARAM)
            add_offset(&d, own, x->group[g].offset);
    }
    add_shared(&d, sum);
    return sum[S_VALUE];
}

double iso_objective(const struct iso_design *x, const double *param, double *gradient,
                     double *hessian, enum iso_curvature curvature, struct iso_scratch *s)
{
    iso_log_sizes(x, param, s);
    return iso_objective_sized(x, param, gradient, hessian, curvature, s);
}

void iso_residuals(double *out, const struct iso_design *x, const double *param,
                   struct iso_scratch *s)
{
    iso_log_sizes(x, param, s);
    for (size_t g = 0; g < x->n_group; g++) {
        const struct iso_row_group *group = &x->group[g];
        const double offset = offset_of(group, param);
        for (size_t i = group->first; i < group->first + group->n; i++) {
            const double sum = exp(param[ISO_P_A] - param[ISO_P_ALPHA] * s->ln_n[i]) +
                               exp(param[ISO_P_B] - param[ISO_P_BETA] * x->log_d[i]) +
                               exp(param[ISO_P_E]);
            out[i] = x->weight[i] > 0 ? log(sum) + offset - x->log_l[i] : 0.0;
        }
    }
}
