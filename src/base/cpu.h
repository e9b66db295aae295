/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CPU_H
#define BASE_CPU_H

/* Instruction sets that kernels are written for, as bits of a mask. */
enum cpu_feature {
    CPU_SSE2 = 1 << 0,
    CPU_AVX2 = 1 << 1,
    CPU_AVX512 = 1 << 2, /* F, BW and VBMI, and GFNI as well */
};

/*
 * What this CPU and its operating system offer, as a mask of cpu_feature.
 *
 * The environment variable FRAMEFS_CPU narrows it: a comma-separated list such
 * as "sse2", or "portable" for none.  It never adds what the CPU lacks.
 */
unsigned cpu_features(void);

#endif
