/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_ENCODE_H
#define CHUNK_CHUNK_ENCODE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "chunk/chunk_params.h"

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
 *  -ENOMEM   for scratch, which is twice the block, and with a dictionary as
 *            much as the chunk besides
 *
 * Format: Writing Blosc2 chunks.
 */
ssize_t chunk_encode(struct chunk_encoder *encoder,
                     const struct chunk_params *params, const uint8_t *src,
                     size_t nbytes, uint8_t *dst, size_t cap);

#endif
