/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_PARAMS_H
#define CHUNK_CHUNK_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "chunk/chunk.h"

/*
 * When the blocks of a chunk are cut into one stream for each byte of an item.
 * A frame header holds these numbers less one.
 *
 * Format: Writing Blosc2 chunks, 1.
 */
enum chunk_split {
    CHUNK_SPLIT_ALWAYS = 1,
    CHUNK_SPLIT_NEVER = 2,
    CHUNK_SPLIT_AUTO = 3,    /* where it usually pays */
    CHUNK_SPLIT_FORWARD = 4, /* the same today; what frames have by default */
};

/* The word for a mode: "always", "never", "auto" or "compatible". */
const char *chunk_split_name(enum chunk_split mode);

/* How to encode a chunk. */
struct chunk_params {
    uint32_t typesize;  /* bytes per item, 1 to CHUNK_BLOCKSIZE_MAX */
    uint32_t blocksize; /* bytes; rounded down to whole items; 0: automatic */
    uint8_t codec;      /* CODEC_BLOSCLZ and so on */
    uint8_t clevel;     /* 0 stores; 1, fastest, to 9, smallest */
    uint8_t filters[CHUNK_NFILTERS];
    uint8_t filters_meta[CHUNK_NFILTERS];
    enum chunk_split split_mode;
    bool use_dict; /* make a dictionary, if the codec takes one */
    bool bodied;   /* write no special chunk that is a header alone: zeros
                      become blocks, NaNs a repeated item.  Frames do not
                      hold bare headers */
};

/*
 * Can chunks be encoded so?
 *
 * Returns 0 or
 *  -EINVAL   a value is out of range, a filter does not go with the typesize,
 *            or a delta filter follows another, or one that drops bits:
 *            readers would not restore what was written
 *  -ENOTSUP  this build lacks the codec
 */
int chunk_params_check(const struct chunk_params *params);

/*
 * Typesize in the header of a chunk, which the filters and streams go by:
 * larger items than the header can tell are handled as single bytes.
 */
uint8_t chunk_params_typesize(const struct chunk_params *params);

/*
 * Size of the blocks of a chunk of `nbytes` bytes: at least 1, at most nbytes
 * unless that is 0, and whole items if it is larger than one.
 */
uint32_t chunk_params_blocksize(const struct chunk_params *params,
                                uint32_t nbytes);

/* Is each full block of this size cut into streams? */
bool chunk_params_split(const struct chunk_params *params, uint32_t blocksize);

#endif
