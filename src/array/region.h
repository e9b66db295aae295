/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_REGION_H
#define ARRAY_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "array/array.h"

/*
 * A rectangular region of an array, and the places of its items in chunks,
 * blocks and the memory of a caller.
 */

/* A region.  Dimensions beyond that of the array are ignored. */
struct region {
    uint64_t start[ARRAY_NDIM_MAX]; /* number of the first item along each
                                       dimension */
    uint64_t count[ARRAY_NDIM_MAX]; /* items along it */
    int64_t stride[ARRAY_NDIM_MAX]; /* bytes in memory from one item to the next
                                       along it; may be negative or 0 */
};

/* Set the strides of memory that holds the items of a region in C order.
   Returns 0, or -EFBIG if it would have 2^63 bytes or more. */
int region_set_c_order(struct region *region, const struct array *array);

/* A region that was checked, and the chunks that hold parts of it. */
struct region_plan {
    unsigned ndim;
    uint32_t itemsize;     /* bytes */
    uint32_t block_nbytes; /* bytes of a block, padding included */
    uint64_t nchunks;      /* number of chunks with a part of it */
    struct layout_dim dims[ARRAY_NDIM_MAX];
    struct region region;
};

/*
 * Check a region.
 *
 *  padded  whether the region may go on into the padding of the last chunks
 *
 * Returns 0, or -ERANGE if the array does not have all its items.
 */
int region_plan_init(struct region_plan *plan, const struct array *array,
                     const struct region *region, bool padded);

/* The part of a region in one chunk. */
struct region_chunk {
    uint64_t chunk_no;
    uint64_t nblocks;                 /* number of blocks with a part of it */
    int64_t mem_off;                  /* of its first item in memory, bytes */
    uint32_t start[ARRAY_NDIM_MAX];   /* its first item in the chunk, along
                                           each dimension */
    uint32_t count[ARRAY_NDIM_MAX];   /* items along it */
    uint32_t items[ARRAY_NDIM_MAX];   /* items of the array in the chunk,
                                           along it */
    uint32_t first[ARRAY_NDIM_MAX];   /* the first of these blocks, along it */
    uint32_t extents[ARRAY_NDIM_MAX]; /* number of them along it */
};

/* Find the part in the chunk with number `i` of those that have one, below
   plan->nchunks.  Chunks come in the order of their numbers. */
void region_find_chunk(const struct region_plan *plan, uint64_t i,
                       struct region_chunk *out);

/* Items that lie at regular distances both in a block and in memory.
   Dimensions are merged where the items follow one another in both. */
struct region_block {
    uint32_t block_no; /* in its chunk */
    bool whole;        /* the region has all items of the block, but for the
                          padding */
    bool full;         /* the block has no padding */
    uint32_t off;      /* of the first item in the block, bytes */
    int64_t mem_off;   /* in memory, bytes */
    unsigned ndim;
    uint32_t itemsize;
    uint32_t count[ARRAY_NDIM_MAX];
    uint32_t stride[ARRAY_NDIM_MAX]; /* bytes in the block */
    int64_t mem_stride[ARRAY_NDIM_MAX];
};

/* Find the part in the block with number `i` of those of a chunk that have one,
   below chunk->nblocks.  Blocks come in the order of their numbers. */
void region_find_block(const struct region_plan *plan,
                       const struct region_chunk *chunk, uint64_t i,
                       struct region_block *out);

/* Return the number of that block in its chunk. */
uint32_t region_block_no(const struct region_plan *plan,
                         const struct region_chunk *chunk, uint64_t i);

/* Copy the items from the block to memory, and from memory to the block.
   `memory` is where the first item of the whole region is. */
void region_load(const struct region_block *part, const uint8_t *block,
                 uint8_t *memory);
void region_store(const struct region_block *part, const uint8_t *memory,
                  uint8_t *block);

/* Items that follow one another in the block.  Offsets and the stride are in
   bytes. */
struct region_run {
    uint32_t off;        /* in the block */
    uint32_t nitems;     /* at least 1 */
    int64_t mem_off;     /* of the first item in memory */
    int64_t item_stride; /* in memory, from one item to the next */
};

/* Call a function for each run of a part.  Returns 0, or the first value that
   is not 0 that `run` returns. */
int region_each_run(const struct region_block *part,
                    int (*run)(void *context, const struct region_run *run),
                    void *context);

/* Items to be copied: `n` of `size` bytes each, with their distances in
   bytes. */
struct region_items {
    const uint8_t *from;
    int64_t from_stride;
    uint8_t *to;
    int64_t to_stride;
    uint64_t n;
    uint32_t size;
};

/* Copy them.  The two sides do not overlap. */
void region_copy_items(const struct region_items *items);

#endif
