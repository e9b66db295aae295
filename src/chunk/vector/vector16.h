/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_VECTOR_VECTOR16_H
#define CHUNK_VECTOR_VECTOR16_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "chunk/vector/unroll.h"

/*
 * Vectors of 16 bytes, without words of any one instruction set.  The compiler
 * makes each function one or two instructions of SSE2, NEON or the vector
 * facility of s390x.  Byte 0 of a vector is the first one in memory, on
 * machines of either byte order.
 */
typedef uint8_t vector16 __attribute__((vector_size(16)));

/* Return the bytes of x (0 to 15) and y (16 to 31) with these numbers. */
#if defined(__clang__) || __GNUC__ >= 12
#define PICK16(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define PICK16(x, y, ...) __builtin_shuffle(x, y, (vector16){ __VA_ARGS__ })
#endif

/* Load and store 16 bytes, which need not be aligned. */
INLINE vector16 load16(const uint8_t *bytes)
{
    vector16 x;

    memcpy(&x, bytes, sizeof(x));
    return x;
}
INLINE void store16(uint8_t *bytes, vector16 x)
{
    memcpy(bytes, &x, sizeof(x));
}

/* Load eight bytes, and zeros behind them. */
INLINE vector16 load8(const uint8_t *bytes)
{
    typedef uint64_t pair __attribute__((vector_size(16)));
    uint64_t half;

    memcpy(&half, bytes, sizeof(half));
    return (vector16)(pair){ half, 0 };
}

/* Store the first eight bytes. */
INLINE void store8(uint8_t *bytes, vector16 x)
{
    memcpy(bytes, &x, sizeof(uint64_t));
}

/* Interleave the first halves of two vectors in units of `unit` bytes: 1, 2, 4
   or 8. */
INLINE vector16 interleave_low(size_t unit, vector16 x, vector16 y)
{
    if (unit == 1)
        return PICK16(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
                      23);
    if (unit == 2)
        return PICK16(x, y, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22,
                      23);
    if (unit == 4)
        return PICK16(x, y, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22,
                      23);
    return PICK16(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
}

/* The same with the second halves. */
INLINE vector16 interleave_high(size_t unit, vector16 x, vector16 y)
{
    if (unit == 1)
        return PICK16(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,
                      30, 15, 31);
    if (unit == 2)
        return PICK16(x, y, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14,
                      15, 30, 31);
    if (unit == 4)
        return PICK16(x, y, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28,
                      29, 30, 31);
    return PICK16(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29,
                  30, 31);
}

/* Return bytes 0 of the items in a vector, then bytes 1, ...  Items have
   `width` bytes, 2 or 4. */
INLINE vector16 planes_of(size_t width, vector16 x)
{
#ifdef __SSE2__
    /* Compilers find no short code for these orders. */
    typedef uint16_t halves __attribute__((vector_size(16)));
    const vector16 zero = { 0 };

    if (width == 2)
        return PICK16((vector16)((halves)x & 0xff), (vector16)((halves)x >> 8),
                      0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                      30);
    for (int i = 0; i < 2; i++)
        x = interleave_low(1, x,
                           PICK16(x, zero, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                  18, 19, 20, 21, 22, 23));
    return x;
#else
    if (width == 2)
        return PICK16(x, x, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13,
                      15);
    return PICK16(x, x, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
#endif
}

/* Add to each byte all bytes before it, modulo 256. */
INLINE vector16 add_up(vector16 x)
{
    const vector16 zero = { 0 };

    x += PICK16(zero, x, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
                29, 30);
    x += PICK16(zero, x, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
                28, 29);
    x += PICK16(zero, x, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                26, 27);
    return x + PICK16(zero, x, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                      21, 22, 23);
}

/* Return 16 times the last byte. */
INLINE vector16 repeat_last(vector16 x)
{
    return PICK16(x, x, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
                  15, 15);
}

#endif
