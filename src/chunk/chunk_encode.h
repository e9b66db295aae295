/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_ENCODE_H
#define CHUNK_CHUNK_ENCODE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "chunk/chunk_params.h"
#include "chunk/chunk_pieces.h"

/* A chunk never takes more than this beyond what it decodes to. */
enum {
    CHUNK_OVERHEAD_MAX = 32
};

/* What one thread needs to encode: codec contexts, scratch, kernels. */
struct chunk_encoder;

/*
 * Make an encoder.
 *
 *  cpu  instruction sets that kernels may use, see cpu_features()
 *
 * Returns 0 or -ENOMEM.
 */
int chunk_encoder_new(unsigned cpu, struct chunk_encoder **out);

/* Accepts NULL. */
void chunk_encoder_free(struct chunk_encoder *encoder);

/*
 * Encode a chunk.
 *
 *  src, nbytes  what it is to hold, 0 to CHUNK_NBYTES_MAX bytes
 *  dst, cap     room for it; nbytes + CHUNK_OVERHEAD_MAX is always enough
 *
 * Zeros, NaNs and an item that repeats become special chunks, whatever the
 * level.  What does not shrink is stored as it is; filters that drop bits then
 * drop none.
 *
 * Returns the size of the chunk, or
 *  -EINVAL   too many bytes; or see chunk_params_check()
 *  -ENOTSUP  see chunk_params_check()
 *  -ERANGE   the chunk is larger than `cap`
 *  -ENOMEM   for scratch, see chunk_encode_scratch()
 *
 * Format: Writing Blosc2 chunks.
 */
ssize_t chunk_encode(struct chunk_encoder *encoder,
                     const struct chunk_params *params, const uint8_t *src,
                     size_t nbytes, uint8_t *dst, size_t cap);

/* The same with the content in pieces; if they are several, of more than
   UINT8_MAX bytes each.  Blocks that lie in one piece are not copied. */
ssize_t chunk_encode_pieces(struct chunk_encoder *encoder,
                            const struct chunk_params *params,
                            const struct chunk_pieces *src, uint8_t *dst,
                            size_t cap);

/*
 * Bytes of scratch that encoding a chunk takes, besides what codecs take.
 *
 *  piece_len  of the pieces that the content is in, or a part of it; `nbytes`
 *             if it is one
 */
size_t chunk_encode_scratch(const struct chunk_params *params, uint32_t nbytes,
                            size_t piece_len);

#endif
