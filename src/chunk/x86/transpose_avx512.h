/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_X86_TRANSPOSE_AVX512_H
#define CHUNK_X86_TRANSPOSE_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What shuffle_avx512.c and bitshuffle_avx512.c do with registers.  All of it
 * is inlined there, so that no object has a copy that the linker might keep for
 * others.
 */
enum {
    VECTOR = 64,
    NWORDS = 8 /* of eight bytes in a register */
};

/* What is worked on is in registers only if loops are unrolled, too. */
#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

INLINE __m512i load(const uint8_t *bytes)
{
    return _mm512_loadu_si512(bytes);
}

INLINE void store(uint8_t *bytes, __m512i x)
{
    _mm512_storeu_si512(bytes, x);
}

/*
 * Exchange the words of `a` whose number has the bit `step` with those of `b`
 * whose number lacks it.
 */
INLINE void exchange(size_t step, __m512i *a, __m512i *b)
{
    uint64_t even[NWORDS]; /* those from NWORDS on are of b */
    uint64_t odd[NWORDS];
    __m512i x = *a;

    UNROLL
    for (size_t i = 0; i < NWORDS; i++) {
        even[i] = i & step ? NWORDS + i - step : i;
        odd[i] = i & step ? NWORDS + i : i + step;
    }
    *a = _mm512_permutex2var_epi64(x, _mm512_loadu_si512(even), *b);
    *b = _mm512_permutex2var_epi64(x, _mm512_loadu_si512(odd), *b);
}

/* Transpose `width` registers of as many units. */
INLINE void transpose(size_t width, __m512i x[])
{
    UNROLL
    for (size_t step = 1; step < width; step *= 2) {
        UNROLL
        for (size_t i = 0; i < width; i++) {
            if (!(i & step))
                exchange(step * NWORDS / width, &x[i], &x[i | step]);
        }
    }
}

#endif
