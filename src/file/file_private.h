/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_PRIVATE_H
#define FILE_FILE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/pool.h"
#include "cache/cache.h"
#include "file/coders.h"
#include "file/counters.h"
#include "file/file.h"
#include "file/file_state.h"
#include "file/flusher.h"
#include "file/ranges.h"
#include "file/readahead.h"
#include "file/view.h"
#include "writer/frame_change.h"

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

/*
 * An open frame.
 *
 * Changes.  Written bytes are in the cache.  What else differs from the newest
 * committed state is `nbytes` and `zeros`.  Three kinds of operations work on
 * a file beside each other, under these rules:
 *
 *  writers    change bytes below `nbytes`; any number at a time
 *  extender   a writer that goes beyond; one at a time, beside writers
 *  reshaper   drops or moves whole chunks; alone, without waiting for room
 *  committer  one at a time; not beside a reshaper, but beside writers
 *  encoders   make chunks ready ahead of a committer, and beside him once he
 *             has collected what there is; not beside a reshaper
 *
 * Writers may wait for room in the cache, and so for a committer, who waits for
 * none of them.
 *
 * Locking.  `lock` is a leaf.  It guards what is said to be below.
 */
struct file {
    /* Constant. */
    struct file_context *context;
    bool writable;
    struct store *store;     /* of a file that is writable; a reference */
    struct sidecar *sidecar; /* NULL: others are not locked out */
    struct view view;

    /* Guarded by themselves. */
    struct cache_file chunks;
    struct readahead ahead;

    /* Read without the lock. */
    atomic_uint_fast64_t nbytes; /* changed under the lock */
    atomic_uint grid;  /* size of all chunks but the last; 0: see the frame */
    atomic_int stuck;  /* why nothing can be committed any more: see reload.h */
    atomic_bool begun; /* changes have begun: what follows is constant */
    atomic_uint_fast64_t
        seen; /* the sidecar's count at the newest state, and */
    atomic_uint_fast64_t next;  /* while that is counted up, what it becomes;
                                  changed by who is `claiming` */
    atomic_bool renewed;        /* see file_take_renewed() */
    atomic_bool unlinked;       /* see file_set_unlinked() */
    atomic_bool rests;          /* freed space waits to be given back */
    atomic_bool not_durable;    /* the last commit may not be on the disk yet,
                                nor the name of a new frame */
    atomic_bool renamed;        /* see file_note_name() */
    struct chunk_params params; /* of new chunks; typesize 0: not decided, and
                                   then changed by the committer, under the
                                   lock */

    pthread_mutex_t lock;
    struct store_stat touched; /* see file_note_touch() */
    pthread_cond_t changed;    /* any of these: */
    unsigned nwriters;
    unsigned nreshapers; /* those that wait */
    bool extending;
    bool reshaping;
    bool committing;
    bool collecting; /* the committer has not yet put all chunks into the
                        commit */
    unsigned nencoders;
    bool claiming; /* the claim is being taken or given up: see claim.h */

    /* Guarded by `lock`. */
    bool claimed;             /* nobody else may change the frame */
    unsigned nclaims;         /* operations that need this */
    unsigned nrefusals;       /* how often others did not let us have it */
    struct file_state *state; /* the newest */
    struct list states;       /* all that are in use */
    struct ranges zeros;      /* chunks that became zeros */
    struct ranges applied;    /* those that the next commit makes so for good */
    bool reshaped;            /* size or zeros have changed */
    struct list encoded;      /* chunks that are for the next commit */
    uint64_t lost_off;        /* where bytes were that are lost for good */
    uint64_t lost_end;
    int error;          /* of a commit that nobody has been told of */
    struct fault fault; /* goes with it */

    /* The committer's. */
    struct frame_change *change;
    size_t index_size; /* bytes of memory that it takes, as the cache counts */
    bool sunk;         /* chunks are where they were not in the newest state */
    atomic_bool undecided; /* the frame is empty, and what its header says of
                              chunks is not fixed yet */

    atomic_size_t no_room; /* bytes of a chunk that there was none for, since
                              the last operation began; 0: none */

    struct flush_entry flush; /* the flusher's */
};

/* A chunk that is encoded and written to the store, for the next commit. */
struct encoded {
    struct list node;         /* in file.encoded, or alone */
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
    struct encoded encoded; /* guarded by file.lock */
};

/* One operation, as the cache's callbacks know it. */
struct file_fill {
    struct file *file;
    struct fault *fault;
};

/* How chunks come into the cache. */
extern const struct cache_ops file_chunk_ops;

/* Become the reshaper, when all others are through; or be it no longer. */
void file_enter_alone(struct file *file);
void file_leave_alone(struct file *file);

/* Have the cache count what the change of a file takes up; by the committer. */
void file_count_index(struct file *file);

/*
 * Copy stored chunks of a frame of the same chunksize and typesize over those
 * of a file, which exist, and commit.
 *
 *  done  receives the number of chunks copied; less than `nchunks` if one
 *        can't be read
 */
int file_copy_chunks(struct file *file, uint64_t chunk_no, struct frame *src,
                     uint64_t src_chunk_no, uint64_t nchunks, uint64_t *done,
                     struct fault *fault);

/*
 * Pin the span of a piece of a file, or the first part of it, which is in a
 * chunk.  See cache_pin(); the chunk of `out` is a struct file_chunk, whose
 * pattern repeats if there are no data.
 */
int file_pin(struct file *file, const struct view_piece *piece,
             enum cache_wait wait, struct cache_pin *out, struct fault *fault);

#endif
