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
 * Encode one block, for a chunk that is put together block by block: its
 * header, then the block starts, then the blocks.  Not for filters that need
 * the first block, nor with dictionaries.
 *
 *  params    the blocksize is that of the chunk, in bytes
 *  src, len  the block: shorter than the blocksize only if it is the last
 *  dst, cap  room for its streams; len + 4 * typesize is always enough
 *
 * Returns the size of the streams, or an error of chunk_encode().
 */
ssize_t chunk_encode_block(struct chunk_encoder *encoder,
                           const struct chunk_params *params,
                           const uint8_t *src, size_t len, uint8_t *dst,
                           size_t cap);

/*
 * Write the header of a chunk that is put together so.
 *
 *  cbytes  size of the chunk, header included
 *  dst     room for CHUNK_LONG_HEADER_LEN bytes
 *
 * Returns 0 or an error of chunk_encode().
 */
int chunk_encode_head(const struct chunk_params *params, uint32_t nbytes,
                      uint32_t cbytes, uint8_t *dst);

/*
 * Bytes of scratch that encoding a chunk takes, besides what codecs take.
 *
 *  piece_len  of the pieces that the content is in, or a part of it; `nbytes`
 *             if it is one
 */
size_t chunk_encode_scratch(const struct chunk_params *params, uint32_t nbytes,
                            size_t piece_len);

#endif
