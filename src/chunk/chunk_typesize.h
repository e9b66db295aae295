/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_TYPESIZE_H
#define CHUNK_CHUNK_TYPESIZE_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk_encode.h"

enum {
    CHUNK_TYPESIZE_AUTO_MAX = 16 /* the highest that is chosen */
};

/*
 * Choose a typesize for some content: the one of 1, 2, 4, 8 and 16 that makes
 * the chunk smallest, but 1 unless another is clearly better.
 *
 *  params     how chunks are to be encoded; its typesize is ignored
 *  chunksize  the typesize must divide it; 0: any will do
 *  content    of a chunk
 *  scratch    room for content->nbytes + CHUNK_OVERHEAD_MAX bytes
 *
 * Returns the typesize, or an error of chunk_encode().
 */
int chunk_choose_typesize(struct chunk_encoder *encoder,
                          const struct chunk_params *params, uint32_t chunksize,
                          const struct chunk_content *content,
                          uint8_t *scratch);

#endif
