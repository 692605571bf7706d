/* Elementary functions: see fmath.h.  Each reduces its argument to a small interval and sums the
 * Taylor series there; floor, frexp, ldexp and sqrt are exact in every C library. */
#include "base/fmath.h"

#include <math.h>

#define LOG2_E 1.4426950408889634
/* ln 2 and π/2 in pieces: the first ones have so few bits that whole numbers up to 2^20 times them
 * are exact. */
#define LN2_HI  0x1.62e42feep-1
#define LN2_LO  0x1.a39ef35793c76p-33
#define PI2_HI  0x1.921fb544p+0
#define PI2_MID 0x1.0b4611a6p-34
#define PI2_LO  0x1.3198a2e037073p-69

/* c[0] + c[1] x + ... + c[n-1] x^(n-1). */
static double series(const double *c, int n, double x)
{
    double sum = c[n - 1];
    for (int i = n - 2; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* x = n ln 2 + r with |r| ≤ ln 2 / 2: returns e^r − 1 = r + r² (1/2! + r/3! + ...). */
static double exp_part(double x, int *n)
{
    static const double c[] = {1 / 2.0,       1 / 6.0,        1 / 24.0,        1 / 120.0,
                               1 / 720.0,     1 / 5040.0,     1 / 40320.0,     1 / 362880.0,
                               1 / 3628800.0, 1 / 39916800.0, 1 / 479001600.0, 1 / 6227020800.0};
    double whole = floor(x * LOG2_E + 0.5), r = (x - whole * LN2_HI) - whole * LN2_LO;
    *n = (int)whole;
    return r + r * r * series(c, 12, r);
}

double iso_exp(double x)
{
    int n;
    if (!(x > -746)) /* also NaN */
        return isnan(x) ? x : 0;
    if (x > 710)
        return INFINITY;
    double part = exp_part(x, &n);
    return ldexp(1 + part, n);
}

double iso_expm1(double x)
{
    int n;
    if (!(x > -40))
        return isnan(x) ? x : -1;
    if (x > 40) /* the 1 is beyond the last digit */
        return iso_exp(x);
    double part = exp_part(x, &n);
    return ldexp(part, n) + (ldexp(1, n) - 1);
}

/* x = 2^n m with m in [√½, √2);  ln m = 2 artanh s = 2 s (1 + s²/3 + s⁴/5 + ...), s = (m−1)/(m+1).
 */
double iso_log(double x)
{
    static const double c[] = {1 / 3.0,  1 / 5.0,  1 / 7.0,  1 / 9.0,  1 / 11.0,
                               1 / 13.0, 1 / 15.0, 1 / 17.0, 1 / 19.0, 1 / 21.0};
    if (!(x > 0) || isinf(x))
        return x == 0 ? -INFINITY : x > 0 ? x : NAN;
    int n;
    double m = frexp(x, &n);
    if (m < 0.70710678118654752) {
        m *= 2;
        n--;
    }
    double s = (m - 1) / (m + 1), z = s * s;
    return n * LN2_HI + (n * LN2_LO + (2 * s + 2 * s * z * series(c, 10, z)));
}

/* Where 1 + x is rounded, the quotient makes up for it. */
double iso_log1p(double x)
{
    double u = 1 + x;
    return u == 1 || isinf(u) ? x : iso_log(u) * (x / (u - 1));
}

double iso_pow(double x, double y)
{
    return iso_exp(y * iso_log(x));
}

/* The sine of r + quarter π/2 for |r| ≤ π/4. */
static double sine_of(double r, unsigned quarter)
{
    static const double sin_c[] = {-1 / 6.0,          1 / 120.0,         -1 / 5040.0,
                                   1 / 362880.0,      -1 / 39916800.0,   1 / 6227020800.0,
                                   -1 / 1307674368e3, 1 / 355687428096e3};
    static const double cos_c[] = {1 / 24.0,          -1 / 720.0,          1 / 40320.0,
                                   -1 / 3628800.0,    1 / 479001600.0,     -1 / 87178291200.0,
                                   1 / 20922789888e3, -1 / 6402373705728e3};
    double z = r * r;
    double y =
        quarter % 2 ? 1 - (z / 2 - z * z * series(cos_c, 8, z)) : r + r * z * series(sin_c, 8, z);
    return quarter / 2 % 2 ? -y : y;
}

static double sine(double x, unsigned quarter)
{
    double n = floor(x * (1 / (2 * 0.78539816339744831)) + 0.5);
    if (!(fabs(n) < 0x1p52)) /* NaN, infinite, or without a fraction to speak of */
        return NAN;
    double r = ((x - n * PI2_HI) - n * PI2_MID) - n * PI2_LO;
    return sine_of(r, (unsigned)(n - 4 * floor(n / 4)) + quarter);
}

double iso_sin(double x)
{
    return sine(x, 0);
}

double iso_cos(double x)
{
    return sine(x, 1);
}

double iso_tanh(double x)
{
    double e = iso_expm1(2 * fabs(x)), y = isinf(e) ? 1 : e / (e + 2);
    return x < 0 ? -y : y;
}
