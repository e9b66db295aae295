/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_X86_COLUMNS_H
#define CHUNK_X86_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Items of any size, column by column.  A column is a byte of each item, and a
 * plane when it is by itself.
 */
enum {
    COLUMNS = 8 /* that are dealt with at once, if an item has as many */
};

/* What an instruction set does with columns. */
struct column_steps {
    size_t vector; /* what is dealt with comes in multiples of this */

    /*
     * Shuffle COLUMNS bytes of every item, or undo it.
     *
     *  typesize  bytes from one item to the next, at least COLUMNS
     *  nitems    a multiple of `vector`
     *  stride    bytes from one plane to the next
     *
     * Nothing is written but these bytes, and nothing is read that does not lie
     * between the first and the last of them.
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
 * Where to go on behind the columns that start with `column`.  The last ones
 * overlap those before if `ncolumns`, how many there are, is no multiple of
 * COLUMNS.
 */
size_t columns_next(size_t column, size_t ncolumns);

/* See struct shuffle_ops; of at least COLUMNS bytes an item. */
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
