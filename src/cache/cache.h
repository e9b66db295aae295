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
 * An entry is one chunk.  Its blocks lie in *units*: buffers of some whole
 * blocks, about a megabyte, so that a chunk of the usual size is one buffer
 * and one of a gigabyte can be cached in parts.  Each block is missing, being
 * decoded by one thread, or ready.  What is not in use stays until room is
 * needed, and goes in the order of its last use.
 *
 * The capacity is a hard limit.  A thread waits for room only while it holds
 * nothing, so threads never wait for each other in a circle.
 */
struct cache;

/* What an entry holds. */
struct cache_shape {
    uint32_t nbytes;    /* decoded size of the chunk */
    uint32_t blocksize; /* of its blocks; the last one may be shorter */
    uint32_t nblocks;   /* 0: the chunk takes no memory for its content */
    bool needs_first;   /* decoding a block takes block 0, decoded */
    bool writable;      /* its blocks can be written; else it is described
                           anew for that */
    size_t scratch;     /* bytes that decoding takes up meanwhile */
    size_t encode;      /* bytes that encoding the chunk takes up besides it */
    void *chunk;        /* the owner's, kept with the entry */
    size_t footprint;   /* bytes of memory that `chunk` holds */
};

/* How a file fills the cache.  No lock is held while one of these runs. */
struct cache_ops {
    /*
     * Describe a chunk.  One thread at a time does it for an entry.
     *
     *  writing  it is to be written, so the shape must be writable
     *
     * Returns 0, or a negative errno; whoever waited for it then tries for
     * itself, and so does the next to ask.
     */
    int (*describe)(void *context, uint64_t chunk_no, bool writing,
                    struct cache_shape *shape);

    /*
     * Decode blocks `first` to `first + n - 1`, one after another, to `dst`.
     *
     *  first_block  block 0, decoded, if shape->needs_first and `first` is not
     *               0; else NULL
     *
     * Returns 0 or a negative errno.  A run that fails is tried again block by
     * block, so that one bad block costs only its own bytes.
     */
    int (*decode)(void *context, const struct cache_shape *shape,
                  uint32_t first, uint32_t n, const uint8_t *first_block,
                  uint8_t *dst);

    /* What cache_shape.chunk says of the stored chunk is out of date with the
       next commit.  The cache's lock is held.  NULL if nothing is written. */
    void (*outdate)(void *chunk);

    /* Free cache_shape.chunk. */
    void (*forget)(void *chunk);
};

/*
 * Files whose commits fail together, such as those of one file system.  They
 * hold no more than leaves others room to be written.  The struct is its
 * owner's, starts zeroed, and is the cache's as long as a file has it.
 */
struct cache_domain {
    size_t held;       /* bytes that wait for a commit, */
    size_t nheld;      /* of so many chunks */
    unsigned nheld_up; /* writers that wait for that to come down */
    uint64_t nfailed;  /* flushes that failed */
    unsigned nfailing; /* the last so many in a row, for lack of room */
};

/* A file whose chunks are cached; the struct is its owner's. */
struct cache_file {
    const struct cache_ops *ops;
    struct cache_domain *domain; /* NULL: one for all that have none */
    struct list entries; /* the cache's from here on, guarded by its lock */
    size_t nentries;     /* those in the list and those being freed */
    struct list held;    /* entries that wait for a commit; of these: */
    struct list dirty;   /* to be encoded some time */
    struct list full;    /* the same, of which as much was written as they
                            have: they are likely to be complete */
    struct list due;     /* to be encoded for the commit under way */
    struct list staged;  /* in a commit to come */
    size_t ndirty;       /* those in `dirty`, `full` and `due` */
    atomic_size_t nfull; /* those in `full`; anyone may read it */
    atomic_size_t nheld; /* those in `held`; likewise */
    uint64_t nunsaved;   /* bytes written to those that are held, at most as
                            many for each as it has */
};

/* Figures since the start. */
struct cache_stats {
    uint64_t hits;         /* pins, but for those ahead, that found all ready */
    uint64_t misses;       /* pins that did not */
    uint64_t decoded;      /* blocks */
    uint64_t ahead;        /* of these: with CACHE_WAIT_NEVER; and of those: */
    uint64_t ahead_used;   /* pinned by others since */
    uint64_t ahead_wasted; /* evicted before that; the rest is there still */
    uint64_t waits;   /* times that a thread waited for another's decoding */
    uint64_t evicted; /* bytes */
    size_t used;      /* bytes of the capacity held or set aside now */
    size_t borrowed;  /* bytes set aside beyond it */
    size_t spare;     /* bytes in buffers that wait to be used again */
    size_t held;      /* bytes that wait for a commit */
    size_t other;     /* see cache_count_other() */
};

enum {
    CACHE_WORK_MAX = 3 << 20 /* bytes */
};

/*
 * Make a cache.
 *
 *  capacity  bytes that all it holds may take up: decoded blocks, opened
 *            chunks, scratch, and its own tables.  Buffers that wait to be used
 *            again may take up 4 MiB more, or an eighth of it if that is less;
 *            and scratch of one thread CACHE_WORK_MAX more, where otherwise
 *            nobody could go on
 *
 * Returns 0 or -ENOMEM.
 */
int cache_new(size_t capacity, struct cache **out);

/* All files must have been dropped.  Accepts NULL. */
void cache_free(struct cache *cache);

/* Begin without chunks.  Then the struct stays where it is until it has been
   dropped. */
void cache_file_init(struct cache_file *file, const struct cache_ops *ops);

/* Forget all chunks of a file.  None may be pinned. */
void cache_file_drop(struct cache *cache, struct cache_file *file);

/* Bytes of one chunk. */
struct cache_range {
    struct cache_file *file;
    uint64_t chunk_no;
    uint32_t off; /* first byte, below the decoded size of the chunk */
    uint32_t len; /* at least 1; cut at the end of the chunk */
};

/* What a caller is ready to wait for. */
enum cache_wait {
    CACHE_WAIT_ROOM,   /* room, so the caller holds no pin; and decoders */
    CACHE_WAIT_DECODE, /* blocks that another thread is decoding */
    CACHE_WAIT_NEVER,  /* neither, to decode ahead; just for describe() */
};

/* Decoded bytes that stay in place until unpinned. */
struct cache_pin {
    void *chunk;               /* cache_shape.chunk */
    const uint8_t *data;       /* first byte asked for; NULL if nblocks is 0 */
    uint32_t len;              /* how many there are from there */
    struct cache_entry *entry; /* the cache's own, from here on */
    struct cache_buffer *buffer;
};

/*
 * Pin the first bytes of a range, as many as lie in one unit, after decoding
 * those that are missing.  Missing blocks that lie next to each other are
 * decoded together.
 *
 *  context  for the file's ops
 *  out      `len` is at least 1, and less than to the end of the range or unit
 *           if what follows could not be decoded.  With CACHE_WAIT_NEVER it is
 *           not cut, and the bytes may not be ready: only the length counts
 *
 * Returns 0, or
 *  -EAGAIN  there is no room unless others let go of theirs; never with
 *           CACHE_WAIT_ROOM
 *  -ENOTSUP one unit, and what decoding it takes, is more than the capacity
 *  -ENOMEM  from the system; or what waits for commits fills the cache, and
 *           they fail
 *  -ERANGE  the chunk, as it was described, ends before the range
 *  others   from the file's ops, when the first byte can't be had
 */
int cache_pin(struct cache *cache, const struct cache_range *range,
              enum cache_wait wait, void *context, struct cache_pin *out);

/* Let go of `npins` pins. */
void cache_unpin(struct cache *cache, const struct cache_pin *pins,
                 size_t npins);

/*
 * Evict chunks `first` to `end` - 1 of a file, which are not likely to be
 * wanted again soon.  Those that are in use are evicted after that; what is
 * held for a commit stays.
 */
void cache_let_go(struct cache *cache, struct cache_file *file, uint64_t first,
                  uint64_t end);

/*
 * Count what the owner of a file keeps in memory besides its chunks.  Chunks
 * that are not in use give way to it; if that does not suffice, nobody waits
 * for it.
 *
 *  counted  how much was counted before; becomes `now`
 */
void cache_count_other(struct cache *cache, size_t *counted, size_t now);

/* What came of all pins so far, and what is held now. */
void cache_get_stats(struct cache *cache, struct cache_stats *out);

/*
 * Writing.
 *
 * Bytes that are pinned never change: who writes to a unit that is pinned gets
 * another buffer for it, and the pins keep theirs.
 *
 * What was written is *dirty*.  A dirty chunk is *taken* to be encoded: all of
 * it is pinned, and decoded as far as need be, while those who want to write to
 * it wait; writing makes it dirty once more.  When it is encoded it is *staged*
 * for a commit, and with that it is as clean as any other.  Until then it is
 * held in memory.
 *
 * So much is held at most that there is room to encode any one chunk of it, and
 * a quarter of the capacity; but one chunk alone may take up all of it.  Who
 * wants to write when there is more waits for a flush, which someone must run
 * while there is cache_pressure(); see cache_await_flush().
 */

/* The least capacity, in bytes, of a cache in which chunks of this shape can be
   written. */
size_t cache_least(const struct cache_shape *shape);

/*
 * Write the first bytes of a range, as many as lie in one unit.  Blocks that
 * are overwritten in part are decoded before.
 *
 *  range  its length may be 0, which makes the chunk dirty and no more
 *  src    the bytes; NULL for zeros
 *
 * The caller holds no pin.  Returns the number of bytes written, or
 *  -EAGAIN  there is no room, and flushes of the file's domain fail
 *  -ENOTSUP the capacity is too small to hold the chunk while it is encoded, or
 *           for what decoding it takes
 *  -ENOMEM  from the system
 *  -ERANGE  the chunk ends before the range starts
 *  others   from the file's ops
 */
ssize_t cache_write(struct cache *cache, const struct cache_range *range,
                    void *context, const uint8_t *src);

/* Forget chunks `first` to `end` - 1 of a file, also what was written. */
void cache_retire(struct cache *cache, struct cache_file *file, uint64_t first,
                  uint64_t end);

/* A chunk that is taken to be encoded. */
struct cache_taken {
    uint64_t chunk_no;
    uint32_t nbytes;
    void *chunk;               /* cache_shape.chunk */
    struct cache_entry *entry; /* the cache's own */
};

/* Have all chunks taken for a commit that are dirty now.  Returns their
   number. */
size_t cache_make_due(struct cache *cache, struct cache_file *file);

/* Which chunks to take. */
enum cache_kind {
    CACHE_DUE,
    CACHE_FULL,
    CACHE_DIRTY, /* any */
};

/* Take a chunk that is dirty and that nobody encodes, and whose number is below
   `end`.  Returns false if there is none of this kind. */
bool cache_take(struct cache *cache, struct cache_file *file,
                enum cache_kind kind, uint64_t end, struct cache_taken *out);

/* The content of a taken chunk. */
struct cache_gathered {
    const uint8_t **pieces;
    size_t npieces;
    size_t piece_len;              /* of all but the last, which has the rest */
    struct cache_buffer **buffers; /* the cache's own, from here on */
    size_t set_aside;
    size_t borrowed;
};

/*
 * Pin a chunk that was taken, after decoding what is not in memory, and set
 * cache_shape.encode bytes aside.  Waits for room.  What is written from here
 * on makes the chunk dirty again.
 *
 *  nbytes  of the chunk that are wanted; the pieces may hold more.  Bytes
 *          that were written behind them stay dirty
 *
 * Returns 0, -ERESTART if the chunk was retired, -ENOMEM, or an error of the
 * file's ops.
 */
int cache_gather(struct cache *cache, const struct cache_taken *taken,
                 uint32_t nbytes, void *context, struct cache_gathered *out);

/* The chunk is encoded: let go of its content, but not of what was taken.  It
   may be taken again from here on if it is dirty. */
void cache_ungather(struct cache *cache, const struct cache_taken *taken,
                    struct cache_gathered *gathered);

/* Let go of a chunk that was taken: what was taken is dirty again, but not
   full; or was encoded again; or goes into a commit. */
void cache_untake(struct cache *cache, const struct cache_taken *taken);
void cache_put_taken(struct cache *cache, const struct cache_taken *taken);
void cache_stage(struct cache *cache, const struct cache_taken *taken);

/* What is staged is about to be committed. */
void cache_outdate(struct cache *cache, struct cache_file *file);

/* What is staged has been committed: it is held no longer. */
void cache_settle(struct cache *cache, struct cache_file *file);

/* Make a chunk dirty that is in memory in a form to be written, if it may be
   held; else return false.  Bytes from `end` on count no longer as written. */
bool cache_soil(struct cache *cache, struct cache_file *file, uint64_t chunk_no,
                uint32_t end);

/* Have all that is staged encoded again. */
void cache_soil_staged(struct cache *cache, struct cache_file *file);

/* Is a chunk held? */
bool cache_is_dirty(struct cache *cache, struct cache_file *file,
                    uint64_t chunk_no);

/* Is anything of a file held, and where: the lowest chunk and behind the
   highest? */
bool cache_is_held(struct cache *cache, const struct cache_file *file);
bool cache_find_held(struct cache *cache, const struct cache_file *file,
                     uint64_t *first, uint64_t *end);

/* See cache_file.nunsaved. */
uint64_t cache_count_unsaved(struct cache *cache,
                             const struct cache_file *file);

/* Should what files of a domain hold be committed? */
enum cache_pressure {
    CACHE_NO_PRESSURE,
    CACHE_PRESSED, /* it is two thirds of what that may be, or someone waits for
                      room */
    CACHE_AWAITED, /* a writer of the domain waits, who gets an error if that
                      fails */
};

enum cache_pressure cache_pressure(struct cache *cache,
                                   const struct cache_domain *domain);

/* A number that changes when the pressure may have grown. */
uint64_t cache_flush_event(struct cache *cache);

/*
 * Wait until cache_flush_event() is not `seen` any more.
 *
 *  deadline  on CLOCK_MONOTONIC; NULL: none
 *
 * Returns false after cache_stop_flushes().
 */
bool cache_await_flush(struct cache *cache, uint64_t seen,
                       const struct timespec *deadline);

/* Wake those who wait there. */
void cache_wake_flushers(struct cache *cache);

/* How a flush ended. */
enum cache_flushed {
    CACHE_FLUSHED,
    CACHE_FLUSH_FAILED, /* for a reason that concerns one file */
    CACHE_FLUSH_NO_ROOM /* or all of the domain */
};

/* Files of a domain were flushed: those who wait for room look again. */
void cache_end_flush(struct cache *cache, struct cache_domain *domain,
                     enum cache_flushed how);

/* Nobody calls cache_await_flush() any more. */
void cache_stop_flushes(struct cache *cache);

#endif
