/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_X86_KERNELS_H
#define CHUNK_X86_KERNELS_H

#include <stdbool.h>

#include "chunk/shuffle.h"
#include "chunk/vector/columns.h"

/* Each is in the file of its name, compiled for its instruction set. */
extern const struct shuffle_ops shuffle_avx2;
extern const struct shuffle_ops shuffle_avx512;

/* The steps that the AVX-512 kernels borrow from AVX2. */
extern const struct column_steps column_steps_avx2;

/* Functions of shuffle_avx512; see struct shuffle_ops. */
void bitshuffle_avx512(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst);
void bitunshuffle_avx512(size_t typesize, size_t len, const uint8_t *src,
                         uint8_t *dst);

/*
 * Shuffle whole items of a typesize that has_tiles_avx512() accepts, which is 2
 * to 8 or 16 bytes, or undo that.
 *
 *  nitems  at least 64
 *  stride  bytes from one plane to the next
 */
bool has_tiles_avx512(size_t typesize);
void shuffle_items_avx512(size_t typesize, size_t nitems, const uint8_t *src,
                          size_t stride, uint8_t *dst);
void unshuffle_items_avx512(size_t typesize, size_t nitems, const uint8_t *src,
                            size_t stride, uint8_t *dst);

#endif
