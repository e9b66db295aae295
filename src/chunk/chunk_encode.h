/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_ENCODE_H
#define CHUNK_CHUNK_ENCODE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "chunk/chunk_format.h"
#include "chunk/chunk_params.h"
#include "chunk/chunk_pieces.h"

/* A chunk is never larger than its decoded bytes and this. */
enum {
    CHUNK_OVERHEAD_MAX = CHUNK_LONG_HEADER_LEN
};

/* The codec contexts, scratch and kernels with which one thread encodes. */
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

/* Decoded bytes of a chunk or block, in one piece. */
struct chunk_content {
    const uint8_t *bytes;
    size_t nbytes;
};

/*
 * Encode a chunk.
 *
 *  content   0 to CHUNK_NBYTES_MAX bytes
 *  dst, cap  room for the chunk; content->nbytes + CHUNK_OVERHEAD_MAX is always
 *            enough
 *
 * Zeros, NaNs and a repeated item become special chunks at every level, as far
 * as params->bodied permits.  Content that does not shrink is stored as it is;
 * filters that drop bits then drop none.
 *
 * Returns the size of the chunk, or
 *  -EINVAL   too many bytes; or see chunk_params_check()
 *  -ENOTSUP  see chunk_params_check()
 *  -ERANGE   the chunk is larger than `cap`
 *  -ENOMEM   for scratch, see chunk_encode_scratch(), or for the codec
 *
 * Format: Writing Blosc2 chunks.
 */
ssize_t chunk_encode(struct chunk_encoder *encoder,
                     const struct chunk_params *params,
                     const struct chunk_content *content, uint8_t *dst,
                     size_t cap);

/* Encode content that lies in pieces.  If there are several pieces, each but
   the last has more than UINT8_MAX bytes.  A block that lies in one piece is
   not copied. */
ssize_t chunk_encode_pieces(struct chunk_encoder *encoder,
                            const struct chunk_params *params,
                            const struct chunk_pieces *src, uint8_t *dst,
                            size_t cap);

/*
 * Encode one block, for a caller that assembles a chunk block by block: the
 * header, the block starts, then the blocks.  Filters that need the first block
 * and dictionaries do not work this way.
 *
 *  params    the blocksize is that of the chunk, in bytes
 *  block     only the last may be shorter than the blocksize
 *  dst, cap  room for its streams; block->nbytes + 4 * typesize is always
 *            enough
 *
 * Returns the size of the streams, or an error of chunk_encode().
 */
ssize_t chunk_encode_block(struct chunk_encoder *encoder,
                           const struct chunk_params *params,
                           const struct chunk_content *block, uint8_t *dst,
                           size_t cap);

/*
 * Write the header of a chunk whose blocks come from chunk_encode_block().
 *
 *  cbytes  size of the chunk, header included
 *  dst     room for CHUNK_LONG_HEADER_LEN bytes
 *
 * Returns 0 or an error of chunk_encode().
 */
int chunk_encode_head(const struct chunk_params *params, uint32_t nbytes,
                      uint32_t cbytes, uint8_t *dst);

/*
 * Return the bytes of scratch that encoding a chunk takes, without the memory
 * of the codecs.
 *
 *  piece_len  length of the pieces that hold the content, or a divisor of it;
 *             `nbytes` if there is one piece
 */
size_t chunk_encode_scratch(const struct chunk_params *params, uint32_t nbytes,
                            size_t piece_len);

#endif
