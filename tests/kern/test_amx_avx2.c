/* kern_amx.c with its tile instructions emulated (amx.h), against the reference. */
/* Vectors of 64 bytes pass between inlined functions only. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define ISO_BF16_EMULATE
#define ISO_VEC_PAIRS
#define ISO_VEC_FILL fill_under_test
struct iso_kern;
void fill_under_test(struct iso_kern *k);
#include "../../src/kern/kern_amx.c"

#define UNDER_TEST "amx emulated"
#include "check_bf16.h"
