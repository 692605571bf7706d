/* A few statistics. */
#ifndef ISO_FIT_STATS_H
#define ISO_FIT_STATS_H

#include <stddef.h>

void iso_sort_doubles(double *x, size_t n);
/* Sorts and keeps each number once; gives how many are left. */
size_t iso_distinct_doubles(double *x, size_t n);
/* Puts x into its place of a rising list, which has room for it, unless it is there. */
void iso_insert_double(double *list, size_t *n, double x);
/* Percentile of sorted numbers, q in [0, 1], with linear interpolation (NumPy's default). */
double iso_percentile(const double *sorted, size_t n, double q);
/* Median of |x|. */
double iso_median_abs(const double *x, size_t n);
/* The x with P(|z| <= x) = share for a normal z. */
double iso_normal_quantile(double share);
/* The x with P(|t| <= x) = share for Student's t; NaN without degrees of freedom. */
double iso_t_quantile(double share, double df);
/* Half of a 95 % interval of a mean of n values whose standard deviation sd was estimated with df
 * degrees of freedom (Student's t); NaN without any. */
double iso_mean_error(double sd, size_t df, size_t n);
/* P(F > f) for Fisher's F with (df1, df2) degrees of freedom. */
double iso_f_tail(double f, double df1, double df2);
/* The f that F exceeds with probability `tail`. */
double iso_f_point(double tail, double df1, double df2);

#endif
