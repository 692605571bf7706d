/* The kernels for AVX2 and FMA: eight floats, micro-kernel 6 x 16. */
#define ISO_VEC_FILL iso_kern_fill_avx2
#include "kern/kern_vec.inc.h"
