/* Elementary functions in plain arithmetic.  Those of the C library differ in their last bit from
 * version to version, and from CPU to CPU; what training computes must not.
 *
 * Errors: at most 4 units in the last place; of cos and sin 3e-16, for |x| up to 1.6e6; of pow
 * also |y ln x| 2e-16 of the result. */
#ifndef ISO_BASE_FMATH_H
#define ISO_BASE_FMATH_H

double iso_exp(double x);
double iso_expm1(double x);
double iso_log(double x);
double iso_log1p(double x);         /* x ≥ 0 */
double iso_pow(double x, double y); /* x > 0 */
double iso_cos(double x);
double iso_sin(double x);
double iso_tanh(double x);

#endif
