/* The kernels for AVX-512: sixteen floats, micro-kernel 14 x 32. */
#define ISO_VEC_FILL iso_kern_fill_avx512
#include "kern/kern_vec.inc.h"
