/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_X86_TRANSPOSE_AVX512_H
#define CHUNK_X86_TRANSPOSE_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/x86/unroll.h"

/*
 * What shuffle_avx512.c and bitshuffle_avx512.c do with registers.  All of it
 * is inlined there, so that no object has a copy that the linker might keep for
 * others.
 */
enum {
    VECTOR = 64
};

INLINE __m512i load(const uint8_t *bytes)
{
    return _mm512_loadu_si512(bytes);
}

INLINE void store(uint8_t *bytes, __m512i x)
{
    _mm512_storeu_si512(bytes, x);
}

/* The least number of registers, 2, 4 or 8, that have room for 64 items. */
INLINE size_t width_of(size_t typesize)
{
    if (typesize <= 2)
        return 2;
    return typesize <= 4 ? 4 : 8;
}

/* Of each two neighbours make two other registers.  These say of every byte
   where it comes from: VECTOR and more mean the second neighbour. */
INLINE void permute_pairs(size_t width, const uint8_t first[VECTOR],
                          const uint8_t second[VECTOR], __m512i x[])
{
    UNROLL
    for (size_t i = 0; i < width; i += 2) {
        __m512i low = x[i];

        x[i] = _mm512_permutex2var_epi8(low, load(first), x[i + 1]);
        x[i + 1] = _mm512_permutex2var_epi8(low, load(second), x[i + 1]);
    }
}

/* Gather the even lanes of 16 bytes, or the odd ones, or else halves. */
INLINE __m512i gather(size_t width, bool upper, __m512i a, __m512i b)
{
    if (width == 8)
        return upper ? _mm512_shuffle_i64x2(a, b, 0xdd)
                     : _mm512_shuffle_i64x2(a, b, 0x88);
    return upper ? _mm512_shuffle_i64x2(a, b, 0xee)
                 : _mm512_shuffle_i64x2(a, b, 0x44);
}

/* Gather lanes of the registers whose numbers differ in the bit `step`. */
INLINE void gather_lanes(size_t width, size_t step, __m512i x[])
{
    UNROLL
    for (size_t i = 0; i < width; i++) {
        __m512i a = x[i];

        if (i & step)
            continue;
        x[i] = gather(width, false, a, x[i | step]);
        x[i | step] = gather(width, true, a, x[i | step]);
    }
}

/* Gather lanes of all but neighbours. */
INLINE void gather_all_lanes(size_t width, __m512i x[])
{
    if (width >= 4)
        gather_lanes(width, 2, x);
    if (width >= 8)
        gather_lanes(width, 4, x);
}

/*
 * From 64 items in width_of(typesize) registers, each of which starts with as
 * many items as the others, to their planes: register j is byte j of all.
 *
 * Two neighbours become one with the even and one with the odd bytes of their
 * items: bytes 0 of the items of both, bytes 2, and so on.  Gathering the lanes
 * brings together what is of the same byte.
 */
INLINE void items_to_planes(size_t typesize, __m512i x[])
{
    size_t width = width_of(typesize);
    size_t nitems = VECTOR / width;
    uint8_t even[VECTOR];
    uint8_t odd[VECTOR];

    UNROLL
    for (size_t i = 0; i < VECTOR; i++) {
        size_t column = i / (2 * nitems) * 2;
        size_t neighbour = i / nitems % 2;

        even[i] =
            (uint8_t)(neighbour * VECTOR + i % nitems * typesize + column);
        odd[i] = (uint8_t)(even[i] + 1);
    }
    permute_pairs(width, even, odd, x);
    gather_all_lanes(width, x);
}

/* The same backwards. */
INLINE void planes_to_items(size_t typesize, __m512i x[])
{
    size_t width = width_of(typesize);
    size_t nitems = VECTOR / width;
    uint8_t first[VECTOR];
    uint8_t second[VECTOR];

    UNROLL
    for (size_t i = 0; i < VECTOR; i++) {
        size_t column = i % typesize;

        first[i] = (uint8_t)(column % 2 * VECTOR + column / 2 * 2 * nitems +
                             i / typesize);
        second[i] = (uint8_t)(first[i] + nitems);
    }
    gather_all_lanes(width, x);
    permute_pairs(width, first, second, x);
}

#endif
