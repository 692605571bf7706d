/* ln of whole arrays, several times as fast as a loop over libm; see simd.h for its accuracy. */
#ifndef ISO_FIT_VMATH_H
#define ISO_FIT_VMATH_H

#include <stddef.h>

/* out[i] = ln(in[i]) for normal positive numbers.  n is a multiple of 4; out may be in. */
void iso_vlog(double *out, const double *in, size_t n);

#endif
