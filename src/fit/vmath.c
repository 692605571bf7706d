/* ln of arrays: see vmath.h. */
#include "fit/vmath.h"

#include "fit/simd.h"

ISO_INLINE void vlog_body(double *out, const double *in, size_t n)
{
    for (size_t i = 0; i < n; i += ISO_LANES)
        store4(out + i, log4(load4(in + i)));
}

ISO_TWICE(, iso_vlog, vlog_body, (double *out, const double *in, size_t n), (out, in, n))
