/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "cache/budget.h"
#include "cache/uncommitted.h"

/* Return how much a request may borrow. */
static size_t borrowable(const struct cache_request *request)
{
    return request->work < CACHE_WORK_MAX ? request->work : CACHE_WORK_MAX;
}

bool budget_fits_at_all(const struct cache *cache,
                        const struct cache_request *request)
{
    return request->need - borrowable(request) <= budget_usable(cache);
}

/* Evict until all memory that a request needs is free.  The request borrows as
   much as it may if it must and no other one does.  Commits go first. */
static bool evict_for_all_locked(struct cache *cache,
                                 struct cache_request *request)
{
    if (budget_evict_for_locked(cache, request->need))
        return true;
    if (cache->borrowed > 0 || (cache->nurgent > 0 && !request->urgent) ||
        !budget_evict_for_locked(cache, request->need - borrowable(request)))
        return false;
    request->borrowed = borrowable(request);
    return true;
}

/* Do uncommitted bytes whose flushes fail leave too little memory for a
   request? */
static bool is_throttled(const struct cache *cache,
                         const struct cache_request *request)
{
    return cache->failing + request->need - borrowable(request) >
           budget_usable(cache);
}

/* Is the request of a writer that is to give way? */
static bool yields(const struct cache_request *request)
{
    return request->writing && request->range->file->nyielding > 0;
}

/*
 * Wait until it is a request's turn and its memory is free.  Uncommitted bytes
 * may be in the way, except for a request that commits wait for.
 *
 *  place  of the request in the line; alone if it does not line up
 *
 * Returns 0; -ENOTSUP if that can never be; -EAGAIN if the uncommitted bytes do
 * not come down, because flushes fail; or -EINTR if the writer is to give way.
 */
static int await_memory_locked(struct cache *cache,
                               struct cache_request *request,
                               const struct list *place)
{
    uint64_t nfailed = cache->nfailed;

    for (;;) {
        if (request->encoded)
            request->need = uncommitted_keep_locked(request->encoded);
        if (!budget_fits_at_all(cache, request))
            return -ENOTSUP;
        if (request->urgent || cache->line.next == place) {
            if (evict_for_all_locked(cache, request))
                return 0;
            if (!request->urgent && is_throttled(cache, request) &&
                cache->nfailed - nfailed >= CACHE_FAILURES_MAX)
                return -EAGAIN;
        }
        if (yields(request))
            return -EINTR;
        if (!request->urgent && cache->uncommitted > 0)
            uncommitted_request_flush_locked(cache);
        pthread_cond_wait(&cache->released, &cache->lock);
    }
}

int budget_reserve_locked(struct cache *cache, struct cache_request *request)
{
    struct list place;
    int r;

    budget_release_locked(cache, request);
    list_init(&place);
    if (request->urgent)
        cache->nurgent++;
    else
        list_append(&cache->line, &place);
    r = await_memory_locked(cache, request, &place);
    list_remove(&place);
    cache->nurgent -= request->urgent;
    if (r == 0) {
        cache->reserved += request->need;
        request->reserved = request->need;
        cache->borrowed += request->borrowed;
    }
    budget_wake_locked(cache);
    return r;
}

void budget_release_locked(struct cache *cache, struct cache_request *request)
{
    if (request->reserved == 0 && request->borrowed == 0)
        return;

    cache->reserved -= request->reserved;
    cache->borrowed -= request->borrowed;
    request->reserved = request->borrowed = 0;
    budget_wake_locked(cache);
}
