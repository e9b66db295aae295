/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "base/cpu.h"
#include "chunk/shuffle_portable.h"
#include "chunk/x86/kernels.h"
#include "chunk/x86/transpose_avx512.h"

/*
 * A tile is 64 items of up to `width` bytes (2, 4 or 8) in as many registers,
 * each of which takes 64 / width items.
 */
enum {
    NITEMS = VECTOR, /* in a tile */
    WIDEST = COLUMNS,
    NEAR = 1024, /* items of 16 bytes that stay in the first-level cache */
    AHEAD = 2048 /* how far before its use a plane is prefetched, in bytes */
};

/* Return a mask of the bytes of a register that items fill, from its start. */
INLINE __mmask64 items_taken(size_t width, size_t typesize)
{
    return ~(__mmask64)0 >> (VECTOR - VECTOR / width * typesize);
}

INLINE void shuffle_tile(size_t typesize, const uint8_t *src, size_t stride,
                         uint8_t *dst)
{
    size_t width = width_of(typesize);
    size_t step = VECTOR / width * typesize;
    __mmask64 taken = items_taken(width, typesize);
    __m512i x[WIDEST];

    UNROLL
    for (size_t i = 0; i < width; i++)
        x[i] = _mm512_maskz_loadu_epi8(taken, src + i * step);
    items_to_planes(typesize, x);
    UNROLL
    for (size_t j = 0; j < typesize; j++)
        store(dst + j * stride, x[j]);
}

/* Unshuffle a tile, and prefetch each plane `ahead` bytes on, if not 0. */
INLINE void unshuffle_tile(size_t typesize, const uint8_t *const planes[],
                           size_t at, size_t ahead, uint8_t *dst)
{
    size_t width = width_of(typesize);
    size_t step = VECTOR / width * typesize;
    __mmask64 taken = items_taken(width, typesize);
    __m512i x[WIDEST];

    UNROLL
    for (size_t j = 0; j < width; j++) {
        x[j] = j < typesize ? load(planes[j] + at) : _mm512_setzero_si512();
        if (ahead > 0 && j < typesize)
            _mm_prefetch(planes[j] + at + ahead, _MM_HINT_T0);
    }
    planes_to_items(typesize, x);
    UNROLL
    for (size_t i = 0; i < width; i++)
        _mm512_mask_storeu_epi8(dst + i * step, taken, x[i]);
}

/*
 * Shuffle eight columns of items of 16 bytes, the first or the last ones.
 * Eight items lie in two registers.
 */
INLINE void shuffle_half_tile(size_t column, const uint8_t *src, size_t stride,
                              uint8_t *dst)
{
    uint8_t mask[VECTOR];
    __m512i x[WIDEST];

    UNROLL
    for (size_t i = 0; i < VECTOR; i++)
        mask[i] = (uint8_t)(i / 8 * 16 + i % 8 + column);
    UNROLL
    for (size_t i = 0; i < WIDEST; i++)
        x[i] = _mm512_permutex2var_epi8(load(src + 2 * i * VECTOR), load(mask),
                                        load(src + (2 * i + 1) * VECTOR));
    items_to_planes(WIDEST, x);
    UNROLL
    for (size_t j = 0; j < WIDEST; j++)
        store(dst + (column + j) * stride, x[j]);
}

INLINE void unshuffle_tile_16(const uint8_t *src, size_t stride, uint8_t *dst)
{
    uint8_t low[VECTOR];
    uint8_t high[VECTOR];
    __m512i x[WIDEST];
    __m512i y[WIDEST];

    UNROLL
    for (size_t i = 0; i < VECTOR; i++) {
        low[i] = (uint8_t)(i % 16 / 8 * VECTOR + i / 16 * 8 + i % 8);
        high[i] = (uint8_t)(low[i] + VECTOR / 2);
    }
    UNROLL
    for (size_t j = 0; j < WIDEST; j++) {
        x[j] = load(src + j * stride);
        y[j] = load(src + (WIDEST + j) * stride);
    }
    planes_to_items(WIDEST, x);
    planes_to_items(WIDEST, y);
    UNROLL
    for (size_t i = 0; i < WIDEST; i++) {
        store(dst + 2 * i * VECTOR,
              _mm512_permutex2var_epi8(x[i], load(low), y[i]));
        store(dst + (2 * i + 1) * VECTOR,
              _mm512_permutex2var_epi8(x[i], load(high), y[i]));
    }
}

/* Go on to the next tile; the last one overlaps the one before it if the rest
   does not fill it. */
INLINE size_t next_tile(size_t i, size_t nitems)
{
    size_t next = i + NITEMS;

    return next < nitems && next + NITEMS > nitems ? nitems - NITEMS : next;
}

/* Shuffle at least NITEMS items of a constant typesize. */
INLINE void shuffle_tiles(size_t typesize, size_t nitems, const uint8_t *src,
                          size_t stride, uint8_t *dst)
{
    for (size_t i = 0; i < nitems; i = next_tile(i, nitems))
        shuffle_tile(typesize, src + i * typesize, stride, dst + i);
}

INLINE void unshuffle_tiles(size_t typesize, size_t nitems,
                            const uint8_t *const planes[], size_t ahead,
                            uint8_t *dst)
{
    for (size_t i = 0; i < nitems; i = next_tile(i, nitems))
        unshuffle_tile(typesize, planes, i, ahead, dst + i * typesize);
}

/*
 * Go through some items twice, for eight columns each.  Sixteen planes that are
 * a power of two apart would evict each other from the first-level cache; eight
 * do not.
 */
INLINE void shuffle_tiles_16(size_t nitems, const uint8_t *src, size_t stride,
                             uint8_t *dst)
{
    size_t end;

    for (size_t start = 0; start < nitems; start = end) {
        end = nitems - start < 2 * NEAR ? nitems : start + NEAR;
        for (size_t column = 0; column < 16; column += WIDEST) {
            for (size_t i = start; i < end; i = next_tile(i, end))
                shuffle_half_tile(column, src + i * 16, stride, dst + i);
        }
    }
}

INLINE void unshuffle_tiles_16(size_t nitems, const uint8_t *src, size_t stride,
                               uint8_t *dst)
{
    for (size_t i = 0; i < nitems; i = next_tile(i, nitems))
        unshuffle_tile_16(src + i, stride, dst + i * 16);
}

bool has_tiles_avx512(size_t typesize)
{
    return (typesize >= 2 && typesize <= WIDEST) || typesize == 16;
}

/* Call a template with the typesize, at most WIDEST, as a constant. */
#define FOR_NARROW(template, typesize, ...) \
    switch (typesize) {                     \
    case 2:                                 \
        template(2, __VA_ARGS__);           \
        break;                              \
    case 3:                                 \
        template(3, __VA_ARGS__);           \
        break;                              \
    case 4:                                 \
        template(4, __VA_ARGS__);           \
        break;                              \
    case 5:                                 \
        template(5, __VA_ARGS__);           \
        break;                              \
    case 6:                                 \
        template(6, __VA_ARGS__);           \
        break;                              \
    case 7:                                 \
        template(7, __VA_ARGS__);           \
        break;                              \
    default:                                \
        template(8, __VA_ARGS__);           \
        break;                              \
    }

void shuffle_items_avx512(size_t typesize, size_t nitems, const uint8_t *src,
                          size_t stride, uint8_t *dst)
{
    if (typesize > WIDEST)
        shuffle_tiles_16(nitems, src, stride, dst);
    else
        FOR_NARROW(shuffle_tiles, typesize, nitems, src, stride, dst)
}

void unshuffle_items_avx512(size_t typesize, size_t nitems, const uint8_t *src,
                            size_t stride, uint8_t *dst)
{
    const uint8_t *planes[WIDEST];

    if (typesize > WIDEST) {
        unshuffle_tiles_16(nitems, src, stride, dst);
        return;
    }
    for (size_t j = 0; j < typesize; j++)
        planes[j] = src + j * stride;
    FOR_NARROW(unshuffle_tiles, typesize, nitems, planes, 0, dst)
}

/* Unshuffle with prefetching: planes that lie apart may be far from the CPU. */
static void unshuffle_planes(size_t typesize, size_t nitems,
                             const uint8_t *const planes[], uint8_t *dst)
{
    if (nitems < NITEMS)
        unshuffle_planes_portable(typesize, nitems, planes, dst);
    else
        FOR_NARROW(unshuffle_tiles, typesize, nitems, planes, AHEAD, dst)
}

/* AVX2 shuffles few items, and items of sizes that have no tiles here. */
static void shuffle(size_t typesize, size_t len, const uint8_t *src,
                    uint8_t *dst)
{
    size_t nitems = len / typesize;

    if (nitems < NITEMS || !has_tiles_avx512(typesize)) {
        shuffle_avx2.shuffle(typesize, len, src, dst);
        return;
    }
    shuffle_items_avx512(typesize, nitems, src, nitems, dst);
    shuffle_rest(typesize, len, nitems, src, dst);
}

static void unshuffle(size_t typesize, size_t len, const uint8_t *src,
                      uint8_t *dst)
{
    size_t nitems = len / typesize;

    if (nitems < NITEMS || !has_tiles_avx512(typesize)) {
        shuffle_avx2.unshuffle(typesize, len, src, dst);
        return;
    }
    unshuffle_items_avx512(typesize, nitems, src, nitems, dst);
    unshuffle_rest(typesize, len, nitems, src, dst);
}

static void prefix_sum(size_t len, uint8_t *bytes)
{
    shuffle_avx2.prefix_sum(len, bytes);
}

const struct shuffle_ops shuffle_avx512 = {
    .cpu = CPU_AVX2 | CPU_AVX512,
    .name = "avx512",
    .shuffle = shuffle,
    .unshuffle = unshuffle,
    .bitshuffle = bitshuffle_avx512,
    .bitunshuffle = bitunshuffle_avx512,
    .unshuffle_planes = unshuffle_planes,
    .prefix_sum = prefix_sum,
};
