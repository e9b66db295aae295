/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>

/* Instruction sets that have kernels of their own, as bits of a mask. */
enum cpu_feature {
    CPU_SSE2 = 1 << 0,
    CPU_AVX2 = 1 << 1,
    CPU_AVX512 = 1 << 2, /* AVX-512 F, BW and VBMI, and also GFNI */
    CPU_NEON = 1 << 3,   /* of arm64, which always has it */
    CPU_VX = 1 << 4,     /* the vector facility of s390x, since z13 */
};

/*
 * Return the features that both this CPU and its operating system support, as a
 * mask of cpu_feature.
 *
 * The environment variable FRAMEFS_CPU narrows the mask.  It is a
 * comma-separated list such as "sse2", or "portable" for no feature.  It never
 * adds a feature that the CPU lacks.
 */
unsigned cpu_features(void);

/* Does the CPU have AVX2, whatever the environment says?  This takes no time,
   so it suits code that asks before each call of a kernel whose results are
   always those of the portable one. */
bool cpu_has_avx2(void);

#endif
