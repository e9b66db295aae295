/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_VECTOR_SHUFFLE_VECTOR_H
#define CHUNK_VECTOR_SHUFFLE_VECTOR_H

#include "chunk/shuffle.h"

/* Kernels with vectors of 16 bytes: SSE2, NEON or the vector facility of s390x,
   as this build is for x86-64, arm64 or s390x. */
extern const struct shuffle_ops shuffle_vector;

#endif
