/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_X86_UNROLL_H
#define CHUNK_X86_UNROLL_H

/* An array of vectors is in registers only if all that works on it is inlined,
   and its loops are unrolled. */
#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

#endif
