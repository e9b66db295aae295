/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_FILTER_H
#define CHUNK_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk.h"
#include "chunk/shuffle.h"

/* Filter numbers.  Format: Filters of Blosc2 chunks, 1 "Pipeline". */
enum filter_id {
    FILTER_NONE = 0,
    FILTER_SHUFFLE = 1,
    FILTER_BITSHUFFLE = 2,
    FILTER_DELTA = 3,
    FILTER_TRUNC_PREC = 4,
    FILTER_NDCELL = 32,
    FILTER_NDMEAN = 33,
    FILTER_BYTEDELTA_OLD = 34,
    FILTER_BYTEDELTA = 35,
    FILTER_INT_TRUNC = 36,
};

/* One block on its way through the pipeline, and what the filters ask about. */
struct filter_block {
    size_t len;             /* bytes in the block */
    unsigned typesize;      /* of the chunk header, 1 to 255 */
    uint32_t item_size;     /* typesize of the frame; 0 if there is none */
    unsigned chunk_version; /* bitshuffle of version 2 differs */
    const uint8_t *first;   /* delta: the first block, decoded when undoing,
                               as it was given when applying; NULL if this
                               block is a first block itself, as are all blocks
                               of a chunk with blocks of sizes of their own */
    const struct shuffle_ops *shuffle;
};

/* One filter.  Every block keeps its length, and any length will do. */
struct filter {
    enum filter_id id;
    const char *name;

    /* See filter_check(); NULL if anything goes. */
    int (*check)(uint8_t meta, unsigned typesize);

    /*
     * From `src` to `dst`, block->len bytes each, which do not overlap.  NULL
     * for a filter that is only read.
     */
    void (*apply)(const struct filter_block *block, uint8_t meta,
                  const uint8_t *src, uint8_t *dst);

    /*
     * At most one of the two is set, and neither if there is nothing to undo:
     * from `src` to `dst`, or where the bytes are.
     */
    void (*undo)(const struct filter_block *block, uint8_t meta,
                 const uint8_t *src, uint8_t *dst);
    void (*undo_in_place)(const struct filter_block *block, uint8_t meta,
                          uint8_t *bytes);
};

/* The filter of a number, or NULL if this build lacks it. */
const struct filter *filter_by_id(unsigned id);

/*
 * The filter of a name such as "bitshuffle", or NULL if this build lacks it or
 * only reads it.
 */
const struct filter *filter_by_name(const char *name);

/* The name of any registered filter, also of those that this build lacks;
   "unknown" for all others. */
const char *filter_name(unsigned id);

/*
 * Can the filter be applied to items of `typesize` bytes with this parameter?
 *
 * Returns 0 or -EINVAL: a filter that this build lacks or only reads, or, for
 * the filters that truncate, items of the wrong size or a number of bits that
 * they do not have.  FILTER_NONE is fine.
 */
int filter_check(unsigned id, uint8_t meta, unsigned typesize);

/* Slots of a pipeline, in the order in which they are applied. */
struct filter_pipeline {
    unsigned
        nfilters; /* slots in use, at most CHUNK_NFILTERS; those that change
                          nothing are left out */
    const struct filter *filters[CHUNK_NFILTERS];
    uint8_t meta[CHUNK_NFILTERS];
};

/*
 * Look up the slots of a chunk, whose filters are undone from the last to the
 * first.
 *
 *  typesize  of the chunk header: a shuffle of single bytes changes nothing
 *
 * Returns 0, or the number, 1 to 255, of a filter that this build lacks.
 */
int filter_pipeline_init(struct filter_pipeline *pipeline,
                         const uint8_t ids[CHUNK_NFILTERS],
                         const uint8_t meta[CHUNK_NFILTERS], unsigned typesize);

/* Is the delta filter in it, which needs the first block? */
bool filter_pipeline_has_delta(const struct filter_pipeline *pipeline);

/* Is a shuffle of whole items all that has to be undone? */
bool filter_pipeline_is_shuffle(const struct filter_pipeline *pipeline,
                                unsigned typesize);

/*
 * How many filters move a block to another buffer when they are undone.  If
 * it is 0, filter_pipeline_undo() takes no scratch.
 */
unsigned filter_pipeline_nmoves(const struct filter_pipeline *pipeline);

/*
 * Where the codec has to leave a block so that undoing the filters, each of
 * which reads one of the two buffers and writes the other, ends in `dst`:
 * `dst` if the number of moves is even, else `scratch`.
 */
uint8_t *filter_pipeline_undo_src(const struct filter_pipeline *pipeline,
                                  uint8_t *dst, uint8_t *scratch);

/*
 * Undo all filters of one block, which lies in filter_pipeline_undo_src().
 *
 *  dst      receives the result, block->len bytes
 *  scratch  as large; its contents are lost; may be NULL if nothing moves
 */
void filter_pipeline_undo(const struct filter_pipeline *pipeline,
                          const struct filter_block *block, uint8_t *dst,
                          uint8_t *scratch);

/*
 * Apply all filters to one block.  Each must have passed filter_check().
 *
 *  src  the block, block->len bytes, which are left alone
 *  a,b  as large each; their contents are lost.  `a` is used if there is a
 *       filter, `b` if there are two; the rest may be NULL
 *
 * Returns where the result is: `src`, `a` or `b`.
 */
const uint8_t *filter_pipeline_apply(const struct filter_pipeline *pipeline,
                                     const struct filter_block *block,
                                     const uint8_t *src, uint8_t *a,
                                     uint8_t *b);

#endif
