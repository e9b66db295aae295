/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_TYPESIZE_H
#define CHUNK_CHUNK_TYPESIZE_H

#include <stddef.h>
#include <stdint.h>

#include "chunk/chunk_encode.h"

/*
 * Choose a typesize that goes with some content: of 1, 2, 4, 8 and 16 what
 * makes a chunk smallest, but 1 unless another is better by some.
 *
 *  params         what else chunks are like; its typesize does not count
 *  chunksize      the typesize must be a part of it; 0: any
 *  bytes, nbytes  the content of a chunk
 *  scratch        room for nbytes + CHUNK_OVERHEAD_MAX bytes
 *
 * Returns 0, or an error of chunk_encode().
 */
int chunk_choose_typesize(struct chunk_encoder *encoder,
                          const struct chunk_params *params, uint32_t chunksize,
                          const uint8_t *bytes, size_t nbytes, uint8_t *scratch,
                          uint32_t *out);

#endif
