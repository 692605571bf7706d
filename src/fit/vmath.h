/* exp and ln of whole arrays, about four times as fast as a loop over libm.
 *
 * Both are within 2 units in the last place.  They use plain multiplications and additions in a
 * fixed order (no fused ones), so the digits are the same with or without AVX2. */
#ifndef ISO_FIT_VMATH_H
#define ISO_FIT_VMATH_H

#include <stddef.h>

enum { ISO_LANES = 4 }; /* arrays are padded to a multiple of this */

/* out[i] = exp(in[i]) for in <= 700; 0 below -700.  n is a multiple of ISO_LANES. */
void iso_vexp(double *out, const double *in, size_t n);
/* out[i] = ln(in[i]) for normal positive numbers.  n is a multiple of ISO_LANES. */
void iso_vlog(double *out, const double *in, size_t n);

#endif
