/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_ITEMS_H
#define CHUNK_CHUNK_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The extents of each block of an array, in items.  The last dimension varies
   fastest. */
struct block_shape {
    unsigned ndim; /* at most BLOCK_NDIM_MAX; 0 if the blocks have no shape */
    uint32_t extents[16];
};

enum {
    BLOCK_NDIM_MAX = sizeof(((struct block_shape *)0)->extents) /
                     sizeof(((struct block_shape *)0)->extents[0])
};

/*
 * The items of a chunk, as the frame around it describes them.  A chunk says
 * how its blocks were encoded; some codecs and filters also have to know this.
 */
struct chunk_items {
    uint32_t size;            /* bytes per item; 0 if there is no frame */
    struct block_shape block; /* as stored, so the extents may be any numbers */
};

/* Return the number of items in a block, or 0 if the blocks have no shape, an
   extent is 0, or there are more than UINT32_MAX. */
uint32_t chunk_items_per_block(const struct chunk_items *items);

/* Do the items of a block, `item_size` bytes each, take exactly `len` bytes? */
bool chunk_items_fill(const struct chunk_items *items, uint32_t item_size,
                      size_t len);

#endif
