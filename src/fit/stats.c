/* A few statistics: see stats.h. */
#include "fit/stats.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void iso_sort_doubles(double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare);
}

void iso_insert_double(double *list, size_t *n, double x)
{
    size_t at = *n;
    for (size_t i = 0; i < *n; i++)
        if (list[i] == x)
            return;
    for (; at > 0 && list[at - 1] > x; at--)
        list[at] = list[at - 1];
    list[at] = x;
    ++*n;
}

size_t iso_distinct_doubles(double *x, size_t n)
{
    size_t kept = 0;
    iso_sort_doubles(x, n);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || x[i] != x[kept - 1])
            x[kept++] = x[i];
    return kept;
}

double iso_percentile(const double *sorted, size_t n, double q)
{
    if (n == 0)
        return NAN;
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at < n - 1 ? (size_t)at : n - 1;
    const size_t j = i + 1 < n ? i + 1 : i;
    return sorted[i] + (at - (double)i) * (sorted[j] - sorted[i]);
}

double iso_median_abs(const double *x, size_t n)
{
    double *copy = ISO_NEW_N(double, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = fabs(x[i]);
    iso_sort_doubles(copy, n);
    const double median = iso_percentile(copy, n, 0.5);
    free(copy);
    return median;
}

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), from the front. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), result;
    d = 1 / (fabs(d) < tiny ? tiny : d);
    result = d;
    for (int m = 1; m < 1000; m++) {
        for (int odd = 0; odd < 2; odd++) {
            const double k = m;
            const double term = odd ? -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
                                    : k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
            d = 1 + term * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            c = fabs(c) < tiny ? tiny : c;
            result *= c * d;
        }
        if (fabs(c * d - 1) < 1e-15)
            break;
    }
    return result;
}

/* lgamma itself writes to a global variable; threads fit at the same time. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* The regularised incomplete beta function I_x(a, b). */
static double beta_inc(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    const double front =
        exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) /* where the fraction converges fast */
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double iso_f_tail(double f, double df1, double df2)
{
    if (!(f > 0))
        return 1;
    return beta_inc(df2 / 2, df1 / 2, df2 / (df2 + df1 * f));
}

double iso_normal_quantile(double share)
{
    double low = 0, high = 40;
    for (int i = 0; i < 100; i++) {
        const double middle = 0.5 * (low + high);
        if (erfc(middle / sqrt(2)) > 1 - share)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double iso_f_point(double tail, double df1, double df2)
{
    double low = 0, high = 1;
    while (high < 1e18 && iso_f_tail(high, df1, df2) > tail)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        const double middle = 0.5 * (low + high);
        if (iso_f_tail(middle, df1, df2) > tail)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double iso_t_quantile(double share, double df)
{
    return df > 0 ? sqrt(iso_f_point(1 - share, 1, df)) : NAN; /* t^2 is F with (1, df) */
}

double iso_mean_error(double sd, size_t df, size_t n)
{
    return n ? iso_t_quantile(0.95, (double)df) * sd / sqrt((double)n) : NAN;
}
