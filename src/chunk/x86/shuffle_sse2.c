/* SPDX-License-Identifier: BSD-3-Clause */
#include <emmintrin.h>
#include <string.h>

#include "base/cpu.h"
#include "chunk/shuffle_portable.h"
#include "chunk/x86/columns.h"
#include "chunk/x86/kernels.h"
#include "chunk/x86/transpose_bits.h"
#include "chunk/x86/unroll.h"

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

INLINE __m128i load(const uint8_t *bytes)
{
    return _mm_loadu_si128((const __m128i_u *)bytes);
}

INLINE __m128i load_half(const uint8_t *bytes)
{
    return _mm_loadl_epi64((const __m128i_u *)bytes);
}

INLINE void store(uint8_t *bytes, __m128i x)
{
    _mm_storeu_si128((__m128i_u *)bytes, x);
}

/* Interleave two registers in units of `unit` bytes. */
INLINE void interleave(size_t unit, __m128i *a, __m128i *b)
{
    __m128i x = *a;
    __m128i y = *b;

    if (unit == 1) {
        *a = _mm_unpacklo_epi8(x, y);
        *b = _mm_unpackhi_epi8(x, y);
    } else if (unit == 2) {
        *a = _mm_unpacklo_epi16(x, y);
        *b = _mm_unpackhi_epi16(x, y);
    } else if (unit == 4) {
        *a = _mm_unpacklo_epi32(x, y);
        *b = _mm_unpackhi_epi32(x, y);
    } else {
        *a = _mm_unpacklo_epi64(x, y);
        *b = _mm_unpackhi_epi64(x, y);
    }
}

/* Interleave the registers whose numbers differ in the bit `step`. */
INLINE void interleave_tile(size_t step, size_t unit, __m128i x[NREGS])
{
    UNROLL
    for (size_t i = 0; i < NREGS; i++) {
        if (!(i & step))
            interleave(unit, &x[i], &x[i | step]);
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

INLINE __m128i interleave_halves(__m128i x)
{
    return _mm_unpacklo_epi8(x, _mm_srli_si128(x, VECTOR / 2));
}

/* Load the items of one register: first bytes 0, then bytes 1, ... */
INLINE __m128i load_items(size_t width, size_t typesize, const uint8_t *src)
{
    __m128i x;

    if (width == 8)
        return _mm_unpacklo_epi8(load_half(src), load_half(src + typesize));
    x = load(src);
    if (width == 4)
        return interleave_halves(interleave_halves(x));
    return _mm_packus_epi16(_mm_and_si128(x, _mm_set1_epi16(0xff)),
                            _mm_srli_epi16(x, 8));
}

/* Store items; narrow ones leave rubbish, which the next store overwrites. */
INLINE void store_items(size_t width, size_t typesize, __m128i x, uint8_t *dst)
{
    if (typesize == width) {
        store(dst, x);
        return;
    }
    _mm_storel_epi64((__m128i_u *)dst, x);
    _mm_storel_epi64((__m128i_u *)(dst + typesize), _mm_unpackhi_epi64(x, x));
}

INLINE void shuffle_tile(size_t width, size_t typesize, const uint8_t *src,
                         size_t stride, uint8_t *dst)
{
    size_t nitems = VECTOR / width;
    __m128i x[NREGS];

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
            store(dst + plane * stride + i / width * VECTOR,
                  x[reverse(width, i)]);
    }
}

INLINE void unshuffle_tile(size_t width, size_t typesize, const uint8_t *src,
                           size_t stride, uint8_t *dst)
{
    __m128i x[NREGS];

    UNROLL
    for (size_t i = 0; i < NREGS; i++) {
        size_t plane = i % width;

        x[i] = _mm_setzero_si128();
        if (plane < typesize)
            x[i] = load(src + plane * stride + i / width * VECTOR);
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

/* Shuffle items that are no wider than the tile. */
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
    if (typesize == 1)
        memcpy(dst, src, len);
    else if (typesize == 2)
        shuffle_items(2, 2, len, src, dst);
    else if (typesize == 4)
        shuffle_items(4, 4, len, src, dst);
    else if (typesize == 8)
        shuffle_items(8, 8, len, src, dst);
    else if (typesize < 8)
        shuffle_items(8, typesize, len, src, dst);
    else
        columns_shuffle(&steps, typesize, len, src, dst);
}

static void unshuffle(size_t typesize, size_t len, const uint8_t *src,
                      uint8_t *dst)
{
    if (typesize == 1)
        memcpy(dst, src, len);
    else if (typesize == 2)
        unshuffle_items(2, 2, len, src, dst);
    else if (typesize == 4)
        unshuffle_items(4, 4, len, src, dst);
    else if (typesize == 8)
        unshuffle_items(8, 8, len, src, dst);
    else if (typesize < 8)
        unshuffle_items(8, typesize, len, src, dst);
    else
        columns_unshuffle(&steps, typesize, len, src, dst);
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

/* Add to each byte all bytes before it. */
INLINE __m128i add_up(__m128i x)
{
    x = _mm_add_epi8(x, _mm_slli_si128(x, 1));
    x = _mm_add_epi8(x, _mm_slli_si128(x, 2));
    x = _mm_add_epi8(x, _mm_slli_si128(x, 4));
    return _mm_add_epi8(x, _mm_slli_si128(x, 8));
}

INLINE __m128i repeat_last(__m128i x)
{
    x = _mm_unpackhi_epi8(x, x);
    x = _mm_shufflehi_epi16(x, 0xff);
    return _mm_shuffle_epi32(x, 0xff);
}

static void prefix_sum(size_t len, uint8_t *bytes)
{
    __m128i sum = _mm_setzero_si128(); /* of all bytes so far, repeated */
    uint8_t total;
    size_t i;

    for (i = 0; i + VECTOR <= len; i += VECTOR) {
        __m128i x = add_up(load(bytes + i));

        store(bytes + i, _mm_add_epi8(x, sum));
        sum = _mm_add_epi8(sum, repeat_last(x));
    }
    total = (uint8_t)_mm_cvtsi128_si32(sum);
    for (; i < len; i++) {
        total = (uint8_t)(total + bytes[i]);
        bytes[i] = total;
    }
}

const struct shuffle_ops shuffle_sse2 = {
    .cpu = CPU_SSE2,
    .name = "sse2",
    .shuffle = shuffle,
    .unshuffle = unshuffle,
    .bitshuffle = bitshuffle,
    .bitunshuffle = bitunshuffle,
    .prefix_sum = prefix_sum,
};
