/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_VECTOR_UNROLL_H
#define CHUNK_VECTOR_UNROLL_H

/* The compiler keeps an array of vectors in registers only if all functions
   that work on it are inlined and their loops unrolled. */
#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

#endif
