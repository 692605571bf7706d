/* golden with bf16 products: ten optimiser steps against PyTorch in fp32.  The AVX-512 dot product
 * is emulated, so that this runs on every machine with AVX2. */
/* Vectors of 64 bytes pass between inlined functions only. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define ISO_BF16_EMULATE
#define ISO_VEC_PAIRS
#define ISO_VEC_FILL fill_golden
struct iso_kern;
void fill_golden(struct iso_kern *k);
#include "../../src/kern/kern_avx512bf16.c"

#define GOLDEN_TABLE "avx512bf16 emulated"
#include "test_golden.c"
