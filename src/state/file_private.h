/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_FILE_PRIVATE_H
#define STATE_FILE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "cache/cache.h"
#include "state/coders.h"
#include "state/counters.h"
#include "state/file_options.h"
#include "state/file_state.h"
#include "state/gate.h"
#include "state/ranges.h"
#include "writer/frame_change.h"

struct flusher;

/* Constant once made, but for what its parts guard themselves. */
struct file_context {
    struct cache *cache;
    size_t cache_size; /* file_options.cache_size */
    struct pool *pool;
    unsigned nthreads; /* of the pool */
    struct coders coders;
    struct flusher *flusher;
    size_t readahead; /* file_options.readahead, cut to a part of the cache */
    enum file_view view;
    struct counters counters;

    /* A leaf.  Guards every reader: one may go on from file to file. */
    pthread_mutex_t readers_lock;

    bool lock;         /* file_options.lock */
    unsigned patience; /* likewise */
    int64_t rest;      /* likewise */

    /* A leaf.  Guards the list of sidecars that are open. */
    pthread_mutex_t sidecars_lock;
    struct list sidecars;
};

struct file_writeback;
struct frame_lock;
struct readahead;
struct view;

/* Constant once the file is open: everybody reads it without a lock. */
struct file_constant {
    struct file_context *context;
    bool writable;
    struct store *store;       /* of a file that is writable; a reference */
    const struct array *array; /* shown with its items in C order; NULL: the
                                  chunks in a row */

    /* Only src/file looks into these. */
    struct view *view;
    struct readahead *ahead;
};

/*
 * An open frame.  Bytes that were written are in the cache.  Each part has a
 * header that says who may touch it; `writeback` and `frame_lock` belong to
 * src/writeback, and nothing else looks into them.
 */
struct file {
    struct file_constant constant;
    struct gate gate;          /* gate.h */
    struct file_states states; /* file_state.h */
    struct cache_file chunks;  /* the cache's */
    struct file_writeback *writeback;
    struct frame_lock *frame_lock;
};

/* A chunk that is encoded and written to the store, for the next commit. */
struct encoded {
    struct list node;         /* in file_writeback.encoded, or alone */
    struct cache_taken taken; /* the cache keeps it */
    struct frame_written written;
};

/* What the cache keeps of a chunk. */
struct file_chunk {
    uint64_t chunk_no;
    struct frame_chunk *stored; /* NULL: zeros that are not stored */
    uint64_t off;               /* of its first byte in the file */
    uint64_t epoch;             /* of the state that it was found in */
    atomic_bool outdated;       /* it has been stored anew since */
    const uint8_t *pattern;     /* see struct frame_chunk */
    size_t pattern_len;
    struct encoded encoded; /* guarded by gate.lock */
};

/* One operation, as the cache's callbacks know it. */
struct file_fill {
    struct file *file;
    struct fault *fault;
};

#endif
