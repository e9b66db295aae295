/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_BLOCKS_H
#define FRAME_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "chunk/chunk.h"
#include "store/store.h"

/*
 * Record that bytes at an offset of a chunk could not be read.  Returns
 * `error`; but -EBADMSG for -ENODATA, because the bytes were there when the
 * frame was opened.
 */
int blocks_read_error(int error, uint64_t off, struct fault *fault);

/* The place of a chunk's bytes. */
struct blocks_source {
    struct store_object *object;
    uint64_t off;         /* of the chunk in the object */
    const uint8_t *bytes; /* the whole chunk if it is in memory, else NULL */
    const uint8_t *sums;  /* of its blocks, see chunk_sums.h; NULL: none */
};

/* The facts about a chunk before it is open. */
struct blocks_head {
    const struct chunk_header *header;
    const struct chunk_items *items; /* see chunk_open() */
    const uint8_t *bytes; /* the first bytes of the chunk, as far as they were
                             read */
    size_t len;           /* their number; may be 0 */
};

/*
 * Open a chunk.  Reads its block starts and dictionary, unless they are in the
 * head.
 *
 * Errors as chunk_open(), or of the store.  Offsets of faults count from the
 * start of the chunk.
 */
int blocks_open_chunk(const struct blocks_source *source,
                      const struct blocks_head *head, struct chunk **out,
                      struct fault *fault);

/* A run of blocks to decode. */
struct blocks_run {
    uint32_t first; /* number of the first block */
    uint32_t n;     /* number of blocks, > 0 */
    uint8_t *dst;   /* room for the decoded blocks, one after another */

    /* Block 0, decoded, for a caller that decodes several runs of a chunk that
       needs it, see chunk_needs_first_block().  NULL: decode block 0 as well,
       if it is needed and not in the run. */
    const uint8_t *first_block;
};

/*
 * Read and decode a run of blocks of a chunk that is not special.
 *
 * This reads only the bytes of these blocks, and small gaps between them, about
 * 8 MiB at a time or one block.
 *
 * Returns 0, -ENOMEM, an error of chunk_decode_block(), or one of the store;
 * -EBADMSG if the object ends in a block, or a block does not match its sum.
 * Offsets of faults count from the start of the chunk.
 */
int blocks_decode(const struct blocks_source *source, const struct chunk *chunk,
                  const struct blocks_run *run, struct chunk_decoder *decoder,
                  struct fault *fault);

/* Read a run of blocks, and compare it with its sums, without decoding it.
   `dst` of the run is unused.  Errors as above. */
int blocks_check(const struct blocks_source *source, const struct chunk *chunk,
                 const struct blocks_run *run, struct chunk_decoder *decoder,
                 struct fault *fault);

/* The runs in which all blocks of a chunk are decoded, in order. */
struct blocks_plan {
    size_t memory; /* bytes that decoding a run at a time needs */
    size_t blocksize;
    uint32_t nblocks;
    uint32_t nrun;    /* blocks of a run; the last one may have fewer */
    bool keeps_first; /* block 0 is a run of its own, and stays in memory for
                         the others */
};

/*
 * Plan how to decode a chunk.
 *
 *  run_size  decoded bytes of a run, unless a single block is larger
 */
struct blocks_plan blocks_plan(const struct chunk *chunk, size_t run_size);

/*
 * Move on to the next run of a plan.
 *
 *  buf  room for plan->memory bytes, the same in each call
 *  run  the run before, which was decoded; all zero at first
 *
 * Returns false after the last one.
 */
bool blocks_next_run(const struct blocks_plan *plan, uint8_t *buf,
                     struct blocks_run *run);

#endif
