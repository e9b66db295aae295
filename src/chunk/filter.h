/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_FILTER_H
#define CHUNK_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk.h"
#include "chunk/chunk_items.h"
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

/* One block on its way through the pipeline, and the data that filters use. */
struct filter_block {
    size_t len;                      /* bytes in the block */
    unsigned typesize;               /* of the chunk header, 1 to 255 */
    const struct chunk_items *items; /* never NULL */
    unsigned chunk_version; /* bitshuffle of versions 1 and 2 differs */
    const uint8_t *first;   /* delta: the first block, decoded when undoing,
                               unfiltered when applying; NULL if this block is
                               itself a first block, as every VL-block is */
    const struct shuffle_ops *shuffle;
};

/* One filter.  It keeps the length of a block, and accepts any length. */
struct filter {
    enum filter_id id;
    const char *name;
    bool is_lossy;       /* undoing it does not give back all that it drops */
    bool mixes_items;    /* what it drops of an item depends on others */
    bool meta_is_signed; /* the parameter is a number from -128 to 127 */
    bool keeps_items;    /* its output is made of items, too */
    bool uses_shape;     /* it suits only blocks of an array, because it uses
                            their shape */

    /* See filter_check(); NULL if the filter can be applied to all blocks. */
    int (*check)(const struct filter_block *block, uint8_t meta);

    /* Tell why the filter cannot be undone in a block, as a phrase; NULL if it
       can be.  The member is NULL if it always can be. */
    const char *(*refuse)(const struct filter_block *block, uint8_t meta);

    /*
     * Filter block->len bytes from `src` to `dst`, which do not overlap.  NULL
     * for a filter that can only be undone.
     */
    void (*apply)(const struct filter *self, const struct filter_block *block,
                  uint8_t meta, const uint8_t *src, uint8_t *dst);

    /*
     * Undo the filter, from `src` to `dst` or in place.  At most one of the two
     * is set; neither is if there is nothing to undo.
     */
    void (*undo)(const struct filter *self, const struct filter_block *block,
                 uint8_t meta, const uint8_t *src, uint8_t *dst);
    void (*undo_in_place)(const struct filter *self,
                          const struct filter_block *block, uint8_t meta,
                          uint8_t *bytes);
};

/* Return the filter of a number, or NULL if this build lacks it and there is no
   plug-in for it. */
const struct filter *filter_by_id(unsigned id);

/*
 * Return the filter of a name such as "bitshuffle", or of the number of a
 * plug-in; or NULL if there is none or it can only undo.
 */
const struct filter *filter_by_name(const char *name);

/* Return the name of a registered filter, even if this build lacks the filter;
   "unknown" for all other numbers. */
const char *filter_name(unsigned id);

/*
 * Can the filter be applied with this parameter to blocks such as this one?
 *
 *  block  its length is that of a full block, or 0 if that is not known
 *
 * Returns 0 or -EINVAL: this build lacks the filter or can only undo it; for a
 * filter that truncates, the items have the wrong size or fewer bits than the
 * parameter says; for a filter of arrays, it does not suit the shape.
 * FILTER_NONE is always accepted.
 */
int filter_check(unsigned id, uint8_t meta, const struct filter_block *block);

/* The filters of a chunk, in the order in which they are applied. */
struct filter_pipeline {
    unsigned nfilters; /* slots in use, at most CHUNK_NFILTERS; filters that
                          change nothing are left out */
    const struct filter *filters[CHUNK_NFILTERS];
    uint8_t meta[CHUNK_NFILTERS];
    uint8_t slots[CHUNK_NFILTERS]; /* numbers of their slots in the header */
};

/*
 * Look up the filters of a chunk.  They are undone from the last to the first.
 *
 *  typesize  of the chunk header: a shuffle of single bytes changes nothing
 *
 * Returns 0, or the number, 1 to 255, of a filter that this build lacks.
 */
int filter_pipeline_init(struct filter_pipeline *pipeline,
                         const uint8_t ids[CHUNK_NFILTERS],
                         const uint8_t meta[CHUNK_NFILTERS], unsigned typesize);

/* Does it contain the delta filter, which needs the first block? */
bool filter_pipeline_has_delta(const struct filter_pipeline *pipeline);

/* Does it contain a filter that uses the shape of blocks? */
bool filter_pipeline_uses_shape(const struct filter_pipeline *pipeline);

/*
 * Can all filters be undone in a block?
 *
 *  slot  receives the slot of a filter that cannot be
 *
 * Returns NULL, or a phrase that tells why not.
 */
const char *filter_pipeline_refuse(const struct filter_pipeline *pipeline,
                                   const struct filter_block *block,
                                   unsigned *slot);

/* Is a shuffle of whole items the only filter that must be undone? */
bool filter_pipeline_is_shuffle(const struct filter_pipeline *pipeline,
                                unsigned typesize);

/*
 * Count the filters that move a block to another buffer when they are undone.
 * If there are none, filter_pipeline_undo() needs no scratch.
 */
unsigned filter_pipeline_nmoves(const struct filter_pipeline *pipeline);

/*
 * Return the buffer that the codec must fill so that undoing the filters ends
 * in `dst`.  Each filter that moves reads one of the two buffers and writes the
 * other, so it is `dst` if their number is even, else `scratch`.
 */
uint8_t *filter_pipeline_undo_src(const struct filter_pipeline *pipeline,
                                  uint8_t *dst, uint8_t *scratch);

/*
 * Undo all filters of one block, which lies in filter_pipeline_undo_src(), and
 * for which filter_pipeline_refuse() returned NULL.
 *
 *  dst      receives the result, block->len bytes
 *  scratch  as large; its contents are lost; may be NULL if no filter moves
 */
void filter_pipeline_undo(const struct filter_pipeline *pipeline,
                          const struct filter_block *block, uint8_t *dst,
                          uint8_t *scratch);

/*
 * Apply all filters to one block.  Each must have passed filter_check().
 *
 *  src  the block, block->len bytes, which do not change
 *  a,b  as large each; their contents are lost.  `a` may be NULL if there is no
 *       filter, `b` if there are fewer than two
 *
 * Returns the buffer that holds the result: `src`, `a` or `b`.
 */
const uint8_t *filter_pipeline_apply(const struct filter_pipeline *pipeline,
                                     const struct filter_block *block,
                                     const uint8_t *src, uint8_t *a,
                                     uint8_t *b);

#endif
