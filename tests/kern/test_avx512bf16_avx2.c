/* kern_avx512bf16.c with its dot product of pairs emulated, against the reference. */
/* Vectors of 64 bytes pass between inlined functions only. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define ISO_BF16_EMULATE
#define ISO_VEC_PAIRS
#define ISO_VEC_TABLE table_under_test
#define ISO_VEC_NAME  "avx512bf16 emulated"
extern const struct iso_kern table_under_test;
#include "../../src/kern/kern_avx512bf16.c"

#include "check_bf16.h"
