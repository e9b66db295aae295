/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_CHUNK_SHAPE_H
#define STATE_CHUNK_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "cache/cache.h"
#include "chunk/chunk_params.h"

/* How the cache holds a chunk of a file: the size of its blocks, and the memory
   that it counts for the chunk. */

struct file;
struct file_chunk;
struct file_context;

/* Return the shape of a chunk that is only read, or that can be written in the
   blocks in which it is stored. */
struct cache_shape chunk_shape_to_read(const struct file *file,
                                       struct file_chunk *chunk);

/*
 * Return the shape of a chunk that cannot be written in the blocks in which it
 * is stored.
 *
 *  nbytes  decoded size that it may grow to
 *  params  parameters for encoding it
 */
struct cache_shape chunk_shape_to_write(uint32_t nbytes,
                                        const struct chunk_params *params,
                                        struct file_chunk *chunk);

/* Return the bytes of memory that the cache counts while a chunk of this shape
   is encoded. */
size_t chunk_shape_encode_size(const struct chunk_params *params,
                               const struct cache_shape *shape);

/* Return the size in bytes of the smallest cache in which chunks can be
   written.  `blocksize` is the block size of stored chunks, or 0. */
size_t file_least_cache(const struct chunk_params *params, uint32_t chunksize,
                        uint32_t blocksize);

/*
 * Check that chunks can be written within the cache of `context`.
 *
 *  blocksize  block size of the stored chunks; 0 if it is not known
 *
 * Returns 0, or -ENOTSUP if they are too large.
 */
int file_check_cache(const struct file_context *context,
                     const struct chunk_params *params, uint32_t chunksize,
                     uint32_t blocksize, struct fault *fault);

#endif
