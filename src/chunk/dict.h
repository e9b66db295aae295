/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_DICT_H
#define CHUNK_DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "chunk/codec.h"

/* Dictionaries of chunks to be encoded.  Format: Writing Blosc2 chunks, 6
   "Dictionaries". */

/* The samples that a dictionary is made from, and its largest size. */
struct dict_plan {
    const uint8_t *samples; /* the whole chunk's content with all filters
                               applied, which starts with the samples; the
                               caller sets it for dict_write() */
    unsigned nsamples;
    size_t sample_len; /* bytes */
    size_t dict_max;   /* bytes */
};

/*
 * Plan the dictionary of a chunk.
 *
 *  nbytes    bytes of content
 *  nstreams  number of streams in all its blocks, more than 0
 *  capacity  bytes for the dictionary with its prefix
 *
 * Returns false if the content or the capacity is too small for a dictionary.
 */
bool dict_plan(uint32_t nbytes, size_t nstreams, size_t capacity,
               struct dict_plan *out);

/*
 * Make a dictionary, write it with its prefix, and digest it for encoding.
 *
 *  codec  one with make_dict()
 *  level  the level to encode with, 1 to 9
 *  dst    as many bytes as dict_plan() was told of
 *
 * Returns the bytes written, and the digested dictionary, which the caller
 * frees with codec->free_dict(); 0, and no dictionary, if the samples do not
 * yield one; or -ENOMEM or another error of the codec.
 */
ssize_t dict_write(const struct codec *codec, int level,
                   const struct dict_plan *plan, uint8_t *dst,
                   struct codec_dict **out);

#endif
