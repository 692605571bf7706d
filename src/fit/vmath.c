/* exp and ln of arrays: see vmath.h.
 *
 * exp(x): x = k ln 2 + t with |t| <= ln(2)/2, then the Taylor series of exp(t) to t^13, whose
 * remainder is below 5e-18.  ln 2 is split in two so that k ln 2 is exact in its first part.
 * ln(x): x = 2^k m with m in [sqrt(1/2), sqrt(2)), z = (m-1)/(m+1), |z| <= 0.172, then
 * ln m = 2 (z + z^3/3 + z^5/5 + ... + z^23/23), whose remainder is below 1e-20. */
#include "fit/vmath.h"

#include "fit/simd.h"

/* Adding this to |x| < 2^51 leaves the rounded integer in the low bits of the sum. */
#define ROUNDER 0x1.8p52
#define LN2_HI  0x1.62e42fefa0000p-1
#define LN2_LO  0x1.cf79abc9e3b3ap-40

ISO_INLINE v4d splat(double x)
{
    return (v4d){x, x, x, x};
}

ISO_INLINE v4d exp4(v4d x)
{
    const v4i too_small = x < splat(-700.0);
    x = (v4d)(((v4i)x & ~too_small) | ((v4i)splat(-700.0) & too_small));
    const v4d shifted = x * 1.4426950408889634 + ROUNDER;
    const v4d k = shifted - ROUNDER;
    const v4d t = (x - k * LN2_HI) - k * LN2_LO;
    v4d p = splat(1.0 / 6227020800.0);
    p = p * t + 1.0 / 479001600.0;
    p = p * t + 1.0 / 39916800.0;
    p = p * t + 1.0 / 3628800.0;
    p = p * t + 1.0 / 362880.0;
    p = p * t + 1.0 / 40320.0;
    p = p * t + 1.0 / 5040.0;
    p = p * t + 1.0 / 720.0;
    p = p * t + 1.0 / 120.0;
    p = p * t + 1.0 / 24.0;
    p = p * t + 1.0 / 6.0;
    p = p * t + 0.5;
    p = (p * t) * t + t + 1.0;
    /* The low bits of `shifted` are k; moved into the exponent they multiply by 2^k. */
    const v4i scale = ((v4i)shifted + 1023) << 52;
    return (v4d)((v4i)(p * (v4d)scale) & ~too_small);
}

ISO_INLINE v4d log4(v4d x)
{
    /* Subtracting the bits of sqrt(1/2) first puts the cut between exponents there. */
    const int64_t cut = 0x3fe6a09e667f3bcd;
    const v4i bits = (v4i)x - cut;
    const v4i k = bits >> 52; /* rounds down */
    const v4d m = (v4d)((v4i)x - (k << 52));
    const v4d kd = (v4d)((v4i)splat(ROUNDER) + k) - ROUNDER;
    const v4d z = (m - 1.0) / (m + 1.0), w = z * z;
    v4d p = splat(1.0 / 23.0);
    p = p * w + 1.0 / 21.0;
    p = p * w + 1.0 / 19.0;
    p = p * w + 1.0 / 17.0;
    p = p * w + 1.0 / 15.0;
    p = p * w + 1.0 / 13.0;
    p = p * w + 1.0 / 11.0;
    p = p * w + 1.0 / 9.0;
    p = p * w + 1.0 / 7.0;
    p = p * w + 1.0 / 5.0;
    p = p * w + 1.0 / 3.0;
    p = (p * w) * z + z;
    return kd * LN2_HI + (p * 2.0 + kd * LN2_LO);
}

ISO_INLINE void vexp_body(double *out, const double *in, size_t n)
{
    for (size_t i = 0; i < n; i += ISO_LANES)
        *(v4d *)(out + i) = exp4(*(const v4d *)(in + i));
}

ISO_INLINE void vlog_body(double *out, const double *in, size_t n)
{
    for (size_t i = 0; i < n; i += ISO_LANES)
        *(v4d *)(out + i) = log4(*(const v4d *)(in + i));
}

ISO_TWICE(, iso_vexp, vexp_body, (double *out, const double *in, size_t n), (out, in, n))
ISO_TWICE(, iso_vlog, vlog_body, (double *out, const double *in, size_t n), (out, in, n))
