/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/shuffle_portable.h"
#include "chunk/x86/kernels.h"
#include "chunk/x86/transpose_avx512.h"

enum {
    GROUP = 8,            /* items that fill a byte of each row */
    RUN = GROUP * VECTOR, /* items that fill a register of each row */
    NEAR = 16384,         /* bytes that stay in the first-level cache */
    MAX_COLUMNS = 16      /* most bytes of an item that are planes at a time */
};

/* Bit k of byte b of each word becomes bit 7 - b of its byte k. */
INLINE __m512i transpose_bits(__m512i x)
{
    const __m512i bits = _mm512_set1_epi64((int64_t)0x8040201008040201);

    return _mm512_gf2p8affine_epi64_epi8(bits, x, 0);
}

INLINE __m512i reverse_words(__m512i x)
{
    const __m512i mask =
        _mm512_set4_epi32(0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607);

    return _mm512_shuffle_epi8(x, mask);
}

/* Move the bits of one byte of RUN items to eight rows, a register each. */
INLINE void plane_to_rows(const uint8_t *src, size_t row, uint8_t *dst)
{
    __m512i x[GROUP];

    UNROLL
    for (size_t i = 0; i < GROUP; i++)
        x[i] = transpose_bits(reverse_words(load(src + i * VECTOR)));
    items_to_planes(GROUP, x);
    UNROLL
    for (size_t k = 0; k < GROUP; k++)
        store(dst + k * row, x[k]);
}

INLINE void rows_to_plane(const uint8_t *src, size_t row, uint8_t *dst)
{
    __m512i x[GROUP];

    UNROLL
    for (size_t k = 0; k < GROUP; k++)
        x[GROUP - 1 - k] = load(src + k * row);
    planes_to_items(GROUP, x);
    UNROLL
    for (size_t i = 0; i < GROUP; i++)
        store(dst + i * VECTOR, transpose_bits(x[i]));
}

/*
 * Bitshuffle is a shuffle that then splits each byte of the items into bits.
 * Rows are often a power of two apart, so that few lines of them fit into the
 * first-level cache at a time.  So many items are shuffled into planes that
 * stay in that cache, before going from the rows of one byte to the next.
 */
struct planes {
    uint8_t bytes[NEAR + MAX_COLUMNS * VECTOR];
};

static void planes_to_rows(size_t nplanes, size_t nitems, const uint8_t *src,
                           size_t stride, size_t row, uint8_t *dst)
{
    for (size_t j = 0; j < nplanes; j++) {
        for (size_t i = 0; i < nitems; i += RUN)
            plane_to_rows(src + j * stride + i, row,
                          dst + j * GROUP * row + i / GROUP);
    }
}

static void rows_to_planes(size_t nplanes, size_t nitems, const uint8_t *src,
                           size_t row, uint8_t *dst, size_t stride)
{
    for (size_t j = 0; j < nplanes; j++) {
        for (size_t i = 0; i < nitems; i += RUN)
            rows_to_plane(src + j * GROUP * row + i / GROUP, row,
                          dst + j * stride + i);
    }
}

static void bitshuffle_run(size_t typesize, size_t nitems, size_t row,
                           const uint8_t *src, uint8_t *dst)
{
    size_t stride = nitems + VECTOR;
    struct planes planes;

    if (typesize == 1) {
        planes_to_rows(1, nitems, src, 0, row, dst);
        return;
    }
    if (has_tiles_avx512(typesize)) {
        shuffle_items_avx512(typesize, nitems, src, stride, planes.bytes);
        planes_to_rows(typesize, nitems, planes.bytes, stride, row, dst);
        return;
    }
    for (size_t c = 0; c < typesize; c = columns_next(c, typesize)) {
        column_steps_avx2.shuffle(typesize, nitems, src + c, stride,
                                  planes.bytes);
        planes_to_rows(COLUMNS, nitems, planes.bytes, stride, row,
                       dst + c * GROUP * row);
    }
}

static void bitunshuffle_run(size_t typesize, size_t nitems, size_t row,
                             const uint8_t *src, uint8_t *dst)
{
    size_t stride = nitems + VECTOR;
    struct planes planes;

    if (typesize == 1) {
        rows_to_planes(1, nitems, src, row, dst, 0);
        return;
    }
    if (has_tiles_avx512(typesize)) {
        rows_to_planes(typesize, nitems, src, row, planes.bytes, stride);
        unshuffle_items_avx512(typesize, nitems, planes.bytes, stride, dst);
        return;
    }
    for (size_t c = 0; c < typesize; c = columns_next(c, typesize)) {
        rows_to_planes(COLUMNS, nitems, src + c * GROUP * row, row,
                       planes.bytes, stride);
        column_steps_avx2.unshuffle(typesize, nitems, planes.bytes, stride,
                                    dst + c);
    }
}

/* Return how many bytes of an item are planes at a time. */
static size_t count_columns(size_t typesize)
{
    return typesize == 1 || has_tiles_avx512(typesize) ? typesize : COLUMNS;
}

/* Return how many groups to process at a time, a multiple of VECTOR. */
static size_t run_length(size_t typesize, size_t ngroups)
{
    size_t most = NEAR / GROUP / count_columns(typesize);

    return (ngroups < most ? ngroups : most) / VECTOR * VECTOR;
}

void bitshuffle_avx512(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst)
{
    size_t row = len / typesize / GROUP;
    size_t i = 0;

    if (row < VECTOR) {
        shuffle_avx2.bitshuffle(typesize, len, src, dst);
        return;
    }
    for (size_t run; (run = run_length(typesize, row - i)) > 0; i += run)
        bitshuffle_run(typesize, GROUP * run, row, src + i * GROUP * typesize,
                       dst + i);
    if (i < row) {
        size_t last = row - VECTOR;

        bitshuffle_run(typesize, RUN, row, src + last * GROUP * typesize,
                       dst + last);
    }
    bitshuffle_rest(typesize, len, row, src, dst);
}

void bitunshuffle_avx512(size_t typesize, size_t len, const uint8_t *src,
                         uint8_t *dst)
{
    size_t row = len / typesize / GROUP;
    size_t i = 0;

    if (row < VECTOR) {
        shuffle_avx2.bitunshuffle(typesize, len, src, dst);
        return;
    }
    for (size_t run; (run = run_length(typesize, row - i)) > 0; i += run)
        bitunshuffle_run(typesize, GROUP * run, row, src + i,
                         dst + i * GROUP * typesize);
    if (i < row) {
        size_t last = row - VECTOR;

        bitunshuffle_run(typesize, RUN, row, src + last,
                         dst + last * GROUP * typesize);
    }
    bitunshuffle_rest(typesize, len, row, src, dst);
}
