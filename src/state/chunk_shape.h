/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_CHUNK_SHAPE_H
#define STATE_CHUNK_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "cache/cache.h"
#include "chunk/chunk_params.h"

/* How a chunk of a file is cached: in blocks of what size, and how much memory
   counts for it. */

struct file;
struct file_chunk;
struct file_context;

/* The shape of a chunk that is only read, or can be written as it is stored. */
struct cache_shape chunk_shape_to_read(const struct file *file,
                                       struct file_chunk *chunk);

/*
 * The shape of a chunk that cannot be written as it is stored.
 *
 *  nbytes  decoded size that it may grow to
 *  params  how it will be encoded
 */
struct cache_shape chunk_shape_to_write(uint32_t nbytes,
                                        const struct chunk_params *params,
                                        struct file_chunk *chunk);

/* Bytes of memory that count while a chunk of this shape is encoded. */
size_t chunk_shape_encode_size(const struct chunk_params *params,
                               const struct cache_shape *shape);

/* The least cache in which chunks can be written, in bytes; `blocksize` is that
   of stored ones, or 0. */
size_t file_least_cache(const struct chunk_params *params, uint32_t chunksize,
                        uint32_t blocksize);

/*
 * Can chunks be written within the cache?
 *
 *  blocksize  of those that are stored, as far as it is known
 *
 * Returns 0 or -ENOTSUP.
 */
int file_check_cache(const struct file_context *context,
                     const struct chunk_params *params, uint32_t chunksize,
                     uint32_t blocksize, struct fault *fault);

#endif
