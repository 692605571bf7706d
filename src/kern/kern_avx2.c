/* The kernel table for AVX2 and FMA: eight floats, micro-kernel 6 x 16. */
#define ISO_VEC_TABLE iso_kern_avx2
#define ISO_VEC_NAME  "avx2"
#include "kern/kern_vec.inc.h"
