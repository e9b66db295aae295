/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_LAYOUT_H
#define ARRAY_LAYOUT_H

#include <stdint.h>

#include "array/array_format.h"
#include "base/fault.h"

/*
 * Where the items of an array lie in its chunks.
 *
 * An array is cut into a grid of chunks, a chunk into a grid of blocks; chunks,
 * the blocks of a chunk and the items of a block follow each other in C order.
 * Chunks and blocks at an edge are padded to full size.
 *
 * Format: b2nd.md, 2 and 3.
 */

/* Extents of an array; the last dimension is the fastest. */
struct layout_shape {
    unsigned ndim;
    uint64_t items[ARRAY_NDIM_MAX];
    uint32_t chunk[ARRAY_NDIM_MAX];
    uint32_t block[ARRAY_NDIM_MAX];
};

/* One dimension.  Only arrays without items have extents of 0. */
struct layout_dim {
    uint64_t nitems;
    uint32_t chunk;   /* items along it in a chunk */
    uint32_t block;   /* and in a block */
    uint64_t nchunks; /* chunks along it */
    uint32_t nblocks; /* blocks along it in one chunk */
};

/*
 * The layout, after dimensions that lie in memory as one have become one: what
 * it says of items, chunks and blocks is the same.
 */
struct layout {
    unsigned ndim; /* 1 to 16; 0 if the array has no items */
    struct layout_dim dims[ARRAY_NDIM_MAX];
    uint32_t itemsize;     /* bytes, at least 1 */
    uint64_t nitems;       /* of the array */
    uint64_t nbytes;       /* of its items, below 2^63 */
    uint64_t nchunks;      /* that hold it */
    uint32_t block_nitems; /* in a block, padding included */
    uint32_t chunk_nitems; /* in a chunk, padding included */
};

/*
 * Check extents, and find out the layout.
 *
 *  itemsize  bytes, at least 1
 *
 * Returns 0 or -EBADMSG: an extent is 0 where the one it is part of is not, a
 * block is larger than its chunk, a chunk has 2^31 bytes or more, or the array
 * 2^63.  The fault has no offset.
 */
int layout_init(struct layout *layout, const struct layout_shape *shape,
                uint32_t itemsize, struct fault *fault);

/*
 * Choose extents for chunks, or for blocks, of about a size: the largest extent
 * is halved until what remains fits, so that they are near to cubes, in
 * whatever order the items are read.
 *
 *  whole   extents of what they are part of
 *  nbytes  how large they may be; one item is always taken
 */
void layout_choose(const uint64_t *whole, unsigned ndim, uint32_t itemsize,
                   uint32_t nbytes, uint32_t *extents);

/*
 * Bytes of the chunks to which a reader in C order comes back until it is
 * through with them: those side by side in one row of the grid, where a chunk
 * holds several rows.  If they are kept, each block is decoded once.
 *
 * 0 if the array has no items; UINT64_MAX if there are more than 2^64 - 1.
 */
uint64_t layout_row_nbytes(const struct layout *layout);

/* How many chunks, the first ones, a reader in C order is through with when it
   comes to an item, one that is there or the end. */
uint64_t layout_passed(const struct layout *layout, uint64_t item_no);

/* Where an item lies, and its neighbours.  Counts are of items. */
struct layout_place {
    uint64_t chunk_no;
    uint32_t item; /* number in the decoded chunk */
    uint32_t run;  /* from it on, next to each other in array and chunk */
    uint32_t row;  /* from it on, in a row of the array and in this chunk */
    uint32_t span; /* from it on to the end of the last block that holds
                      some of the row */
};

/*
 * Find an item.
 *
 *  item_no  its number in C order, below nitems
 *  max      at least 1: how many items are of interest; run and row are cut
 */
void layout_locate(const struct layout *layout, uint64_t item_no, uint64_t max,
                   struct layout_place *out);

#endif
