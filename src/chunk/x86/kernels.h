/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_X86_KERNELS_H
#define CHUNK_X86_KERNELS_H

#include <stdbool.h>

#include "chunk/shuffle.h"

/* Each is in the file of its name, compiled for its instruction set. */
extern const struct shuffle_ops shuffle_sse2;
extern const struct shuffle_ops shuffle_avx2;
extern const struct shuffle_ops shuffle_avx512;

/* For these tables; see struct shuffle_ops. */
void bitshuffle_sse2(size_t typesize, size_t len, const uint8_t *src,
                     uint8_t *dst);
void bitunshuffle_sse2(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst);
void bitshuffle_avx2(size_t typesize, size_t len, const uint8_t *src,
                     uint8_t *dst);
void bitunshuffle_avx2(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst);

void bitshuffle_avx512(size_t typesize, size_t len, const uint8_t *src,
                       uint8_t *dst);
void bitunshuffle_avx512(size_t typesize, size_t len, const uint8_t *src,
                         uint8_t *dst);

/* Bytes of each item that kernels handle at once, if it has as many. */
enum {
    KERNEL_COLUMNS = 8
};

/*
 * Where to go on behind the columns, which are bytes of an item, that start
 * with `column`.  The last ones overlap those before if `ncolumns`, how many
 * there are, is no multiple of KERNEL_COLUMNS.
 */
size_t kernel_next_column(size_t column, size_t ncolumns);

/*
 * Shuffle KERNEL_COLUMNS bytes of every item, or undo it.
 *
 *  typesize  bytes from one item to the next, at least KERNEL_COLUMNS
 *  nitems    a multiple of 16 (sse2) or 32 (avx2)
 *  stride    bytes from one plane to the next
 *
 * Nothing is written but these bytes, and nothing is read that does not lie
 * between the first and the last of them.
 */
void shuffle_columns_sse2(size_t typesize, size_t nitems, const uint8_t *src,
                          size_t stride, uint8_t *dst);
void unshuffle_columns_sse2(size_t typesize, size_t nitems, const uint8_t *src,
                            size_t stride, uint8_t *dst);
void shuffle_columns_avx2(size_t typesize, size_t nitems, const uint8_t *src,
                          size_t stride, uint8_t *dst);
void unshuffle_columns_avx2(size_t typesize, size_t nitems, const uint8_t *src,
                            size_t stride, uint8_t *dst);

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
