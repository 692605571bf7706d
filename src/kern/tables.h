/* What the kernel files share among themselves: the tables and the constants that all of them
 * must agree on.  Callers include kern.h instead. */
#ifndef ISO_KERN_TABLES_H
#define ISO_KERN_TABLES_H

#include "kern/kern.h"

#define ISO_NORM_EPS 1e-6 /* inside the root of every RMSNorm */

extern const struct iso_kern iso_kern_ref; /* complete: where every table begins */

/* The sets' fill functions; each file kern_<isa>.c has one. */
void iso_kern_fill_avx2(struct iso_kern *k);
void iso_kern_fill_avx512(struct iso_kern *k);
void iso_kern_fill_avx512bf16(struct iso_kern *k);
void iso_kern_fill_amx(struct iso_kern *k);

/* Multiply-adds of causal attention forward over one sequence: q·k and p·v for T(T+1)/2 pairs,
 * and for those with the `first` positions before the queries.
 * The backward has four products where the forward has two (its second computation of the
 * scores, which saves memory, is not counted). */
static inline uint64_t iso_attention_macs(size_t first, size_t T, size_t D)
{
    return (uint64_t)T * (2 * first + T + 1) * D;
}

/* Whether this CPU, and its operating system, can run a set. */
bool iso_cpu_any(void);
bool iso_cpu_avx2(void);
bool iso_cpu_avx512(void);
bool iso_cpu_avx512bf16(void);
bool iso_cpu_amx(void);
/* Whether AMD made it. */
bool iso_cpu_amd(void);

#endif
