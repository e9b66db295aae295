/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/vector/shuffle_vector.h"

#include <string.h>

#include "base/cpu.h"
#include "chunk/shuffle_portable.h"
#include "chunk/vector/columns.h"
#include "chunk/vector/transpose_bits.h"
#include "chunk/vector/unroll.h"
#include "chunk/vector/vector16.h"

/*
 * A tile is 128 bytes in eight registers: `width` bytes (2, 4 or 8) of each of
 * 128 / width items.
 *
 * Seven bits number the places of bytes in a tile; the upper three are the
 * number of the register.  In a tile of items, the lowest bits number the bytes
 * of an item; in a tile of planes, the upper bits do.  Interleaving two
 * registers whose numbers differ in one bit swaps this bit with the highest bit
 * of the place in the register, and moves it to the position that the unit
 * determines.  A few such steps turn one tile into the other, except that the
 * numbers of the registers come out with their bits reversed.
 */
enum {
    NREGS = 8,
    TILE = NREGS * VECTOR,
    WIDEST = COLUMNS
};

/* Interleave the registers whose numbers differ in the bit `step`. */
INLINE void interleave_tile(size_t step, size_t unit, vector16 x[NREGS])
{
    UNROLL
    for (size_t i = 0; i < NREGS; i++) {
        if (!(i & step)) {
            vector16 a = x[i];
            vector16 b = x[i | step];

            x[i] = interleave_low(unit, a, b);
            x[i | step] = interleave_high(unit, a, b);
        }
    }
}

/* Reverse the bits below `width` in the number of a register. */
INLINE size_t reverse(size_t width, size_t i)
{
    if (width == 8)
        return (i & 1) << 2 | (i & 2) | i >> 2;
    if (width == 4)
        return (i & 4) | (i & 1) << 1 | (i & 2) >> 1;
    return i;
}

/* Return the first of the items whose bytes are in register `i` of a tile. */
INLINE size_t first_item(size_t width, size_t i)
{
    return i / width * VECTOR + i % width * (VECTOR / width);
}

/* Load the items of one register: first bytes 0, then bytes 1, ... */
INLINE vector16 load_items(size_t width, size_t typesize, const uint8_t *src)
{
    if (width == 8)
        return interleave_low(1, load8(src), load8(src + typesize));
    return planes_of(width, load16(src));
}

/* Store items; narrow ones leave rubbish, which the next store overwrites. */
INLINE void store_items(size_t width, size_t typesize, vector16 x, uint8_t *dst)
{
    if (typesize == width) {
        store16(dst, x);
        return;
    }
    store8(dst, x);
    store8(dst + typesize, interleave_high(8, x, x));
}

INLINE void shuffle_tile(size_t width, size_t typesize, const uint8_t *src,
                         size_t stride, uint8_t *dst)
{
    size_t nitems = VECTOR / width;
    vector16 x[NREGS];

    UNROLL
    for (size_t i = 0; i < NREGS; i++)
        x[i] =
            load_items(width, typesize, src + first_item(width, i) * typesize);
    interleave_tile(1, nitems, x);
    if (width >= 4)
        interleave_tile(2, 2 * nitems, x);
    if (width >= 8)
        interleave_tile(4, 4 * nitems, x);
    UNROLL
    for (size_t i = 0; i < NREGS; i++) {
        size_t plane = i % width;

        if (plane < typesize)
            store16(dst + plane * stride + i / width * VECTOR,
                    x[reverse(width, i)]);
    }
}

INLINE void unshuffle_tile(size_t width, size_t typesize, const uint8_t *src,
                           size_t stride, uint8_t *dst)
{
    vector16 x[NREGS];

    UNROLL
    for (size_t i = 0; i < NREGS; i++) {
        size_t plane = i % width;

        x[i] = (vector16){ 0 };
        if (plane < typesize)
            x[i] = load16(src + plane * stride + i / width * VECTOR);
    }
    interleave_tile(1, 1, x);
    if (width >= 4)
        interleave_tile(2, 2, x);
    if (width >= 8)
        interleave_tile(4, 4, x);
    UNROLL
    for (size_t i = 0; i < NREGS; i++)
        store_items(width, typesize, x[reverse(width, i)],
                    dst + first_item(width, i) * typesize);
}

/*
 * Count the items in whole tiles whose loads and stores all stay in the block:
 * a narrow item takes WIDEST bytes.
 */
INLINE size_t items_in_tiles(size_t width, size_t typesize, size_t len)
{
    size_t nitems = TILE / width;
    size_t behind = typesize < width ? WIDEST - typesize : 0;

    if (len < behind)
        return 0;
    return (len - behind) / typesize / nitems * nitems;
}

/* Shuffle items that are no wider than the tile.  Callers pass a constant
   typesize, so that the compiler keeps the tile in registers. */
INLINE void shuffle_items(size_t width, size_t typesize, size_t len,
                          const uint8_t *src, uint8_t *dst)
{
    size_t stride = len / typesize;
    size_t nitems = items_in_tiles(width, typesize, len);

    for (size_t i = 0; i < nitems; i += TILE / width)
        shuffle_tile(width, typesize, src + i * typesize, stride, dst + i);
    shuffle_rest(typesize, len, nitems, src, dst);
}

INLINE void unshuffle_items(size_t width, size_t typesize, size_t len,
                            const uint8_t *src, uint8_t *dst)
{
    size_t stride = len / typesize;
    size_t nitems = items_in_tiles(width, typesize, len);

    for (size_t i = 0; i < nitems; i += TILE / width)
        unshuffle_tile(width, typesize, src + i, stride, dst + i * typesize);
    unshuffle_rest(typesize, len, nitems, src, dst);
}

/* Shuffle eight columns of items that are at least as wide as the tile. */
INLINE void shuffle_columns(size_t typesize, size_t nitems, const uint8_t *src,
                            size_t stride, uint8_t *dst)
{
    for (size_t i = 0; i < nitems; i += VECTOR)
        shuffle_tile(WIDEST, typesize, src + i * typesize, stride, dst + i);
}

INLINE void unshuffle_columns(size_t typesize, size_t nitems,
                              const uint8_t *src, size_t stride, uint8_t *dst)
{
    for (size_t i = 0; i < nitems; i += VECTOR)
        unshuffle_tile(WIDEST, typesize, src + i, stride, dst + i * typesize);
}

/* A constant typesize spares the code arithmetic with addresses. */
static void shuffle_any_columns(size_t typesize, size_t nitems,
                                const uint8_t *src, size_t stride, uint8_t *dst)
{
    if (typesize == 16)
        shuffle_columns(16, nitems, src, stride, dst);
    else
        shuffle_columns(typesize, nitems, src, stride, dst);
}

static void unshuffle_any_columns(size_t typesize, size_t nitems,
                                  const uint8_t *src, size_t stride,
                                  uint8_t *dst)
{
    if (typesize == 16)
        unshuffle_columns(16, nitems, src, stride, dst);
    else
        unshuffle_columns(typesize, nitems, src, stride, dst);
}

static const struct column_steps steps = {
    .vector = VECTOR,
    .shuffle = shuffle_any_columns,
    .unshuffle = unshuffle_any_columns,
    .transpose = transpose_rows,
};

static void shuffle(size_t typesize, size_t len, const uint8_t *src,
                    uint8_t *dst)
{
    switch (typesize) {
    case 1:
        memcpy(dst, src, len);
        break;
    case 2:
        shuffle_items(2, 2, len, src, dst);
        break;
    case 3:
        shuffle_items(8, 3, len, src, dst);
        break;
    case 4:
        shuffle_items(4, 4, len, src, dst);
        break;
    case 5:
        shuffle_items(8, 5, len, src, dst);
        break;
    case 6:
        shuffle_items(8, 6, len, src, dst);
        break;
    case 7:
        shuffle_items(8, 7, len, src, dst);
        break;
    case 8:
        shuffle_items(8, 8, len, src, dst);
        break;
    default:
        columns_shuffle(&steps, typesize, len, src, dst);
    }
}

static void unshuffle(size_t typesize, size_t len, const uint8_t *src,
                      uint8_t *dst)
{
    switch (typesize) {
    case 1:
        memcpy(dst, src, len);
        break;
    case 2:
        unshuffle_items(2, 2, len, src, dst);
        break;
    case 3:
        unshuffle_items(8, 3, len, src, dst);
        break;
    case 4:
        unshuffle_items(4, 4, len, src, dst);
        break;
    case 5:
        unshuffle_items(8, 5, len, src, dst);
        break;
    case 6:
        unshuffle_items(8, 6, len, src, dst);
        break;
    case 7:
        unshuffle_items(8, 7, len, src, dst);
        break;
    case 8:
        unshuffle_items(8, 8, len, src, dst);
        break;
    default:
        columns_unshuffle(&steps, typesize, len, src, dst);
    }
}

static void bitshuffle(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst)
{
    columns_bitshuffle(&steps, typesize, len, src, dst);
}

static void bitunshuffle(size_t typesize, size_t len, const uint8_t *src,
                         uint8_t *dst)
{
    columns_bitunshuffle(&steps, typesize, len, src, dst);
}

static void prefix_sum(size_t len, uint8_t *bytes)
{
    vector16 sum = { 0 }; /* of all bytes so far, repeated */
    uint8_t total;
    size_t i;

    for (i = 0; i + VECTOR <= len; i += VECTOR) {
        vector16 x = add_up(load16(bytes + i));

        store16(bytes + i, x + sum);
        sum += repeat_last(x);
    }
    total = sum[0];
    for (; i < len; i++) {
        total = (uint8_t)(total + bytes[i]);
        bytes[i] = total;
    }
}

const struct shuffle_ops shuffle_vector = {
#if defined(__x86_64__)
    .cpu = CPU_SSE2,
    .name = "sse2",
#elif defined(__aarch64__)
    .cpu = CPU_NEON,
    .name = "neon",
#else
    .cpu = CPU_VX,
    .name = "vx",
#endif
    .shuffle = shuffle,
    .unshuffle = unshuffle,
    .bitshuffle = bitshuffle,
    .bitunshuffle = bitunshuffle,
    .prefix_sum = prefix_sum,
};
