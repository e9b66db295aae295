/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_VECTOR_TRANSPOSE_BITS_H
#define CHUNK_VECTOR_TRANSPOSE_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "chunk/vector/unroll.h"

enum {
    NROWS = 8,
    /* Bytes of a register of the instruction set for this compilation. */
#ifdef __AVX2__
    VECTOR = 32
#else
    VECTOR = 16
#endif
};

/* One vector, VECTOR bytes, as the integers that it is calculated with. */
typedef uint64_t words __attribute__((vector_size(VECTOR)));

/* In each byte, swap the bits of `b` in `mask` with the bits of `a` that are
   `shift` higher. */
INLINE void swap_bits(int shift, uint8_t mask, words *a, words *b)
{
    words x = (*a >> shift ^ *b) & (mask * UINT64_C(0x0101010101010101));

    *b ^= x;
    *a ^= x << shift;
}

/* Bit k of byte i of vector b becomes bit b of byte i of vector k. */
INLINE void transpose_bits(words x[NROWS])
{
    swap_bits(4, 0x0f, &x[0], &x[4]);
    swap_bits(4, 0x0f, &x[1], &x[5]);
    swap_bits(4, 0x0f, &x[2], &x[6]);
    swap_bits(4, 0x0f, &x[3], &x[7]);
    swap_bits(2, 0x33, &x[0], &x[2]);
    swap_bits(2, 0x33, &x[1], &x[3]);
    swap_bits(2, 0x33, &x[4], &x[6]);
    swap_bits(2, 0x33, &x[5], &x[7]);
    swap_bits(1, 0x55, &x[0], &x[1]);
    swap_bits(1, 0x55, &x[2], &x[3]);
    swap_bits(1, 0x55, &x[4], &x[5]);
    swap_bits(1, 0x55, &x[6], &x[7]);
}

/* See struct column_steps. */
static void transpose_rows(size_t n, const uint8_t *src, size_t src_stride,
                           uint8_t *dst, size_t dst_stride)
{
    for (size_t i = 0; i < n; i += VECTOR) {
        words x[NROWS];

        UNROLL
        for (size_t b = 0; b < NROWS; b++)
            memcpy(&x[b], src + b * src_stride + i, VECTOR);
        transpose_bits(x);
        UNROLL
        for (size_t k = 0; k < NROWS; k++)
            memcpy(dst + k * dst_stride + i, &x[k], VECTOR);
    }
}

#endif
