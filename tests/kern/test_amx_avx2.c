/* kern_amx.c with its tile instructions emulated (amx.h), against the reference. */
/* Vectors of 64 bytes pass between inlined functions only. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define ISO_BF16_EMULATE
#define ISO_VEC_PAIRS
#define ISO_VEC_TABLE table_under_test
#define ISO_VEC_NAME  "amx emulated"
extern const struct iso_kern table_under_test;
#include "../../src/kern/kern_amx.c"

#include "check_bf16.h"
