/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_VECTOR_COLUMNS_H
#define CHUNK_VECTOR_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Shuffles of items of any size, column by column.  A column is one byte of
 * each item; stored by itself, it is a plane.
 */
enum {
    COLUMNS = 8 /* processed at a time, if an item has as many bytes */
};

/* The operations of an instruction set on columns. */
struct column_steps {
    size_t vector; /* `nitems` and `n` below are multiples of it */

    /*
     * Shuffle COLUMNS bytes of every item, or undo that.
     *
     *  typesize  bytes from one item to the next, at least COLUMNS
     *  nitems    a multiple of `vector`
     *  stride    bytes from one plane to the next
     *
     * The functions write only these bytes, and read only between the first and
     * the last of them.
     */
    void (*shuffle)(size_t typesize, size_t nitems, const uint8_t *src,
                    size_t stride, uint8_t *dst);
    void (*unshuffle)(size_t typesize, size_t nitems, const uint8_t *src,
                      size_t stride, uint8_t *dst);

    /* Transpose the bits of eight rows, or planes, of `n` bytes each: bit k of
       a byte of row b becomes bit b of that byte of row k. */
    void (*transpose)(size_t n, const uint8_t *src, size_t src_stride,
                      uint8_t *dst, size_t dst_stride);
};

/*
 * Return the column to go on with after the columns that start with `column`.
 * If `ncolumns`, the number of columns, is no multiple of COLUMNS, the last
 * ones overlap those before.
 */
size_t columns_next(size_t column, size_t ncolumns);

/* See struct shuffle_ops.  Items have at least COLUMNS bytes. */
void columns_shuffle(const struct column_steps *steps, size_t typesize,
                     size_t len, const uint8_t *src, uint8_t *dst);
void columns_unshuffle(const struct column_steps *steps, size_t typesize,
                       size_t len, const uint8_t *src, uint8_t *dst);

/* See struct shuffle_ops. */
void columns_bitshuffle(const struct column_steps *steps, size_t typesize,
                        size_t len, const uint8_t *src, uint8_t *dst);
void columns_bitunshuffle(const struct column_steps *steps, size_t typesize,
                          size_t len, const uint8_t *src, uint8_t *dst);

#endif
