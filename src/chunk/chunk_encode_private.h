/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_ENCODE_PRIVATE_H
#define CHUNK_CHUNK_ENCODE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk_encode.h"
#include "chunk/codec.h"
#include "chunk/filter.h"

/* An encoder, for the files of this module. */
struct chunk_encoder {
    const struct shuffle_ops *shuffle;
    struct codec_state *codecs;
    uint8_t *scratch;
    size_t scratch_len;
};

/* A chunk that is being encoded. */
struct chunk_draft {
    struct chunk_encoder *encoder;
    const struct chunk_params *params;
    struct chunk_items items;
    const struct codec *codec;
    struct codec_dict *dict;
    struct filter_pipeline pipeline;

    const struct chunk_pieces *src;
    uint32_t nbytes;
    uint32_t blocksize;
    uint32_t nblocks;
    uint8_t typesize; /* as in the header */
    bool split;
    bool use_dict; /* if one can be made */

    uint8_t *dst;
    size_t cap;
    size_t pos; /* bytes written */

    /* These point into the encoder's scratch. */
    uint8_t *moves[2]; /* for the filters, a block each */
    uint8_t *joined;   /* for a block that lies in several pieces */
    uint8_t *filtered; /* all blocks, if a dictionary is tried; else NULL */

    const uint8_t *first; /* block 0 */
};

/*
 * Complete a draft of `nbytes` bytes.  The caller has set `params`, `dst` and
 * `cap`, and `encoder` and `src` if blocks are to be encoded; all else is zero.
 *
 * Returns 0 or an error of chunk_encode().
 */
int chunk_encode_init_draft(struct chunk_draft *draft, size_t nbytes);

/* Divide the encoder's scratch between the buffers of the draft.  Returns 0 or
   -ENOMEM. */
int chunk_encode_ready_scratch(struct chunk_draft *draft);

/* The decoded size of a block. */
size_t chunk_encode_block_len(const struct chunk_draft *draft,
                              uint32_t block_no);

/* Return a block with all filters applied, valid until the next call. */
const uint8_t *chunk_encode_filter(const struct chunk_draft *draft,
                                   uint32_t block_no);

/* Write the streams of a block that the filters were applied to.  Returns 0 or
   an error of chunk_encode(). */
int chunk_encode_streams(struct chunk_draft *draft, const uint8_t *bytes,
                         size_t len, bool split);

/* The bytes that the draft may still write. */
static inline size_t chunk_encode_space_left(const struct chunk_draft *draft)
{
    return draft->cap - draft->pos;
}

#endif
