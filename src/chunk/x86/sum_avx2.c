/* SPDX-License-Identifier: BSD-3-Clause */
#define XXH_INLINE_ALL /* compile the hash here, for the instruction set */
#include "chunk/x86/sum_avx2.h"

#include <xxhash.h>

uint64_t sum_avx2(const uint8_t *bytes, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, len, seed);
}
