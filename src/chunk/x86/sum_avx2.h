/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_X86_SUM_AVX2_H
#define CHUNK_X86_SUM_AVX2_H

#include <stddef.h>
#include <stdint.h>

/* Compute XXH3 with 64 bits, as libxxhash does, which is built for older
   CPUs. */
uint64_t sum_avx2(const uint8_t *bytes, size_t len, uint64_t seed);

#endif
