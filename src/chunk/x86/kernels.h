/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_X86_KERNELS_H
#define CHUNK_X86_KERNELS_H

#include <stdbool.h>

#include "chunk/shuffle.h"
#include "chunk/x86/columns.h"

/* Each is in the file of its name, compiled for its instruction set. */
extern const struct shuffle_ops shuffle_sse2;
extern const struct shuffle_ops shuffle_avx2;
extern const struct shuffle_ops shuffle_avx512;

/* What the newer one leaves to the older. */
extern const struct column_steps column_steps_avx2;

/* For the last table; see struct shuffle_ops. */
void bitshuffle_avx512(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst);
void bitunshuffle_avx512(size_t typesize, size_t len, const uint8_t *src,
                         uint8_t *dst);

/*
 * Shuffle whole items of 2 to 8 or of 16 bytes, which has_tiles_avx512() tells,
 * or undo it.
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
