/* SPDX-License-Identifier: BSD-3-Clause */
#include <immintrin.h>
#include <string.h>

#include "base/cpu.h"
#include "chunk/shuffle_portable.h"
#include "chunk/vector/columns.h"
#include "chunk/vector/transpose_bits.h"
#include "chunk/vector/unroll.h"
#include "chunk/x86/kernels.h"

/*
 * A tile is 256 bytes in eight registers: `width` bytes (2, 4 or 8) of each of
 * 256 / width items.  The two 128-bit lanes of a register never mix: they hold
 * the same bytes of items that are LANE items apart.
 *
 * Seven bits number the places of bytes in the low lanes of a tile; the upper
 * three are the number of the register.  In a tile of items, the lowest bits
 * number the bytes of an item; in a tile of planes, the upper bits do.
 * Interleaving two registers whose numbers differ in one bit swaps this bit
 * with the highest bit of the place in the register, and moves it to the
 * position that the unit determines.  A few such steps turn one tile into the
 * other, except that the numbers of the registers come out with their bits
 * reversed.
 */
enum {
    LANE = 16,
    NREGS = 8,
    TILE = NREGS * VECTOR,
    WIDEST = COLUMNS
};

INLINE __m256i load(const uint8_t *bytes)
{
    return _mm256_loadu_si256((const __m256i_u *)bytes);
}

INLINE __m256i load_lanes(const uint8_t *low, const uint8_t *high)
{
    return _mm256_loadu2_m128i((const __m128i_u *)high, (const __m128i_u *)low);
}

INLINE void store(uint8_t *bytes, __m256i x)
{
    _mm256_storeu_si256((__m256i_u *)bytes, x);
}

INLINE void store_lane(uint8_t *bytes, __m128i x)
{
    _mm_storeu_si128((__m128i_u *)bytes, x);
}

/* Interleave two registers, lane by lane, in units of `unit` bytes. */
INLINE void interleave(size_t unit, __m256i *a, __m256i *b)
{
    __m256i x = *a;
    __m256i y = *b;

    if (unit == 1) {
        *a = _mm256_unpacklo_epi8(x, y);
        *b = _mm256_unpackhi_epi8(x, y);
    } else if (unit == 2) {
        *a = _mm256_unpacklo_epi16(x, y);
        *b = _mm256_unpackhi_epi16(x, y);
    } else if (unit == 4) {
        *a = _mm256_unpacklo_epi32(x, y);
        *b = _mm256_unpackhi_epi32(x, y);
    } else {
        /* A blend uses other ports than the unpacking, so it need not wait. */
        __m256i middle = _mm256_alignr_epi8(y, x, 8);

        *a = _mm256_blend_epi32(x, middle, 0xcc);
        *b = _mm256_blend_epi32(middle, y, 0xcc);
    }
}

/* Interleave the registers whose numbers differ in the bit `step`. */
INLINE void interleave_tile(size_t step, size_t unit, __m256i x[NREGS])
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
    return i / width * VECTOR + i % width * (LANE / width);
}

/* Make a mask for pshufb: bytes 0 of the items of a lane, then bytes 1, ... */
INLINE __m256i planes_mask(size_t width, size_t typesize)
{
    size_t nitems = LANE / width;
    uint8_t mask[LANE];

    for (size_t i = 0; i < LANE; i++)
        mask[i] = (uint8_t)(i % nitems * typesize + i / nitems);
    return load_lanes(mask, mask);
}

/* Make a mask for pshufb: put items of `width` bytes `typesize` bytes apart. */
INLINE __m256i items_mask(size_t width, size_t typesize)
{
    uint8_t mask[LANE] = { 0 };

    for (size_t i = 0; i < LANE / width * typesize; i++)
        mask[i] = (uint8_t)(i / typesize * width + i % typesize);
    return load_lanes(mask, mask);
}

/*
 * Load as many items as a register holds.  If items are wider than the tile,
 * each lane takes eight bytes of two of them.  A blend joins these, and the
 * bytes of the second item come from a load that starts eight bytes early.
 */
INLINE __m256i load_items(size_t width, size_t typesize, const uint8_t *src)
{
    __m256i x = load_lanes(src, src + LANE * typesize);

    if (typesize > width) {
        src += typesize - WIDEST;
        x = _mm256_blend_epi32(x, load_lanes(src, src + LANE * typesize), 0xcc);
    }
    return x;
}

INLINE void shuffle_tile(size_t width, size_t typesize, __m256i mask,
                         const uint8_t *src, size_t stride, uint8_t *dst)
{
    size_t nitems = LANE / width;
    __m256i x[NREGS];

    UNROLL
    for (size_t i = 0; i < NREGS; i++) {
        const uint8_t *from = src + first_item(width, i) * typesize;

        x[i] = _mm256_shuffle_epi8(load_items(width, typesize, from), mask);
    }
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

INLINE __m128i low_lane(__m256i x)
{
    return _mm256_castsi256_si128(x);
}

INLINE __m128i high_lane(__m256i x)
{
    return _mm256_extracti128_si256(x, 1);
}

/* Store items as wide as the tile; those of two registers are neighbours. */
INLINE void store_items(size_t width, __m256i x[NREGS], uint8_t *dst)
{
    UNROLL
    for (size_t i = 0; i < NREGS; i += 2) {
        __m256i a = x[reverse(width, i)];
        __m256i b = x[reverse(width, i + 1)];
        uint8_t *to = dst + first_item(width, i) * width;

        store(to, _mm256_permute2x128_si256(a, b, 0x20));
        store(to + LANE * width, _mm256_permute2x128_si256(a, b, 0x31));
    }
}

/*
 * Store items of `typesize` < WIDEST bytes.  The order matters, because each
 * store leaves rubbish after its two items, which the next one overwrites.
 */
INLINE void store_narrow_items(size_t typesize, __m256i mask, __m256i x[NREGS],
                               uint8_t *dst)
{
    UNROLL
    for (size_t i = 0; i < NREGS; i++)
        x[i] = _mm256_shuffle_epi8(x[i], mask);
    UNROLL
    for (size_t i = 0; i < NREGS; i++)
        store_lane(dst + first_item(WIDEST, i) * typesize,
                   low_lane(x[reverse(WIDEST, i)]));
    UNROLL
    for (size_t i = 0; i < NREGS; i++)
        store_lane(dst + (LANE + first_item(WIDEST, i)) * typesize,
                   high_lane(x[reverse(WIDEST, i)]));
}

/* Store eight bytes of each of two items, `typesize` > WIDEST bytes apart. */
INLINE void store_two(size_t typesize, __m128i x, uint8_t *dst)
{
    _mm_storel_pi((__m64 *)dst, _mm_castsi128_ps(x));
    _mm_storeh_pi((__m64 *)(dst + typesize), _mm_castsi128_ps(x));
}

/* Store eight bytes of each item; the items are wider. */
INLINE void store_wide_items(size_t typesize, __m256i x[NREGS], uint8_t *dst)
{
    UNROLL
    for (size_t i = 0; i < NREGS; i++) {
        uint8_t *to = dst + first_item(WIDEST, i) * typesize;

        store_two(typesize, low_lane(x[reverse(WIDEST, i)]), to);
        store_two(typesize, high_lane(x[reverse(WIDEST, i)]),
                  to + LANE * typesize);
    }
}

INLINE void unshuffle_tile(size_t width, size_t typesize, __m256i mask,
                           const uint8_t *src, size_t stride, uint8_t *dst)
{
    __m256i x[NREGS];

    UNROLL
    for (size_t i = 0; i < NREGS; i++) {
        size_t plane = i % width;

        x[i] = _mm256_setzero_si256();
        if (plane < typesize)
            x[i] = load(src + plane * stride + i / width * VECTOR);
    }
    interleave_tile(1, 1, x);
    if (width >= 4)
        interleave_tile(2, 2, x);
    if (width >= 8)
        interleave_tile(4, 4, x);
    if (typesize == width)
        store_items(width, x, dst);
    else if (typesize < width)
        store_narrow_items(typesize, mask, x, dst);
    else
        store_wide_items(typesize, x, dst);
}

/*
 * Count the items in whole tiles whose loads and stores all stay in the block:
 * two narrow items take LANE bytes.
 */
INLINE size_t items_in_tiles(size_t width, size_t typesize, size_t len)
{
    size_t nitems = TILE / width;
    size_t behind = typesize < width ? LANE - 2 * typesize : 0;

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
    __m256i mask = planes_mask(width, typesize);

    for (size_t i = 0; i < nitems; i += TILE / width)
        shuffle_tile(width, typesize, mask, src + i * typesize, stride,
                     dst + i);
    shuffle_rest(typesize, len, nitems, src, dst);
}

INLINE void unshuffle_items(size_t width, size_t typesize, size_t len,
                            const uint8_t *src, uint8_t *dst)
{
    size_t stride = len / typesize;
    size_t nitems = items_in_tiles(width, typesize, len);
    __m256i mask = items_mask(width, typesize);

    for (size_t i = 0; i < nitems; i += TILE / width)
        unshuffle_tile(width, typesize, mask, src + i, stride,
                       dst + i * typesize);
    unshuffle_rest(typesize, len, nitems, src, dst);
}

/* Shuffle eight columns of items that are at least as wide as the tile. */
INLINE void shuffle_columns(size_t typesize, size_t nitems, const uint8_t *src,
                            size_t stride, uint8_t *dst)
{
    __m256i mask = planes_mask(WIDEST, WIDEST);

    for (size_t i = 0; i < nitems; i += VECTOR)
        shuffle_tile(WIDEST, typesize, mask, src + i * typesize, stride,
                     dst + i);
}

INLINE void unshuffle_columns(size_t typesize, size_t nitems,
                              const uint8_t *src, size_t stride, uint8_t *dst)
{
    __m256i none = _mm256_setzero_si256();

    for (size_t i = 0; i < nitems; i += VECTOR)
        unshuffle_tile(WIDEST, typesize, none, src + i, stride,
                       dst + i * typesize);
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

const struct column_steps column_steps_avx2 = {
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
        columns_shuffle(&column_steps_avx2, typesize, len, src, dst);
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
        columns_unshuffle(&column_steps_avx2, typesize, len, src, dst);
}

static void bitshuffle(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst)
{
    columns_bitshuffle(&column_steps_avx2, typesize, len, src, dst);
}

static void bitunshuffle(size_t typesize, size_t len, const uint8_t *src,
                         uint8_t *dst)
{
    columns_bitunshuffle(&column_steps_avx2, typesize, len, src, dst);
}

/* Add to each byte of a lane all bytes before it in the lane. */
INLINE __m256i add_up_lanes(__m256i x)
{
    x = _mm256_add_epi8(x, _mm256_slli_si256(x, 1));
    x = _mm256_add_epi8(x, _mm256_slli_si256(x, 2));
    x = _mm256_add_epi8(x, _mm256_slli_si256(x, 4));
    return _mm256_add_epi8(x, _mm256_slli_si256(x, 8));
}

static void prefix_sum(size_t len, uint8_t *bytes)
{
    const __m256i last = _mm256_set1_epi8(LANE - 1);
    __m256i sum = _mm256_setzero_si256(); /* of all bytes so far, repeated */
    uint8_t total;
    size_t i;

    for (i = 0; i + VECTOR <= len; i += VECTOR) {
        __m256i x = add_up_lanes(load(bytes + i));
        __m256i sums = _mm256_shuffle_epi8(x, last); /* of each lane */
        __m256i low = _mm256_permute2x128_si256(sums, sums, 0x08);

        x = _mm256_add_epi8(x, low);
        store(bytes + i, _mm256_add_epi8(x, sum));
        sums = _mm256_add_epi8(sums, low);
        sum = _mm256_add_epi8(sum, _mm256_permute2x128_si256(sums, sums, 0x11));
    }
    total = (uint8_t)_mm256_extract_epi8(sum, 0);
    for (; i < len; i++) {
        total = (uint8_t)(total + bytes[i]);
        bytes[i] = total;
    }
}

const struct shuffle_ops shuffle_avx2 = {
    .cpu = CPU_AVX2,
    .name = "avx2",
    .shuffle = shuffle,
    .unshuffle = unshuffle,
    .bitshuffle = bitshuffle,
    .bitunshuffle = bitunshuffle,
    .prefix_sum = prefix_sum,
};
