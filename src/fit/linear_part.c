/* The three parameters that enter the law linearly: see solver.h.
 *
 * For given exponents and shapes the predicted loss is A N_eff^-alpha + B D^-beta + E, so the best
 * A, B and E are a least-squares problem in three unknowns, here of the relative error. */
#include "fit/solver.h"

#include "fit/simd.h"

#include <math.h>
#include <string.h>

/* Sums over rows of the products of the three columns, and of each column. */
enum sum { N_N, N_D, N_E, D_D, D_E, E_E, N, D, E, N_SUMS };

struct columns {
    const double *ln_n, *log_d, *log_l, *weight;
    size_t first, end;
    double alpha, beta, centre_n, centre_d, offset;
};

ISO_INLINE void sum_columns_body(v4d *sum, const struct columns *c)
{
    for (size_t i = c->first; i < c->end; i += ISO_LANES) {
        const v4d relative = exp4(c->offset - load4(c->log_l + i)), w = load4(c->weight + i);
        const v4d n = relative * exp4(-c->alpha * (load4(c->ln_n + i) - c->centre_n));
        const v4d d = relative * exp4(-c->beta * (load4(c->log_d + i) - c->centre_d));
        const v4d wn = w * n, wd = w * d, we = w * relative;
        sum[N_N] += wn * n;
        sum[N_D] += wn * d;
        sum[N_E] += wn * relative;
        sum[D_D] += wd * d;
        sum[D_E] += wd * relative;
        sum[E_E] += we * relative;
        sum[N] += wn;
        sum[D] += wd;
        sum[E] += we;
    }
}

ISO_TWICE(static, sum_columns, sum_columns_body, (v4d * sum, const struct columns *c), (sum, c))

/* Non-negative least squares in three unknowns: drops what comes out negative and solves again.
 * normal is 3 * 3, right has the sign that iso_solve_damped wants. */
static void solve_shares(double share[3], const double *normal, const double *right)
{
    const double zero[3] = {0};
    size_t use[3] = {0, 1, 2}, n = 3;
    while (n > 0) {
        double h[9], g[3], c[3] = {0};
        for (size_t i = 0; i < n; i++) {
            g[i] = right[use[i]];
            for (size_t j = 0; j < n; j++)
                h[i * n + j] = normal[use[i] * 3 + use[j]];
        }
        const bool solved = iso_solve_damped(c, h, zero, g, n, 0);
        size_t worst = 0;
        for (size_t i = 1; i < n; i++)
            worst = c[i] < c[worst] ? i : worst;
        if (solved && c[worst] > 0) {
            for (size_t i = 0; i < n; i++)
                share[use[i]] = c[i];
            return;
        }
        n--;
        memmove(use + worst, use + worst + 1, (n - worst) * sizeof *use);
    }
}

/* Weighted means of ln N and ln D: seen from there the columns are of the order of 1. */
static void find_centre(struct columns *c, const struct iso_design *x)
{
    double weight = 0;
    for (size_t i = 0; i < x->n; i++) {
        c->centre_n += x->weight[i] * c->ln_n[i];
        c->centre_d += x->weight[i] * c->log_d[i];
        weight += x->weight[i];
    }
    c->centre_n /= weight;
    c->centre_d /= weight;
}

static void put(double *param, const struct iso_design *x, size_t p, double value)
{
    param[p] = fmin(fmax(value, x->lower[p]), x->upper[p]);
}

/* A term whose logarithm is `share` at the centre.  Where its factor does not fit into the box, the
 * exponent gives way: along the edge of the box a descent crawls. */
static void put_term(double *param, const struct iso_design *x, size_t factor, size_t exponent,
                     double share, double centre)
{
    const double wanted = share + param[exponent] * centre;
    put(param, x, factor, wanted);
    if (param[factor] != wanted && x->lower[factor] < x->upper[factor])
        put(param, x, exponent, (param[factor] - share) / centre);
}

void iso_solve_linear_part(double *param, const struct iso_design *x, struct iso_scratch *s)
{
    const double least = 0.02; /* nats of a term: from 0 there is no way back */
    v4d lanes[N_SUMS];
    double sum[N_SUMS], share[3] = {0};
    iso_log_sizes(x, param, s);
    struct columns c = {.ln_n = s->ln_n,
                        .log_d = x->log_d,
                        .log_l = x->log_l,
                        .weight = x->weight,
                        .alpha = param[ISO_P_ALPHA],
                        .beta = param[ISO_P_BETA]};
    find_centre(&c, x);
    memset(lanes, 0, sizeof lanes);
    for (size_t g = 0; g < x->n_group; g++) {
        const struct iso_row_group *group = &x->group[g];
        c.first = group->first;
        c.end = group->first + group->n;
        c.offset = group->offset == ISO_NO_PARAM ? 0 : param[group->offset];
        sum_columns(lanes, &c);
    }
    for (size_t i = 0; i < N_SUMS; i++)
        sum[i] = (lanes[i][0] + lanes[i][1]) + (lanes[i][2] + lanes[i][3]);
    const double normal[9] = {sum[N_N], sum[N_D], sum[N_E], sum[N_D], sum[D_D],
                              sum[D_E], sum[N_E], sum[D_E], sum[E_E]};
    const double right[3] = {-sum[N], -sum[D], -sum[E]};
    solve_shares(share, normal, right);
    put(param, x, ISO_P_E, log(fmax(share[2], least)));
    put_term(param, x, ISO_P_A, ISO_P_ALPHA, log(fmax(share[0], least)), c.centre_n);
    put_term(param, x, ISO_P_B, ISO_P_BETA, log(fmax(share[1], least)), c.centre_d);
}
