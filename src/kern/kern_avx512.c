/* The kernel table for AVX-512: sixteen floats, micro-kernel 14 x 32. */
#define ISO_VEC_TABLE iso_kern_avx512
#define ISO_VEC_NAME  "avx512"
#include "kern/kern_vec.inc.h"
