/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_ROOM_H
#define CACHE_ROOM_H

#include <pthread.h>

#include "cache/buffer.h"
#include "cache/entry.h"

enum {
    CACHE_FAILURES_MAX = 2, /* flushes that fail before waiting is given up */
};

/*
 * Room in the cache: what counts, what is evicted, who waits.
 *
 * Locking.  `lock` is a leaf: nothing that blocks, and no other lock, is taken
 * while it is held; what has to be freed goes to the doomed lists until it is
 * dropped.  The content of a buffer belongs to the thread that marked its
 * blocks FILLING, and is constant once they are READY.
 *
 * At any time used + reserved <= capacity + borrowed; and used + spares.nbytes,
 * which is what is really allocated, passes capacity only while the lock is
 * held.  What others take up counts too, as long as there is something to evict.
 *
 * One request at a time may borrow memory for its work, which it gives back as
 * soon as that is done.  So one chunk, with little else in the cache, can be
 * decoded and encoded.
 */
struct cache {
    /* Constant once cache_new() returns. */
    size_t capacity;
    size_t held_max;   /* of `held` */
    size_t table_size; /* bytes of `buckets` */
    size_t bucket_mask;

    /* Guarded by `lock`, as are all entries. */
    pthread_mutex_t lock;
    pthread_cond_t filled;   /* a block left FILLING, an entry was made, or a
                                buffer thawed that someone waits for */
    pthread_cond_t released; /* something became idle or was freed, or it is
                                the next one's turn, or a flush ended */
    pthread_cond_t pressed;  /* `nevents` has changed */
    struct cache_entry **buckets;
    struct list idle;  /* units to evict, the least recently used first */
    struct list bare;  /* the same of entries without buffers, by their first
                          unit, */
    size_t nbare;      /* and how many there are */
    size_t used;       /* bytes of buffers, entries, scratch, tables */
    size_t other;      /* see cache_count_other() */
    size_t held;       /* bytes of these that wait for a commit, */
    size_t nheld;      /* of so many entries */
    size_t encode_max; /* the most that encoding one chunk of those takes */
    size_t reserved;   /* bytes set aside for those who had to wait */
    size_t borrowed;   /* bytes that one request uses beyond the capacity */
    uint64_t tickets;  /* handed out to those who wait for room */
    uint64_t serving;  /* the ticket whose turn it is */
    uint32_t nurgent;  /* urgent requests that wait for room */
    uint32_t nfrozen;  /* threads that wait for a buffer to thaw */
    uint32_t nheld_up; /* threads that wait for `held` to come down */
    uint64_t nflushes; /* ended */
    uint64_t nfailed;  /* of these */
    uint64_t nevents;  /* after which a flush may be wanted */
    struct cache_domain common; /* of files that have none */
    bool closing; /* nobody waits for flushes to be wanted any more */
    struct buffer_stack spares;
    struct buffer_stack doomed_buffers;
    struct cache_entry *doomed;
    struct cache_stats stats;
};

/* One call that needs room. */
struct cache_request {
    const struct cache_range *range;
    enum cache_wait wait;
    void *context;
    struct cache_entry *encoded; /* the chunk that is to be, or NULL */
    size_t need;     /* bytes that it takes up at most, as far as known; of */
    size_t work;     /* these, bytes that it gives back before it ends */
    size_t held;     /* bytes reserved for it and not used yet; of */
    size_t borrowed; /* these, bytes beyond the capacity of the cache */
    bool refused;    /* there was no room */
    bool held_up;    /* there was, but too much is held for a commit */
    bool writing;    /* the chunk is to be written */
    bool in_place;   /* there would be no room for another buffer */
    bool urgent;     /* commits wait for this, so it waits for none of them, and
                     does not line up */
};

/* Drop the lock, then free what is no longer wanted. */
void room_unlock(struct cache *cache);

/* Evict until `size` more bytes fit, or return false. */
bool room_make_locked(struct cache *cache, size_t size);

/* Those who wait for room may look again. */
void room_wake_locked(struct cache *cache);

/* Could a cache with nothing else in it hold what a request needs? */
bool room_fits_at_all(const struct cache *cache,
                      const struct cache_request *request);

/* Where the chain of a chunk's hash starts. */
struct cache_entry **room_bucket(struct cache *cache,
                                 const struct cache_file *file,
                                 uint64_t chunk_no);

/* Unlink an entry, of which nothing is counted any more, and have it freed. */
void room_remove_locked(struct cache *cache, struct cache_entry *entry);

/*
 * Unlink an entry that is described.  Whoever uses it may go on; it is freed
 * with its last user, and what was written to it is lost.
 */
void room_retire_locked(struct cache *cache, struct cache_entry *entry);

/* Evict an entry that nobody uses. */
void room_evict_locked(struct cache *cache, struct cache_entry *entry);

/*
 * Count `size` bytes as used, first out of what is held for the request, then
 * after evicting what is in the way.  Returns false if there is no room.
 */
bool room_charge_locked(struct cache *cache, struct cache_request *request,
                        size_t size);

/* What was used for a while is held for the request again. */
void room_uncharge_locked(struct cache *cache, struct cache_request *request,
                          size_t size);

/*
 * Set aside all that a request needs, in turn, waiting as long as it takes.
 * The caller holds nothing, so whoever holds something goes on and lets go.
 *
 * Returns 0, -ENOTSUP if the cache can never hold so much, or -EAGAIN if what
 * is held for commits is in the way, and they fail.
 */
int room_reserve_locked(struct cache *cache, struct cache_request *request);

/* Give back what a request did not use. */
void room_release_locked(struct cache *cache, struct cache_request *request);

/* Keep an entry, or let it go. */
void room_use_locked(struct cache *cache, struct cache_entry *entry);
void room_put_locked(struct cache *cache, struct cache_entry *entry);

/*
 * Pin a unit and see that it has a buffer.
 *
 * Returns 0, -EAGAIN if there is no room, or -ENOMEM; it is then not pinned.
 */
int room_pin_locked(struct cache *cache, struct cache_request *request,
                    struct cache_unit *unit);
void room_unpin_locked(struct cache *cache, struct cache_unit *unit);

/* Keep the bytes of a unit as they are for a pin, and let go of them. */
void room_freeze_locked(struct cache_unit *unit);
void room_thaw_locked(struct cache *cache, struct cache_buffer *buffer);

/*
 * Give a pinned unit, of whose blocks none is being filled, a buffer that
 * nobody has frozen, with the blocks that are ready.  The lock is dropped
 * meanwhile.
 *
 * Returns 0, -EAGAIN if there is no room, or -ENOMEM.
 */
int room_renew_locked(struct cache *cache, struct cache_request *request,
                      struct cache_unit *unit);

/* An entry is no longer used, or held: it may be evicted. */
void room_settle_locked(struct cache *cache, struct cache_entry *entry);

#endif
