/* The saturating law: see saturate.h.
 *
 * Method: at a given rate z the law is linear in (L_inf, Z), whose least squares are in closed
 * form; the remaining sum of squares is a function of z alone, which is scanned on a grid of log z
 * and then narrowed by golden section. */
#include "fit/saturate.h"

#include <math.h>

enum { FEWEST = 4, SCAN = 400, NARROW = 100 };
static const double LOG_Z_LOW = -7, LOG_Z_HIGH = 5; /* e^-7: all but a line; e^5: gone at once */

struct curve {
    const double *T, *L;
    size_t n;
    double mu;
};

/* Best L_inf and Z at this rate; gives the sum of squares left. */
static double solve(struct iso_saturation *out, const struct curve *c, double log_z)
{
    double z = exp(log_z), n = (double)c->n, mean_x = 0, mean_y = 0, xx = 0, xy = 0, left = 0;
    for (size_t i = 0; i < c->n; i++) {
        mean_x += exp(-z * c->T[i] / c->mu) / n;
        mean_y += c->L[i] / n;
    }
    for (size_t i = 0; i < c->n; i++) {
        double x = exp(-z * c->T[i] / c->mu) - mean_x;
        xx += x * x;
        xy += x * (c->L[i] - mean_y);
    }
    out->rate = z;
    out->gain = xx > 0 ? xy / xx : 0;
    out->floor = mean_y - out->gain * mean_x;
    for (size_t i = 0; i < c->n; i++) {
        double miss = c->L[i] - out->floor - out->gain * exp(-z * c->T[i] / c->mu);
        left += miss * miss;
    }
    out->rmse = sqrt(left / n);
    return left;
}

static double scan(const struct curve *c)
{
    struct iso_saturation s;
    double best = LOG_Z_LOW, least = INFINITY;
    for (int i = 0; i <= SCAN; i++) {
        double at = LOG_Z_LOW + (LOG_Z_HIGH - LOG_Z_LOW) * i / SCAN, left = solve(&s, c, at);
        if (left < least) {
            least = left;
            best = at;
        }
    }
    return best;
}

struct iso_saturation iso_saturation_fit(const double *T, const double *L, size_t n, double mu)
{
    const struct curve c = {T, L, n, mu};
    struct iso_saturation s = {.state = ISO_SATURATION_FITTED};
    for (size_t i = 1; i < n; i++)
        if (L[i] > L[i - 1])
            return (struct iso_saturation){
                .state = ISO_SATURATION_RISES, .from = T[i - 1], .to = T[i]};
    if (n < FEWEST)
        return (struct iso_saturation){.state = ISO_SATURATION_FEW};
    const double golden = (sqrt(5) - 1) / 2;
    double middle = scan(&c), step = (LOG_Z_HIGH - LOG_Z_LOW) / SCAN;
    double lo = middle - step, hi = middle + step;
    for (int i = 0; i < NARROW; i++) {
        double a = hi - golden * (hi - lo), b = lo + golden * (hi - lo);
        if (solve(&s, &c, a) < solve(&s, &c, b))
            hi = b;
        else
            lo = a;
    }
    solve(&s, &c, (lo + hi) / 2);
    return s;
}

void iso_saturation_put(struct iso_table *t, const struct iso_saturation *s)
{
    if (s->state == ISO_SATURATION_FITTED) {
        iso_table_putf(t, "%.4f", s->floor);
        iso_table_putf(t, "%.4g", s->gain);
        iso_table_putf(t, "%.3g", s->rate);
        iso_table_putf(t, "%.2g", s->rmse);
        iso_table_put(t, "");
        return;
    }
    for (int i = 0; i < 4; i++)
        iso_table_put(t, "-");
    if (s->state == ISO_SATURATION_RISES)
        iso_table_putf(t, "rises from T = %g to %g", s->from, s->to);
    else
        iso_table_putf(t, "fewer than %d depths", FEWEST);
}
