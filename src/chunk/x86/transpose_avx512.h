/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_X86_TRANSPOSE_AVX512_H
#define CHUNK_X86_TRANSPOSE_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/vector/unroll.h"

/*
 * Register operations for shuffle_avx512.c and bitshuffle_avx512.c.  All are
 * inlined there, because the linker might otherwise keep a copy of them for
 * files that are not compiled for AVX-512.
 */
enum {
    VECTOR = 64
};

/* Load VECTOR bytes from any address. */
INLINE __m512i load(const uint8_t *bytes)
{
    return _mm512_loadu_si512(bytes);
}

/* Store VECTOR bytes at any address. */
INLINE void store(uint8_t *bytes, __m512i x)
{
    _mm512_storeu_si512(bytes, x);
}

/* Return the least number of registers, 2, 4 or 8, that hold 64 items. */
INLINE size_t width_of(size_t typesize)
{
    if (typesize <= 2)
        return 2;
    return typesize <= 4 ? 4 : 8;
}

/* Replace each two neighbours by two other registers.  `first` and `second`
   give the source of each byte: VECTOR and more mean the second neighbour. */
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

/* Gather the even or odd 16-byte lanes of two registers if `width` is 8, else
   their lower or upper halves. */
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

/* Gather the lanes of all registers but neighbours. */
INLINE void gather_all_lanes(size_t width, __m512i x[])
{
    if (width >= 4)
        gather_lanes(width, 2, x);
    if (width >= 8)
        gather_lanes(width, 4, x);
}

/*
 * Turn 64 items in width_of(typesize) registers, each of which starts with an
 * equal number of items, into planes: register j gets byte j of all items.
 *
 * Two neighbours become one register with the even and one with the odd bytes
 * of their items: bytes 0 of the items of both, bytes 2, and so on.  Gathering
 * the lanes then joins the bytes that have the same number.
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

/* Turn planes into items: the reverse of items_to_planes(). */
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
