/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_FILE_PRIVATE_H
#define STATE_FILE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "base/ranges.h"
#include "cache/cache.h"
#include "state/codec_pool.h"
#include "state/counters.h"
#include "state/file_options.h"
#include "state/file_state.h"
#include "state/gate.h"
#include "writer/frame_writer.h"

struct flusher;

/* Shared by all open files.  Constant after file_context_new(), except that
   `cache`, `pool`, `codec_pool`, `flusher` and `counters` have their own
   locking. */
struct file_context {
    struct cache *cache;
    size_t cache_size; /* file_options.cache_size */
    struct pool *pool;
    unsigned nthreads; /* in `pool` */

    /* Guards the creation of `senders`, whose threads wait for servers. */
    pthread_mutex_t senders_lock;
    struct pool *senders; /* NULL: none were needed yet */
    unsigned nsenders;

    struct codec_pool codec_pool;
    struct flusher *flusher;
    size_t readahead; /* file_options.readahead, cut to a part of the cache */
    enum file_view view;
    enum file_sums sums;
    struct counters counters;

    /* A leaf.  Guards every struct file_reader, because a reader may go on from
       one file to another. */
    pthread_mutex_t readers_lock;
    uint64_t streamed; /* bytes that sequential readers have read; guarded by
                          `readers_lock` */
    uint64_t nstreams; /* how many there are, by the last of them that counted;
                          likewise */

    bool lock;             /* file_options.lock */
    unsigned lock_timeout; /* likewise */
    int64_t quarantine_ns; /* likewise */

    struct net_options net_options; /* file_options.net */

    /* Guards the creation of `net`.  Held while its thread is started. */
    pthread_mutex_t net_lock;
    struct net *net; /* NULL: no frame behind a URL was opened yet */

    /* A leaf.  Guards the list of open lock files. */
    pthread_mutex_t lock_files_lock;
    struct list lock_files;
};

struct file_writeback;
struct frame_lock;
struct readahead;
struct view;

/* Constant once the file is open.  Any thread reads it without a lock. */
struct file_constant {
    struct file_context *context;
    bool writable;
    struct store *store;       /* a reference; NULL if the file is not
                                  writable */
    const struct array *array; /* the array that the file shows in C order;
                                  NULL: it shows the chunks in a row */

    /* Only src/file accesses these. */
    struct view *view;
    struct readahead *ahead;
};

/*
 * An open frame.  Written bytes are in the cache until they are committed.
 * Each part has a header that says which threads may access it.  Only
 * src/writeback accesses the contents of `writeback` and `frame_lock`.
 */
struct file {
    struct file_constant constant;
    struct gate gate;          /* gate.h */
    struct file_states states; /* file_state.h */
    struct cache_file chunks;  /* belongs to the cache */
    struct file_writeback *writeback;
    struct frame_lock *frame_lock;
};

/* A chunk that is encoded and written to the store, and waits for the next
   commit. */
struct encoded {
    struct list node;                 /* in file_writeback.encoded, or alone */
    struct cache_writeback writeback; /* keeps it in the cache */
    struct frame_written written;
};

/* Our description of a chunk in the cache. */
struct file_chunk {
    uint64_t chunk_no;
    struct frame_chunk *stored; /* NULL: the chunk is zeros and not stored */
    uint64_t off;               /* offset of its first byte in the file */
    uint64_t epoch;             /* epoch of the state in which it was found */
    atomic_bool stale;          /* it has been stored again since */
    atomic_bool unchecked;      /* file_check_chunk() is still to be called */
    const uint8_t *pattern;     /* see struct frame_chunk */
    size_t pattern_len;
    struct encoded encoded; /* guarded by gate.lock */
};

/* One operation, which the cache passes to the callbacks in cache_ops. */
struct file_fill {
    struct file *file;
    struct fault *fault;
};

#endif
