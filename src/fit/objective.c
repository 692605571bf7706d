/* The objective and its derivatives: see objective.h.
 *
 * With u1 = a - alpha ln N, u2 = b - beta ln D, u3 = e, t_k = exp(u_k), S = t1 + t2 + t3 and
 * p_k = t_k / S, the predicted ln L is f = ln S (+ offset).  Then
 *     grad f  = sum_k p_k grad u_k
 *     hess f  = sum_k p_k grad u_k grad u_k' - grad f grad f' + p_1 hess u_1
 * with grad u1 = (1, x, y) in (a, alpha, phi), x = -ln N, y = -alpha d1, and grad u2 = (1, q) in
 * (b, beta), q = -ln D; hess u1 has -d1 at (alpha, phi) and -alpha d2 at (phi, phi).
 * For z = (f - ln L) / delta, Huber's psi is z cut to [-1, 1].  The objective is the sum of
 * w psi (z - psi/2), and its Hessian is the sum of k1 grad f grad f' + k2 hess f, where
 * k2 = w psi / delta and k1 = w / delta^2 where |z| < 1, else 0.  The IRLS form replaces k1 by
 * w psi / (z delta^2) and k2 by 0.
 *
 * In the box no exponential overflows and t3 >= exp(-3), so S needs no scaling. */
#include "fit/objective.h"

#include "base/mem.h"
#include "fit/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void iso_scratch_init(struct iso_scratch *s, size_t n)
{
    s->memory = iso_alloc_aligned(6 * n, sizeof(double));
    double **array[] = {&s->ln_n, &s->d1, &s->d2, &s->t_n, &s->t_d, &s->ln_s};
    for (size_t i = 0; i < 6; i++)
        *array[i] = s->memory + i * n;
}

void iso_scratch_release(struct iso_scratch *s)
{
    free(s->memory);
    *s = (struct iso_scratch){0};
}

/* Sums over the rows of a group, in the order in which they are accumulated: the objective, the
 * gradient by (a, alpha, phi, b, beta, e), the Hessian, and what an offset needs. */
enum sum {
    S_VALUE,
    G_A,
    G_ALPHA,
    G_PHI,
    G_B,
    G_BETA,
    G_E,
    H_A_A,
    H_A_ALPHA,
    H_A_PHI,
    H_ALPHA_ALPHA,
    H_ALPHA_PHI,
    H_PHI_PHI,
    H_B_B,
    H_B_BETA,
    H_BETA_BETA,
    H_E_E,
    H_A_B,
    H_ALPHA_B,
    H_PHI_B,
    H_A_BETA,
    H_ALPHA_BETA,
    H_PHI_BETA,
    H_A_E,
    H_ALPHA_E,
    H_PHI_E,
    H_B_E,
    H_BETA_E,
    G_O,
    H_A_O,
    H_ALPHA_O,
    H_PHI_O,
    H_B_O,
    H_BETA_O,
    H_E_O,
    H_O_O,
    N_SUMS,
    N_SUMS_PLAIN = G_O,
};

struct rows {
    const double *ln_n, *d1, *d2, *log_d, *log_l, *weight;
    double *t_n, *t_d, *ln_s; /* scratch */
    size_t n;
    double a, alpha, b, beta, e_term, offset, inv_delta;
    enum iso_curvature curvature;
    bool with_offset;
};

/* Adds the rows to sum[N_SUMS], four lanes each.  Whether there is an offset and which
 * curvature is wanted are constants where this is inlined. */
ISO_INLINE void sum_rows_body(v4d *sum, const struct rows *r, enum iso_curvature curvature,
                              bool with_offset)
{
    const v4d e_term = splat(r->e_term), inv_delta = splat(r->inv_delta);
    const v4d one = splat(1.0), zero = splat(0.0);
    /* Three short loops instead of one long one: their iterations overlap in the processor. */
    for (size_t i = 0; i < r->n; i += ISO_LANES) {
        store4(r->t_n + i, exp4(r->a - r->alpha * load4(r->ln_n + i)));
        store4(r->t_d + i, exp4(r->b - r->beta * load4(r->log_d + i)));
    }
    for (size_t i = 0; i < r->n; i += ISO_LANES)
        store4(r->ln_s + i, log4(load4(r->t_n + i) + load4(r->t_d + i) + e_term));
    for (size_t i = 0; i < r->n; i += ISO_LANES) {
        const v4d x = -load4(r->ln_n + i), q = -load4(r->log_d + i), w = load4(r->weight + i);
        const v4d t1 = load4(r->t_n + i), t2 = load4(r->t_d + i), s = t1 + t2 + e_term;
        const v4d z = (load4(r->ln_s + i) + r->offset - load4(r->log_l + i)) * inv_delta;
        const v4i low = z<splat(-1.0), high = z> one, inside = ~(low | high);
        const v4d psi = pick4(low, -one, pick4(high, one, z));
        sum[S_VALUE] += w * psi * (z - 0.5 * psi);

        const v4d inv_s = one / s;
        const v4d p1 = t1 * inv_s, p2 = t2 * inv_s, p3 = e_term * inv_s;
        const v4d d1 = load4(r->d1 + i), y = -r->alpha * d1;
        const v4d k = w * psi * inv_delta; /* d objective / d f */
        const v4d g1 = k * p1, g2 = k * p2;
        sum[G_A] += g1;
        sum[G_ALPHA] += g1 * x;
        sum[G_PHI] += g1 * y;
        sum[G_B] += g2;
        sum[G_BETA] += g2 * q;
        sum[G_E] += k * p3;
        if (with_offset)
            sum[G_O] += k;
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
        sum[H_A_PHI] += c11 * y;
        sum[H_ALPHA_ALPHA] += c11x * x;
        sum[H_ALPHA_PHI] += c11x * y;
        sum[H_PHI_PHI] += c11 * y * y;
        if (exact) {
            sum[H_ALPHA_PHI] -= k2 * p1 * d1;
            sum[H_PHI_PHI] -= k2 * p1 * r->alpha * load4(r->d2 + i);
        }
        sum[H_B_B] += c22;
        sum[H_B_BETA] += c22 * q;
        sum[H_BETA_BETA] += c22 * q * q;
        sum[H_E_E] += p3 * (h * p3 + k2);
        sum[H_A_B] += c12;
        sum[H_ALPHA_B] += c12 * x;
        sum[H_PHI_B] += c12 * y;
        sum[H_A_BETA] += c12q;
        sum[H_ALPHA_BETA] += c12q * x;
        sum[H_PHI_BETA] += c12q * y;
        sum[H_A_E] += c13;
        sum[H_ALPHA_E] += c13 * x;
        sum[H_PHI_E] += c13 * y;
        sum[H_B_E] += c23;
        sum[H_BETA_E] += c23 * q;
        if (with_offset) {
            sum[H_A_O] += k1 * p1;
            sum[H_ALPHA_O] += k1 * p1 * x;
            sum[H_PHI_O] += k1 * p1 * y;
            sum[H_B_O] += k1 * p2;
            sum[H_BETA_O] += k1 * p2 * q;
            sum[H_E_O] += k1 * p3;
            sum[H_O_O] += k1;
        }
    }
}

ISO_INLINE void sum_rows_any(double *out, const struct rows *r)
{
    v4d sum[N_SUMS];
    for (size_t i = 0; i < N_SUMS; i++)
        sum[i] = splat(0);
    if (r->with_offset)
        sum_rows_body(sum, r, r->curvature, true);
    else if (r->curvature == ISO_CURVE_EXACT)
        sum_rows_body(sum, r, ISO_CURVE_EXACT, false);
    else if (r->curvature == ISO_CURVE_IRLS)
        sum_rows_body(sum, r, ISO_CURVE_IRLS, false);
    else
        sum_rows_body(sum, r, ISO_CURVE_NONE, false);
    const size_t n = r->with_offset                   ? N_SUMS
                     : r->curvature == ISO_CURVE_NONE ? H_A_A
                                                      : N_SUMS_PLAIN;
    for (size_t i = 0; i < n; i++)
        out[i] = (sum[i][0] + sum[i][1]) + (sum[i][2] + sum[i][3]);
}

ISO_TWICE(static, sum_rows, sum_rows_any, (double *out, const struct rows *r), (out, r))

/* The sums of rows that share their parameters go to their places in gradient and Hessian. */
static void scatter(const double *s, double *gradient, double *hessian, size_t n_param,
                    const struct iso_row_group *g, enum iso_curvature curvature)
{
    static const struct {
        unsigned char sum, i, j;
    } place[] = {
        {H_A_A, 0, 0},       {H_A_ALPHA, 0, 1}, {H_A_PHI, 0, 5},      {H_ALPHA_ALPHA, 1, 1},
        {H_ALPHA_PHI, 1, 5}, {H_PHI_PHI, 5, 5}, {H_B_B, 2, 2},        {H_B_BETA, 2, 3},
        {H_BETA_BETA, 3, 3}, {H_E_E, 4, 4},     {H_A_B, 0, 2},        {H_ALPHA_B, 1, 2},
        {H_PHI_B, 5, 2},     {H_A_BETA, 0, 3},  {H_ALPHA_BETA, 1, 3}, {H_PHI_BETA, 5, 3},
        {H_A_E, 0, 4},       {H_ALPHA_E, 1, 4}, {H_PHI_E, 5, 4},      {H_B_E, 2, 4},
        {H_BETA_E, 3, 4},    {H_A_O, 0, 6},     {H_ALPHA_O, 1, 6},    {H_PHI_O, 5, 6},
        {H_B_O, 2, 6},       {H_BETA_O, 3, 6},  {H_E_O, 4, 6},        {H_O_O, 6, 6},
    };
    const size_t where[7] = {ISO_P_A, ISO_P_ALPHA, ISO_P_B, ISO_P_BETA, ISO_P_E, g->phi, g->offset};
    static const unsigned char slope[7] = {G_A, G_ALPHA, G_B, G_BETA, G_E, G_PHI, G_O};
    for (size_t i = 0; i < 7; i++)
        if (where[i] < n_param)
            gradient[where[i]] += s[slope[i]];
    if (curvature == ISO_CURVE_NONE)
        return;
    for (size_t k = 0; k < sizeof place / sizeof *place; k++) {
        const size_t i = where[place[k].i], j = where[place[k].j];
        if (i >= n_param || j >= n_param)
            continue;
        hessian[i * n_param + j] += s[place[k].sum];
        if (i != j)
            hessian[j * n_param + i] += s[place[k].sum];
    }
}

/* ln N_eff and its derivatives for every row. */
void iso_log_sizes(const struct iso_design *x, const double *param, struct iso_scratch *s)
{
    for (size_t g = 0; g < x->n_group; g++) {
        const struct iso_row_group *group = &x->group[g];
        const size_t i = group->first;
        x->law->log_n_eff(s->ln_n + i, s->d1 + i, s->d2 + i, x->n_once + i, x->n_rec + i, group->n,
                          group->r, group->phi < x->n_param ? param[group->phi] : 0.0);
    }
}

double iso_objective(const struct iso_design *x, const double *param, double *gradient,
                     double *hessian, enum iso_curvature curvature, struct iso_scratch *s)
{
    iso_log_sizes(x, param, s);
    const double e_term = exp(param[ISO_P_E]);
    double sum[N_SUMS], value = 0, unused[ISO_MAX_PARAM];
    if (!gradient)
        gradient = unused;
    memset(gradient, 0, x->n_param * sizeof *gradient);
    if (curvature != ISO_CURVE_NONE)
        memset(hessian, 0, x->n_param * x->n_param * sizeof *hessian);
    for (size_t g = 0; g < x->n_group;) {
        const struct iso_row_group *group = &x->group[g];
        const size_t i = group->first;
        size_t n = 0; /* groups that share their parameters are summed in one go */
        for (;
             g < x->n_group && x->group[g].phi == group->phi && x->group[g].offset == group->offset;
             g++)
            n += x->group[g].n;
        const bool with_offset = group->offset < x->n_param;
        const struct rows rows = {.ln_n = s->ln_n + i,
                                  .d1 = s->d1 + i,
                                  .d2 = s->d2 + i,
                                  .log_d = x->log_d + i,
                                  .log_l = x->log_l + i,
                                  .weight = x->weight + i,
                                  .t_n = s->t_n + i,
                                  .t_d = s->t_d + i,
                                  .ln_s = s->ln_s + i,
                                  .n = n,
                                  .a = param[ISO_P_A],
                                  .alpha = param[ISO_P_ALPHA],
                                  .b = param[ISO_P_B],
                                  .beta = param[ISO_P_BETA],
                                  .e_term = e_term,
                                  .offset = with_offset ? param[group->offset] : 0.0,
                                  .inv_delta = 1.0 / x->delta,
                                  .curvature = curvature,
                                  .with_offset = with_offset};
        sum_rows(sum, &rows);
        scatter(sum, gradient, hessian, x->n_param, group, curvature);
        value += sum[S_VALUE];
    }
    return value;
}

void iso_residuals(double *out, const struct iso_design *x, const double *param,
                   struct iso_scratch *s)
{
    iso_log_sizes(x, param, s);
    for (size_t g = 0; g < x->n_group; g++) {
        const struct iso_row_group *group = &x->group[g];
        const double offset = group->offset < x->n_param ? param[group->offset] : 0.0;
        for (size_t i = group->first; i < group->first + group->n; i++) {
            const double sum = exp(param[ISO_P_A] - param[ISO_P_ALPHA] * s->ln_n[i]) +
                               exp(param[ISO_P_B] - param[ISO_P_BETA] * x->log_d[i]) +
                               exp(param[ISO_P_E]);
            out[i] = x->weight[i] > 0 ? log(sum) + offset - x->log_l[i] : 0.0;
        }
    }
}
