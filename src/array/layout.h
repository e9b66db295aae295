/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_LAYOUT_H
#define ARRAY_LAYOUT_H

#include <stdint.h>

#include "base/fault.h"
#include "chunk/chunk_items.h"
#include "frame/array_format.h"

/*
 * The places of an array's items in its chunks.
 *
 * An array is cut into a grid of chunks, and a chunk into a grid of blocks.
 * The chunks of an array, the blocks of a chunk and the items of a block are
 * each in C order.  Chunks and blocks at an edge are padded to full size.
 *
 * Format: b2nd.md, 2 and 3.
 */

/* Extents of an array.  The last dimension varies fastest. */
struct layout_shape {
    unsigned ndim;
    uint64_t items[ARRAY_NDIM_MAX];
    uint32_t chunk[ARRAY_NDIM_MAX];
    uint32_t block[ARRAY_NDIM_MAX];
};

/* One dimension.  Extents are 0 only if the array has no items. */
struct layout_dim {
    uint64_t nitems;
    uint32_t chunk;   /* items along it in a chunk */
    uint32_t block;   /* and in a block */
    uint64_t nchunks; /* chunks along it */
    uint32_t nblocks; /* blocks along it in one chunk */
};

/*
 * The layout.  Dimensions that are contiguous in memory are merged into one,
 * which changes nothing about items, chunks and blocks.
 */
struct layout {
    unsigned ndim; /* 1 to 16; 0 if the array has no items */
    struct layout_dim dims[ARRAY_NDIM_MAX];
    uint32_t itemsize;     /* bytes, at least 1 */
    uint64_t nitems;       /* of the array */
    uint64_t nbytes;       /* of all items, below 2^63 */
    uint64_t nchunks;      /* in the array */
    uint32_t block_nitems; /* in a block, padding included */
    uint32_t chunk_nitems; /* in a chunk, padding included */
};

/*
 * Check the extents and compute the layout.
 *
 *  itemsize  bytes, at least 1
 *
 * Returns 0 or -EBADMSG: a chunk's or block's extent is 0 although that of the
 * array or chunk is not, a block is larger than its chunk, a chunk has 2^31
 * bytes or more, or the array 2^63 or more.  The fault has no offset.
 */
int layout_init(struct layout *layout, const struct layout_shape *shape,
                uint32_t itemsize, struct fault *fault);

/* Return the shape of blocks, as codecs and filters are told it. */
struct block_shape layout_block_shape(const struct layout_shape *shape);

/*
 * Choose extents for chunks or blocks of a given size.  The largest extent is
 * halved until the piece fits, so pieces are close to cubes; these suit readers
 * in any order of dimensions.
 *
 *  whole    extents of the array, or of the chunk for blocks
 *  nbytes   maximum size in bytes; a piece has at least one item
 *  extents  receives the extents
 */
void layout_choose(const uint64_t *whole, unsigned ndim, uint32_t itemsize,
                   uint32_t nbytes, uint32_t *extents);

enum {
    LAYOUT_AUTO_BLOCK = 64 << 10 /* bytes in a block if the user sets none */
};

/* Bytes that parts of an array have at most. */
struct layout_sizes {
    uint32_t chunk;
    uint32_t block; /* 0: LAYOUT_AUTO_BLOCK */
    uint64_t row;   /* what layout_row_nbytes() is to return, so that a writer
                       in C order fills each chunk at once; unless a single row
                       of items is longer */
};

/* Choose chunks and blocks of an array in this way. */
void layout_choose_parts(struct layout_shape *shape, uint32_t itemsize,
                         const struct layout_sizes *sizes);

/*
 * Total size in bytes of the chunks that a reader in C order comes back to
 * until it has finished with them.  These are all chunks at one position of the
 * grid along the first dimension in which a chunk is more than one item deep,
 * and along the dimensions before that.  With a cache of this size, each block
 * is decoded only once.
 *
 * 0 if the array has no items; UINT64_MAX if the size exceeds 64 bits.
 */
uint64_t layout_row_nbytes(const struct layout *layout);

/*
 * Number of chunks, counted from the first, that a reader in C order has
 * finished with when it reaches an item.
 *
 *  item_no  number of an item, or nitems for the end
 */
uint64_t layout_passed(const struct layout *layout, uint64_t item_no);

/* The place of an item, and how far its neighbours go.  Counts are in items. */
struct layout_place {
    uint64_t chunk_no;
    uint32_t item; /* number in the decoded chunk */
    uint32_t run;  /* from the item on, contiguous in array and chunk */
    uint32_t row;  /* from the item on, in one row of the array and this
                      chunk */
    uint32_t span; /* from the item to the end of the last block that holds a
                      part of `row` */
};

/*
 * Locate an item.
 *
 *  item_no  its number in C order, below nitems
 *  max      at least 1; limits `run` and `row`
 */
void layout_locate(const struct layout *layout, uint64_t item_no, uint64_t max,
                   struct layout_place *out);

#endif
