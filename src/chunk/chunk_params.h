/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_PARAMS_H
#define CHUNK_CHUNK_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "chunk/chunk.h"
#include "chunk/chunk_items.h"

/*
 * Whether the blocks of a chunk are cut into one stream for each byte of an
 * item.  A frame header stores these numbers minus one.
 *
 * Format: Writing Blosc2 chunks, 1.
 */
enum chunk_split {
    CHUNK_SPLIT_ALWAYS = 1,
    CHUNK_SPLIT_NEVER = 2,
    CHUNK_SPLIT_AUTO = 3,    /* where it usually pays */
    CHUNK_SPLIT_FORWARD = 4, /* works like AUTO today; the default of frames */
};

/* Return the name of a mode: "always", "never", "auto" or "compatible". */
const char *chunk_split_name(enum chunk_split mode);

/* How to encode a chunk. */
struct chunk_params {
    uint32_t typesize;  /* bytes per item, 1 to CHUNK_BLOCKSIZE_MAX */
    uint32_t blocksize; /* bytes; rounded down to whole items; 0: automatic */
    struct block_shape block; /* of the array, for codecs and filters that use
                                 it; its items take `blocksize` bytes */
    uint8_t codec;            /* CODEC_BLOSCLZ and so on */
    uint8_t codec_meta;       /* its parameter */
    uint8_t clevel;           /* 0 stores raw bytes; 1 is fastest, 9 smallest */
    uint8_t filters[CHUNK_NFILTERS];
    uint8_t filters_meta[CHUNK_NFILTERS];
    enum chunk_split split_mode;
    bool use_dict; /* make a dictionary, if the codec can use one */
    bool sums;     /* leave room for sums of blocks, see chunk_sums.h */
    bool bodied;   /* write no special chunk that is only a header, because
                      frames do not hold them: zeros become blocks, NaNs a
                      repeated item */
};

/*
 * Can chunks be encoded with these parameters?
 *
 * Returns 0 or
 *  -EINVAL   a value is out of range; the codec or a filter does not suit the
 *            typesize or the shape of the blocks; or a delta filter follows
 *            another one or a filter that drops bits, because readers would
 *            then not restore the bytes written
 *  -ENOTSUP  this build lacks the codec, or can only decode it
 */
int chunk_params_check(const struct chunk_params *params);

/* Do items keep their values when others in their chunk are changed, although
   all of the chunk is encoded again?  Not if the codec loses digits. */
bool chunk_params_keep_items(const struct chunk_params *params);

/* Does the codec or a filter use the shape of blocks? */
bool chunk_params_use_shape(const struct chunk_params *params);

/* Return the description of the items of a chunk. */
struct chunk_items chunk_params_items(const struct chunk_params *params);

/*
 * Return the typesize for the header of a chunk, which filters and streams use.
 * It is 1 for items of more than 255 bytes, because the header cannot express
 * their size.
 */
uint8_t chunk_params_typesize(const struct chunk_params *params);

/*
 * Return the size of the blocks of a chunk of `nbytes` bytes.  It is at least 1
 * and at most nbytes, unless that is 0; above the typesize it is a multiple of
 * the typesize.
 */
uint32_t chunk_params_blocksize(const struct chunk_params *params,
                                uint32_t nbytes);

/* Is each full block of this size cut into streams? */
bool chunk_params_split(const struct chunk_params *params, uint32_t blocksize);

#endif
