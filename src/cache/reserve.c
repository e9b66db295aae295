/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "cache/hold.h"
#include "cache/room.h"

/* Return how much a request may borrow. */
static size_t borrowable(const struct cache_request *request)
{
    return request->work < CACHE_WORK_MAX ? request->work : CACHE_WORK_MAX;
}

bool room_fits_at_all(const struct cache *cache,
                      const struct cache_request *request)
{
    return cache->table_size <= cache->capacity &&
           request->need - borrowable(request) <=
               cache->capacity - cache->table_size;
}

/* Evict until all memory that a request needs is free.  The request borrows as
   much as it may if it must and no other one does.  Commits go first. */
static bool make_all_room_locked(struct cache *cache,
                                 struct cache_request *request)
{
    if (room_make_locked(cache, request->need))
        return true;
    if (cache->borrowed > 0 || (cache->nurgent > 0 && !request->urgent) ||
        !room_make_locked(cache, request->need - borrowable(request)))
        return false;
    request->borrowed = borrowable(request);
    return true;
}

/* Do uncommitted bytes whose flushes fail leave too little memory for a
   request? */
static bool is_held_up(const struct cache *cache,
                       const struct cache_request *request)
{
    return cache->stuck + request->need - borrowable(request) >
           cache->capacity - cache->table_size;
}

/*
 * Wait until it is a request's turn and its memory is free.  Uncommitted bytes
 * may be in the way, except for a request that commits wait for.
 *
 * Returns 0, or -EAGAIN if the uncommitted bytes do not come down, because
 * flushes fail.
 */
static int await_room_locked(struct cache *cache, struct cache_request *request,
                             uint64_t ticket)
{
    uint64_t nfailed = cache->nfailed;

    for (;;) {
        if (request->encoded)
            request->need = hold_use_locked(request->encoded);
        if (request->urgent || ticket == cache->serving) {
            if (make_all_room_locked(cache, request))
                return 0;
            if (!request->urgent && is_held_up(cache, request) &&
                cache->nfailed - nfailed >= CACHE_FAILURES_MAX)
                return -EAGAIN;
        }
        if (!request->urgent && cache->held > 0)
            hold_press_locked(cache);
        pthread_cond_wait(&cache->released, &cache->lock);
    }
}

int room_reserve_locked(struct cache *cache, struct cache_request *request)
{
    uint64_t ticket = 0;
    int r;

    room_release_locked(cache, request);
    if (request->encoded)
        request->need = hold_use_locked(request->encoded);
    if (!room_fits_at_all(cache, request))
        return -ENOTSUP;

    if (request->urgent) {
        cache->nurgent++;
        r = await_room_locked(cache, request, 0);
        cache->nurgent--;
    } else {
        ticket = cache->tickets++;
        r = await_room_locked(cache, request, ticket);
        cache->serving++;
    }
    if (r == 0) {
        cache->reserved += request->need;
        request->held = request->need;
        cache->borrowed += request->borrowed;
    }
    room_wake_locked(cache);
    return r;
}

void room_release_locked(struct cache *cache, struct cache_request *request)
{
    if (request->held == 0 && request->borrowed == 0)
        return;

    cache->reserved -= request->held;
    cache->borrowed -= request->borrowed;
    request->held = request->borrowed = 0;
    room_wake_locked(cache);
}
