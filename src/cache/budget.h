/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_BUDGET_H
#define CACHE_BUDGET_H

#include <pthread.h>

#include "cache/buffer.h"
#include "cache/entry.h"

enum {
    CACHE_FAILURES_MAX = 2, /* failed flushes after which a thread gives up */
};

/*
 * The memory budget of the cache: which bytes count, which groups are evicted,
 * and which threads wait.
 *
 * Locking.  `lock` is a leaf: a thread that holds it takes no other lock and
 * does nothing that blocks.  Memory to be freed goes to the lists `to_free` and
 * `buffers_to_free` until the lock is dropped.  The content of a buffer belongs
 * to the thread that marked its blocks FILLING, and is constant once they are
 * READY.
 *
 * At any time used + reserved <= capacity + borrowed.  Spare buffers are
 * allocated too: when the lock is dropped, they take up no more than the rest
 * of capacity + slack().  Memory of other owners counts as well, as long as
 * there is something to evict.
 *
 * One request at a time may borrow memory for its work, and gives it back as
 * soon as that is done.  This way a single chunk can be decoded and encoded if
 * there is little else in the cache.
 */
struct cache {
    /* Constant once cache_new() returns. */
    size_t capacity;
    size_t uncommitted_max; /* limit of `uncommitted` */
    size_t table_size;      /* bytes of `buckets` */
    size_t bucket_mask;

    /* Guarded by `lock`, as are all entries. */
    pthread_mutex_t lock;
    pthread_cond_t filled;   /* a block left FILLING or MOVING, an entry was
                                described, a chunk pinned or written, or a
                                buffer unpinned that a thread waits for */
    pthread_cond_t released; /* something became idle, free or committed; or the
                                next waiter's turn came; or a flush ended */
    pthread_cond_t flush_wanted; /* `nevents` has changed */
    struct cache_entry **buckets;
    struct list idle;   /* groups to evict, the least recently used first */
    struct list bare;   /* entries without buffers, in the same order, by their
                            first group, */
    size_t bare_nbytes; /* and the bytes that they take up */
    uint64_t gone_nbytes; /* of all buffers that have gone after one use, see
                             struct cache_range */
    size_t used;          /* bytes of buffers, entries, scratch, tables */
    size_t other;         /* see cache_count_other() */
    size_t uncommitted;   /* uncommitted bytes of these, */
    size_t nuncommitted;  /* and the number of their entries; */
    size_t failing;  /* of `uncommitted`, those of domains whose flushes fail */
    size_t orphaned; /* bytes of these whose files can no longer be committed,
                        not in `uncommitted` */
    size_t encode_max; /* the most that encoding one of these takes */
    size_t reserved;   /* bytes set aside for requests that had to wait */
    size_t borrowed;   /* bytes that one request uses beyond the capacity */
    struct list line;  /* requests that wait for memory, the first served
                          first */
    uint32_t nurgent;  /* urgent requests that wait for memory */
    uint32_t nunpin_waiters; /* threads that wait for a buffer to be unpinned */
    uint32_t
        nthrottled; /* throttled writers: they wait for less in `uncommitted` */
    uint64_t nflushes;          /* flushes that ended, and */
    uint64_t nfailed;           /* those of them that failed */
    uint64_t nevents;           /* events after which a flush may be wanted */
    struct cache_domain common; /* for files without a domain */
    bool closing; /* threads wait no more for a flush to be wanted */
    struct buffer_stack spares;
    struct buffer_stack buffers_to_free;
    struct cache_entry *to_free;
    struct cache_stats stats;
};

/* One call that needs memory. */
struct cache_request {
    const struct cache_range *range;
    enum cache_wait wait;
    void *context;
    struct cache_entry *encoded; /* the chunk to be encoded, or NULL */
    size_t need;     /* most bytes that it takes up, as far as known; */
    size_t work;     /* of these, bytes that it gives back before it ends */
    size_t reserved; /* bytes reserved for it and not used yet; */
    size_t borrowed; /* of these, bytes beyond the capacity of the cache */
    bool refused;    /* the budget was used up */
    bool throttled;  /* it was not, but too much is uncommitted */
    bool writing;    /* the chunk is to be written */
    bool in_place;   /* the budget does not suffice for a second buffer */
    bool urgent;     /* commits wait for this request, so it waits for none
                        of them, and does not line up */
};

/* Drop the lock, then free the memory on the lists `to_free` and
   `buffers_to_free`. */
void budget_unlock(struct cache *cache);

/* Return the bytes that tables and orphaned chunks leave. */
size_t budget_usable(const struct cache *cache);

/* Evict until `size` more bytes fit, or return false. */
bool budget_evict_for_locked(struct cache *cache, size_t size);

/* Let requests that wait for memory look again. */
void budget_wake_locked(struct cache *cache);

/* Could an otherwise empty cache hold the bytes that a request needs? */
bool budget_fits_at_all(const struct cache *cache,
                        const struct cache_request *request);

/* Return the head of the hash chain of a chunk. */
struct cache_entry **budget_bucket(struct cache *cache,
                                   const struct cache_file *file,
                                   uint64_t chunk_no);

/* Remove an entry from its bucket, if it is in one. */
void budget_unlink_locked(struct cache *cache, struct cache_entry *entry);

/* Unlink an entry whose memory is no longer counted, and have it freed. */
void budget_remove_entry_locked(struct cache *cache, struct cache_entry *entry);

/*
 * Invalidate an entry that is described: unlink it.  Its users may go on; the
 * entry is freed with the last of them, and bytes written to it are lost.
 */
void budget_invalidate_locked(struct cache *cache, struct cache_entry *entry);

/* Evict an unused entry. */
void budget_evict_entry_locked(struct cache *cache, struct cache_entry *entry);

/*
 * Count `size` bytes as used: first bytes reserved for the request, then, after
 * evicting other groups, more.  Returns false if the budget is used up.
 */
bool budget_charge_locked(struct cache *cache, struct cache_request *request,
                          size_t size);

/* Reserve bytes for the request again that it has stopped using. */
void budget_uncharge_locked(struct cache *cache, struct cache_request *request,
                            size_t size);

/*
 * Reserve all memory that a request needs, and wait in line for it as long as
 * it takes.  The caller holds no memory, so threads that hold some can go on
 * and release it.
 *
 * Returns 0, -ENOTSUP if the cache can never hold so much, -EAGAIN if
 * uncommitted bytes are in the way and flushes fail, or -EINTR as
 * cache_write().
 */
int budget_reserve_locked(struct cache *cache, struct cache_request *request);

/* Release the reserved memory that a request did not use. */
void budget_release_locked(struct cache *cache, struct cache_request *request);

/* Keep an entry, or release it. */
void budget_keep_entry_locked(struct cache *cache, struct cache_entry *entry);
void budget_release_entry_locked(struct cache *cache,
                                 struct cache_entry *entry);

/*
 * Pin a group, and give it a buffer if it has none.
 *
 * Returns 0, or -EAGAIN if the budget is used up, or -ENOMEM; the group is then
 * not pinned.
 */
int budget_pin_locked(struct cache *cache, struct cache_request *request,
                      struct buffer_group *group);
void budget_unpin_locked(struct cache *cache, struct buffer_group *group);

/* Pin the buffer of a group so that its ready bytes do not change; or unpin it,
   together with the group. */
void budget_pin_readonly_locked(struct buffer_group *group);
void budget_unpin_readonly_locked(struct cache *cache,
                                  struct cache_buffer *buffer);

/*
 * Give a pinned group a buffer that is not pinned, and copy the ready blocks to
 * it.  No thread may be filling a block of the group.  The lock is dropped
 * meanwhile.
 *
 * Returns 0, -EAGAIN if the budget is used up, or -ENOMEM.
 */
int budget_replace_buffer_locked(struct cache *cache,
                                 struct cache_request *request,
                                 struct buffer_group *group);

/* Evict or park an entry if it is neither used nor uncommitted. */
void budget_idle_locked(struct cache *cache, struct cache_entry *entry);

#endif
