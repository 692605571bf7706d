/* golden with bf16 products: ten optimiser steps against PyTorch in fp32.  The AVX-512 dot product
 * is emulated, so that this runs on every machine with AVX2. */
/* Vectors of 64 bytes pass between inlined functions only. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define ISO_BF16_EMULATE
#define ISO_VEC_PAIRS
#define ISO_VEC_TABLE bf16_table
#define ISO_VEC_NAME  "avx512bf16 emulated"
extern const struct iso_kern bf16_table;
#include "../../src/kern/kern_avx512bf16.c"

#define GOLDEN_TABLE bf16_table
#include "test_golden.c"
