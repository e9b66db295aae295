/* SPDX-License-Identifier: BSD-3-Clause */
#include <emmintrin.h>

#include "chunk/shuffle_portable.h"
#include "chunk/x86/kernels.h"

/*
 * Eight items make a group.  Byte i of the rows that come from byte j of the
 * items holds the bits of eight bytes, byte j of each item of group i.  So
 * shuffle the groups as if they were items, which puts byte j of item b of all
 * groups into one plane; then transpose the bits of eight planes, one for each
 * b, to get eight rows.
 */
enum {
    VECTOR = 16,
    GROUP = 8,
    RUN = 128 /* groups at once: two cache lines of each row */
};

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Planes of a run: byte j of item b in plane b * ncolumns + j. */
struct planes {
    uint8_t bytes[GROUP * KERNEL_COLUMNS][RUN];
};

/* Swap the high bits of bytes of `a`, as many as `shift`, with low ones of b */
static inline void swap_bits(int shift, __m128i mask, __m128i *a, __m128i *b)
{
    __m128i x = _mm_xor_si128(_mm_srli_epi64(*a, shift), *b);

    x = _mm_and_si128(x, mask);
    *b = _mm_xor_si128(*b, x);
    *a = _mm_xor_si128(*a, _mm_slli_epi64(x, shift));
}

/* Bit k of byte i of register b becomes bit b of byte i of register k. */
static inline void transpose_bits(__m128i x[GROUP])
{
    const __m128i nibbles = _mm_set1_epi8(0x0f);
    const __m128i pairs = _mm_set1_epi8(0x33);
    const __m128i bits = _mm_set1_epi8(0x55);

    swap_bits(4, nibbles, &x[0], &x[4]);
    swap_bits(4, nibbles, &x[1], &x[5]);
    swap_bits(4, nibbles, &x[2], &x[6]);
    swap_bits(4, nibbles, &x[3], &x[7]);
    swap_bits(2, pairs, &x[0], &x[2]);
    swap_bits(2, pairs, &x[1], &x[3]);
    swap_bits(2, pairs, &x[4], &x[6]);
    swap_bits(2, pairs, &x[5], &x[7]);
    swap_bits(1, bits, &x[0], &x[1]);
    swap_bits(1, bits, &x[2], &x[3]);
    swap_bits(1, bits, &x[4], &x[5]);
    swap_bits(1, bits, &x[6], &x[7]);
}

/* Transpose the bits of eight rows, or planes, of `n` bytes each. */
static void transpose_rows(size_t n, const uint8_t *src, size_t src_stride,
                           uint8_t *dst, size_t dst_stride)
{
    for (size_t i = 0; i < n; i += VECTOR) {
        __m128i x[GROUP];

        UNROLL
        for (size_t b = 0; b < GROUP; b++)
            x[b] =
                _mm_loadu_si128((const __m128i_u *)(src + b * src_stride + i));
        transpose_bits(x);
        UNROLL
        for (size_t k = 0; k < GROUP; k++)
            _mm_storeu_si128((__m128i_u *)(dst + k * dst_stride + i), x[k]);
    }
}

/*
 * Where the eight bytes of a group lie, counted from its column, that make
 * planes 8 * n and on.  Short items are taken whole, one behind the other.
 */
static size_t plane_off(size_t typesize, size_t n)
{
    return n * (typesize < KERNEL_COLUMNS ? KERNEL_COLUMNS : typesize);
}

/* How many groups, whole vectors of them, to take at once. */
static size_t run_length(size_t ngroups)
{
    return ngroups < RUN ? ngroups / VECTOR * VECTOR : RUN;
}

/* Shuffle `run` groups, of `row` in the block, from group `i` on. */
static void shuffle_run(size_t typesize, size_t row, size_t i, size_t run,
                        const uint8_t *src, uint8_t *dst)
{
    size_t ncolumns = typesize < KERNEL_COLUMNS ? typesize : KERNEL_COLUMNS;
    struct planes planes;

    src += i * GROUP * typesize;
    dst += i;
    for (size_t c = 0; c < typesize; c = kernel_next_column(c, typesize)) {
        for (size_t n = 0; n < ncolumns; n++)
            shuffle_columns_sse2(GROUP * typesize, run,
                                 src + c + plane_off(typesize, n), RUN,
                                 planes.bytes[GROUP * n]);
        for (size_t j = 0; j < ncolumns; j++)
            transpose_rows(run, planes.bytes[j], ncolumns * RUN,
                           dst + (c + j) * GROUP * row, row);
    }
}

static void unshuffle_run(size_t typesize, size_t row, size_t i, size_t run,
                          const uint8_t *src, uint8_t *dst)
{
    size_t ncolumns = typesize < KERNEL_COLUMNS ? typesize : KERNEL_COLUMNS;
    struct planes planes;

    src += i;
    dst += i * GROUP * typesize;
    for (size_t c = 0; c < typesize; c = kernel_next_column(c, typesize)) {
        for (size_t j = 0; j < ncolumns; j++)
            transpose_rows(run, src + (c + j) * GROUP * row, row,
                           planes.bytes[j], ncolumns * RUN);
        for (size_t n = 0; n < ncolumns; n++)
            unshuffle_columns_sse2(GROUP * typesize, run,
                                   planes.bytes[GROUP * n], RUN,
                                   dst + c + plane_off(typesize, n));
    }
}

void bitshuffle_sse2(size_t typesize, size_t len, const uint8_t *src,
                     uint8_t *dst)
{
    size_t row = len / typesize / GROUP;
    size_t i = 0;

    for (size_t run; (run = run_length(row - i)) > 0; i += run)
        shuffle_run(typesize, row, i, run, src, dst);
    if (i > 0 && i < row) {
        shuffle_run(typesize, row, row - VECTOR, VECTOR, src, dst);
        i = row;
    }
    bitshuffle_rest(typesize, len, i, src, dst);
}

void bitunshuffle_sse2(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst)
{
    size_t row = len / typesize / GROUP;
    size_t i = 0;

    for (size_t run; (run = run_length(row - i)) > 0; i += run)
        unshuffle_run(typesize, row, i, run, src, dst);
    if (i > 0 && i < row) {
        unshuffle_run(typesize, row, row - VECTOR, VECTOR, src, dst);
        i = row;
    }
    bitunshuffle_rest(typesize, len, i, src, dst);
}
