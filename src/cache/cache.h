/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/list.h"

/*
 * Decoded chunks.
 *
 * An entry is one chunk. Its blocks lie in *buffer groups* of up to a megabyte:
 * the blocks of a group share a buffer. So a chunk of the usual size is one
 * buffer if it is read as a whole; and one that is read in small pieces, or has
 * a gigabyte, is cached in parts.  A block is missing,
 * being decoded by one thread, or ready.  Unused groups stay until their memory
 * is needed, and are evicted in the order of their last use.
 *
 * The capacity is a hard limit.  A thread waits for memory only while it holds
 * none, so threads never wait for each other in a circle.
 */
struct cache;

/* The layout and costs of a chunk, as the owner of the file describes it. */
struct cache_shape {
    uint32_t nbytes;    /* decoded size of the chunk */
    uint32_t blocksize; /* of a block; the last one may be shorter */
    uint32_t nblocks;   /* 0: the chunk takes no memory for its content */
    bool needs_first;   /* decoding any block needs block 0, decoded */
    bool writable;      /* its blocks can be written; if not, the chunk is
                           described again before a write */
    size_t scratch;     /* bytes that decoding takes up while it runs */
    size_t encode;      /* bytes that encoding takes up besides the chunk */
    void *chunk;        /* belongs to the owner, kept with the entry */
    size_t footprint;   /* bytes of memory that `chunk` holds */
};

/* A run of blocks to decode. */
struct cache_run {
    uint32_t first;             /* number of the first block */
    uint32_t n;                 /* number of blocks */
    uint8_t *dst;               /* receives them, one after another */
    const uint8_t *first_block; /* block 0, decoded, if shape->needs_first and
                                   `first` is not 0; else NULL */
};

/* The functions with which a file fills the cache.  No lock is held while one
   of these runs, except for mark_stale(). */
struct cache_ops {
    /*
     * Describe a chunk.  One thread at a time does this for an entry.
     *
     *  writing  the chunk is to be written, so the shape must be writable
     *
     * Returns 0, or a negative errno.  Threads that waited for the description
     * then try it themselves, and so does the next one that asks.
     */
    int (*describe)(void *context, uint64_t chunk_no, bool writing,
                    struct cache_shape *shape);

    /*
     * Decode a run of blocks.
     *
     * Returns 0 or a negative errno.  If a run of blocks fails, the cache tries
     * them one by one, because a bad block must cost only its own bytes.
     */
    int (*decode)(void *context, const struct cache_shape *shape,
                  const struct cache_run *run);

    /* Mark cache_shape.chunk stale, because the next commit replaces the stored
       chunk.  The cache's lock is held.  NULL if the file is never written. */
    void (*mark_stale)(void *chunk);

    /* Free cache_shape.chunk. */
    void (*forget)(void *chunk);
};

/*
 * Files whose commits fail together, such as those of one file system.  They
 * may have only so many uncommitted bytes that files of other domains can still
 * be written.  The owner allocates the struct zeroed; it belongs to the cache
 * as long as a file refers to it.
 */
struct cache_domain {
    size_t uncommitted;  /* uncommitted bytes, */
    size_t nuncommitted; /* of this number of chunks */
    unsigned nthrottled; /* throttled writers, which wait until less is
                            uncommitted */
    uint64_t nfailed;    /* number of flushes that failed */
    unsigned nfailing;   /* those with CACHE_FLUSH_NO_SPACE since a success, */
    unsigned nbad;       /* and those with any error */
};

/* How long a write waits while flushes fail, over all its tries.  Zeroed before
   the first. */
struct cache_patience {
    bool begun;
    uint64_t nfailed; /* the domain's, when the first try began */
};

/* A file whose chunks are cached.  Its owner allocates the struct. */
struct cache_file {
    const struct cache_ops *ops;
    struct cache_domain *domain; /* NULL: the one that such files share */
    struct list entries;     /* the cache's from here on, guarded by its lock */
    size_t nentries;         /* entries in the list or being freed */
    struct list uncommitted; /* uncommitted entries; of these: */
    struct list dirty;       /* dirty, to be encoded some time */
    struct list full;    /* likewise, but as many bytes were written to them as
                            they have, so they are likely to be complete */
    struct list tagged;  /* dirty, to be encoded for the commit under way */
    struct list staged;  /* encoded, in the next commit */
    size_t ndirty;       /* entries in `dirty`, `full` and `tagged` */
    atomic_size_t nfull; /* entries in `full`; any thread may read it */
    atomic_size_t nuncommitted; /* entries in `uncommitted`; likewise */
    uint64_t nunsaved; /* bytes written to uncommitted entries, for each at most
                          as many as it has */
    unsigned nyielding; /* threads for which throttled writers give way */

    /* The last time that bytes could not be read (-EIO): */
    uint64_t nfailures; /* how often there was one */
    uint64_t failed_chunk_no;
    int64_t failed_middle_ns; /* middle of the time that the attempt took */
};

/* Statistics since the start. */
struct cache_stats {
    uint64_t hits;         /* pins without read-ahead that found all blocks */
    uint64_t misses;       /* pins that did not, likewise */
    uint64_t decoded;      /* blocks */
    uint64_t ahead;        /* of these, with CACHE_WAIT_NEVER; of those, */
    uint64_t ahead_used;   /* pinned by other callers since, or */
    uint64_t ahead_wasted; /* evicted before that; the rest is still there */
    uint64_t waits;        /* for another thread to decode or describe */
    uint64_t evicted;      /* bytes */
    size_t used;           /* bytes of the capacity in use or reserved now */
    size_t borrowed;       /* bytes reserved beyond the capacity */
    size_t spare;          /* bytes in buffers that are kept for reuse */
    size_t uncommitted;    /* uncommitted bytes */
    size_t other;          /* see cache_count_other() */
};

enum {
    CACHE_WORK_MAX = 3 << 20 /* bytes */
};

/*
 * Make a cache.
 *
 *  capacity  bytes that the cache may take up in all: decoded blocks, opened
 *            chunks, scratch, and its own tables.  Buffers that are kept for
 *            reuse may take up 4 MiB more, or an eighth of the capacity if that
 *            is less.  The scratch of one thread may take up CACHE_WORK_MAX
 *            more, because otherwise no thread might be able to go on
 *
 * Returns 0 or -ENOMEM.
 */
int cache_new(size_t capacity, struct cache **out);

/* Free the cache.  All files must have been dropped.  Accepts NULL. */
void cache_free(struct cache *cache);

/* Start a file without chunks.  The struct must not move until it has been
   dropped. */
void cache_file_init(struct cache_file *file, const struct cache_ops *ops);

/* Drop all chunks of a file, even uncommitted ones.  No chunk may be pinned. */
void cache_file_drop(struct cache *cache, struct cache_file *file);

/* Bytes of one chunk. */
struct cache_range {
    struct cache_file *file;
    uint64_t chunk_no;
    uint32_t off; /* first byte, below the decoded size of the chunk */
    uint32_t len; /* at least 1; cut at the end of the chunk */
    bool once;    /* for cache_pin(): the caller is not likely to want the bytes
                     again soon.  If they were not in memory, they leave it with
                     their last pin, and the next bytes go where the CPU's
                     caches have these.  But they stay if another caller wants
                     them meanwhile, or if they have left so not long ago */
};

/* For which resources a caller is ready to wait. */
enum cache_wait {
    CACHE_WAIT_MEMORY, /* memory, so the caller must hold no pin; and blocks */
    CACHE_WAIT_DECODE, /* only blocks that another thread is decoding */
    CACHE_WAIT_NEVER,  /* neither, for read-ahead; only describe() */
};

/* Decoded bytes that stay in place until they are unpinned. */
struct cache_pin {
    void *chunk;               /* cache_shape.chunk */
    const uint8_t *data;       /* first byte in range; NULL if nblocks is 0 */
    uint32_t len;              /* number of bytes from there on */
    struct cache_entry *entry; /* the cache's, from here on */
    struct cache_buffer *buffer;
};

/*
 * Pin the first bytes of a range, as many as lie in one group, after decoding
 * the missing blocks.  Missing blocks that are neighbours are decoded together.
 *
 *  context  for the file's ops
 *  out      `len` is at least 1; it stops short of the end of the range or
 *           group if the next block could not be decoded.  With
 *           CACHE_WAIT_NEVER only `len` counts: another thread may still be
 *           decoding the bytes
 *
 * Returns 0, or
 *  -EAGAIN  the budget is used up until other threads release memory; never
 *           with CACHE_WAIT_MEMORY
 *  -ENOTSUP with CACHE_WAIT_MEMORY: one group, and the scratch to decode it,
 *           need more than the capacity
 *  -ENOMEM  from the system; or uncommitted chunks fill the cache, and flushes
 *           fail
 *  -ERANGE  the chunk, as it was described, ends before the range starts
 *  others   from the file's ops, when the first byte cannot be decoded
 */
int cache_pin(struct cache *cache, const struct cache_range *range,
              enum cache_wait wait, void *context, struct cache_pin *out);

/* Are all blocks of a range in memory, or does a thread decode them? */
bool cache_has(struct cache *cache, const struct cache_range *range);

/* Release `npins` pins. */
void cache_unpin(struct cache *cache, const struct cache_pin *pins,
                 size_t npins);

/*
 * Evict chunks `first` to `end` - 1 of a file, which are not likely to be
 * needed again soon.  Chunks in use are evicted after their last use.
 * Uncommitted chunks stay.
 */
void cache_drop_behind(struct cache *cache, struct cache_file *file,
                       uint64_t first, uint64_t end);

/*
 * List chunks of a file that are in memory as they are stored: clean, and
 * described.
 *
 *  max  room in `chunk_nos`
 *
 * Returns their number, at most `max`.
 */
size_t cache_list_clean(struct cache *cache, struct cache_file *file,
                        uint64_t *chunk_nos, size_t max);

/*
 * Move a chunk from one file to another with the same functions, which has this
 * chunk, too; unless it is in use or uncommitted, or the other file has it in
 * memory already.
 *
 *  moved  called for its cache_shape.chunk; the cache's lock is held
 */
void cache_move(struct cache *cache, struct cache_file *from,
                struct cache_file *to, uint64_t chunk_no,
                void (*moved)(void *chunk));

/*
 * Count memory that the owner of a file keeps besides its chunks.  The cache
 * evicts unused chunks in favour of it.  If that is not enough, no thread waits
 * for more.
 *
 *  counted  the bytes counted before; becomes `now`
 */
void cache_count_other(struct cache *cache, size_t *counted, size_t now);

/* Do the same for memory that somebody else counts. */
void cache_change_other(struct cache *cache, ptrdiff_t change);

/* Copy the statistics, and the current use of memory. */
void cache_get_stats(struct cache *cache, struct cache_stats *out);

/*
 * Writing.
 *
 * Pinned bytes never change: if a thread writes to a pinned group, the group
 * gets another buffer, and the pins keep the old one.
 *
 * Written bytes make a chunk *dirty*.  A thread that is about to encode a dirty
 * chunk puts it *in writeback*, and then pins it: the cache decodes its missing
 * blocks, while threads that want to write to it wait.  A later write makes it
 * dirty again.  Once it is encoded, the chunk is *staged* for a commit, and the
 * commit makes it clean.  A chunk that is dirty, in writeback or staged is
 * *uncommitted*: it stays in memory.
 *
 * The uncommitted bytes are limited so that there is memory to encode any one
 * of their chunks, and that a quarter of the capacity is free of them; but a
 * single chunk may take up all of it.  The cache throttles writers beyond the
 * limit: they wait for a flush, which some thread must run while there is
 * cache_pressure(); see cache_await_flush().
 */

/* Return the least capacity, in bytes, of a cache in which chunks of this shape
   can be written. */
size_t cache_least(const struct cache_shape *shape);

/*
 * Write the first bytes of a range, as many as lie in one group.  Blocks that
 * are overwritten in part are decoded first.
 *
 *  range  its length may be 0, which only makes the chunk dirty
 *  src    the bytes; NULL for zeros
 *
 * The caller holds no pin.  Returns the number of bytes written, or
 *  -EAGAIN  uncommitted chunks leave no memory, because flushes fail
 *  -EINTR   throttled writers are to give way; nothing was written, and the
 *           caller tries again with the same `patience`
 *  -ENOTSUP the capacity is too small to keep the chunk while it is encoded, or
 *           to decode it
 *  -ENOMEM  from the system
 *  -ERANGE  the chunk ends before the range starts
 *  others   from the file's ops
 */
ssize_t cache_write(struct cache *cache, const struct cache_range *range,
                    void *context, const uint8_t *src,
                    struct cache_patience *patience);

/* Let writers of a file that are throttled give way, because a flush waits for
   them; and no longer. */
void cache_yield(struct cache *cache, struct cache_file *file);
void cache_end_yield(struct cache *cache, struct cache_file *file);

/* Invalidate chunks `first` to `end` - 1 of a file, including bytes written to
   them. */
void cache_invalidate(struct cache *cache, struct cache_file *file,
                      uint64_t first, uint64_t end);

/*
 * Keep the uncommitted chunks of a file in memory until the file is dropped,
 * but never commit them.  No thread writes to the file or encodes any of its
 * chunks, now or later.  Such chunks of all files take up at most half of the
 * capacity; those that are too many are invalidated.
 *
 * Returns false if there were too many.
 */
bool cache_orphan(struct cache *cache, struct cache_file *file);

/* A chunk in writeback. */
struct cache_writeback {
    uint64_t chunk_no;
    uint32_t nbytes;
    void *chunk;               /* cache_shape.chunk */
    struct cache_entry *entry; /* the cache's */
};

/* Tag all chunks for writeback that are dirty now, but for those that are being
   encoded.  Returns the number of tagged chunks. */
size_t cache_tag_writeback(struct cache *cache, struct cache_file *file);

/* Kinds of dirty chunks, after the lists of struct cache_file. */
enum cache_kind {
    CACHE_TAGGED,
    CACHE_FULL,
    CACHE_DIRTY, /* any of them */
};

/* Begin writeback of a dirty chunk that no thread is encoding, with a number
   below `end`.  Returns false if there is none; CACHE_DIRTY searches only the
   first of the lists `full`, `dirty` and `tagged` that is not empty. */
bool cache_begin_writeback(struct cache *cache, struct cache_file *file,
                           enum cache_kind kind, uint64_t end,
                           struct cache_writeback *out);

/* The content of a chunk in writeback. */
struct cache_pinned_chunk {
    const uint8_t **pieces;
    size_t npieces;
    size_t piece_len;              /* of all but the last, which has the rest */
    struct cache_buffer **buffers; /* the cache's, from here on */
    size_t reserved;
    size_t borrowed;
};

/*
 * Pin a chunk in writeback for encoding, after decoding its missing blocks, and
 * reserve cache_shape.encode bytes.  Waits for memory.  Bytes written from here
 * on make the chunk dirty again.
 *
 *  nbytes  bytes of the chunk to encode; the pieces may hold more.  Bytes
 *          written behind these stay dirty
 *
 * Returns 0, -ERESTART if the chunk was invalidated, -ENOMEM, or an error of
 * the file's ops.
 */
int cache_pin_chunk(struct cache *cache,
                    const struct cache_writeback *writeback, uint32_t nbytes,
                    void *context, struct cache_pinned_chunk *out);

/* Unpin the content of a chunk after encoding it; the chunk stays uncommitted.
   From here on, another writeback of it may begin if it is dirty. */
void cache_unpin_chunk(struct cache *cache,
                       const struct cache_writeback *writeback,
                       struct cache_pinned_chunk *pinned);

/* End the writeback of a chunk: make it dirty again, but not full; or leave it
   to a later encoding of the same chunk; or stage it for a commit. */
void cache_redirty(struct cache *cache,
                   const struct cache_writeback *writeback);
void cache_end_writeback(struct cache *cache,
                         const struct cache_writeback *writeback);
void cache_stage(struct cache *cache, const struct cache_writeback *writeback);

/* Call mark_stale() for all staged chunks, just before they are committed. */
void cache_mark_stale(struct cache *cache, struct cache_file *file);

/* Make all staged chunks clean, because they have been committed. */
void cache_mark_clean(struct cache *cache, struct cache_file *file);

/* Make a chunk dirty that is in memory and writable, if the limit permits; else
   return false.  Bytes from `end` on no longer count as written. */
bool cache_mark_dirty(struct cache *cache, struct cache_file *file,
                      uint64_t chunk_no, uint32_t end);

/* Make all staged chunks dirty, so that they are encoded again. */
void cache_redirty_staged(struct cache *cache, struct cache_file *file);

/* Is a chunk uncommitted: dirty, in writeback or staged? */
bool cache_is_uncommitted(struct cache *cache, struct cache_file *file,
                          uint64_t chunk_no);

/* Is any chunk of a file uncommitted?  The second function also finds the
   lowest such chunk and the end of the highest. */
bool cache_has_uncommitted(struct cache *cache, const struct cache_file *file);
bool cache_find_uncommitted(struct cache *cache, const struct cache_file *file,
                            uint64_t *first, uint64_t *end);

/* Return cache_file.nunsaved. */
uint64_t cache_count_unsaved(struct cache *cache,
                             const struct cache_file *file);

/* How urgently the files of a domain need a commit. */
enum cache_pressure {
    CACHE_PRESSURE_NONE,
    CACHE_PRESSURE_HIGH,      /* they use two thirds of their limit, or a thread
                                 waits for memory */
    CACHE_PRESSURE_THROTTLED, /* a writer of the domain is throttled, and fails
                                 if the flush fails */
};

/* Returns how urgently the files of a domain must be committed, so that the
   cache can drop what is dirty. */
enum cache_pressure cache_pressure(struct cache *cache,
                                   const struct cache_domain *domain);

/* Return a number that changes when the pressure may have grown. */
uint64_t cache_flush_event(struct cache *cache);

/*
 * Wait until cache_flush_event() no longer returns `seen`.
 *
 *  deadline  on CLOCK_MONOTONIC; NULL: none
 *
 * Returns false after cache_stop_flushes().
 */
bool cache_await_flush(struct cache *cache, uint64_t seen,
                       const struct timespec *deadline);

/* Wake the threads in cache_await_flush(). */
void cache_wake_flushers(struct cache *cache);

/* The result of a flush. */
enum cache_flushed {
    CACHE_FLUSHED,
    CACHE_FLUSH_FAILED,  /* for a reason that concerns one file */
    CACHE_FLUSH_NO_SPACE /* for one that concerns the whole domain */
};

/* Report that files of a domain were flushed, so that threads that wait for
   memory look again. */
void cache_end_flush(struct cache *cache, struct cache_domain *domain,
                     enum cache_flushed how);

/* Make cache_await_flush() return false from now on. */
void cache_stop_flushes(struct cache *cache);

#endif
