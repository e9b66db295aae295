/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_PRIVATE_H
#define FILE_FILE_PRIVATE_H

#include "base/pool.h"
#include "cache/cache.h"
#include "file/decoders.h"
#include "file/file.h"
#include "file/readahead.h"

/* Constant once made, but for what its parts guard themselves. */
struct file_context {
    struct cache *cache;
    struct pool *pool;
    struct decoders decoders;
    size_t readahead; /* file_options.readahead, cut to a part of the cache */

    /* A leaf.  Guards every reader: one may go on from file to file. */
    pthread_mutex_t readers_lock;
};

/* Likewise. */
struct file {
    struct file_context *context;
    struct frame *frame;
    struct cache_file chunks;
    struct readahead ahead;
};

/* How chunks come into the cache. */
extern const struct cache_ops file_chunk_ops;

/*
 * Pin bytes of a file from `off` on, which is below its size, up to the end of
 * a piece of a chunk at most.  See cache_pin(); the chunk of `out` is a struct
 * frame_chunk, whose pattern repeats if there are no data.
 */
int file_pin(struct file *file, uint64_t off, size_t len, enum cache_wait wait,
             struct cache_pin *out, struct fault *fault);

#endif
