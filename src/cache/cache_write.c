/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/size.h"
#include "cache/fill.h"
#include "cache/uncommitted.h"

/* The bytes to write, after locating them in the chunk. */
struct span {
    struct buffer_group *group;
    uint32_t off; /* in the chunk */
    uint32_t len;
    uint32_t first; /* block numbers */
    uint32_t end;
};

/* Return the part of a range that lies in one group. */
static struct span span_of(const struct cache_entry *entry,
                           const struct cache_range *range)
{
    const struct cache_shape *shape = &entry->shape;
    uint64_t stop = (uint64_t)range->off + range->len;
    struct span span = { .off = range->off };

    if (stop > shape->nbytes)
        stop = shape->nbytes;
    span.first = range->off / shape->blocksize;
    span.end = (uint32_t)size_pieces(stop, shape->blocksize);
    span.group = entry_group(entry, span.first);
    if (span.end > entry_group_end(span.group)) {
        span.end = entry_group_end(span.group);
        stop = (uint64_t)span.end * shape->blocksize;
    }
    span.len = (uint32_t)(stop - range->off);
    return span;
}

/* Is any of the blocks being filled or moved? */
static bool is_busy(const struct cache_entry *entry, uint32_t first,
                    uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (entry->states[i] == BLOCK_FILLING ||
            entry->states[i] == BLOCK_MOVING)
            return true;
    return false;
}

/* Return a block that the span overwrites in part and that is not ready, or
   span->end. */
static uint32_t find_edge(const struct cache_entry *entry,
                          const struct span *span)
{
    const struct cache_shape *shape = &entry->shape;
    uint32_t stop = span->off + span->len;
    uint32_t last = span->end - 1;

    if (span->off % shape->blocksize != 0 &&
        entry->states[span->first] != BLOCK_READY)
        return span->first;
    if (stop % shape->blocksize != 0 && stop < shape->nbytes &&
        entry->states[last] != BLOCK_READY)
        return last;
    return span->end;
}

/* Give a group another buffer, or wait until its own one is unpinned. */
static int renew_locked(struct cache *cache, struct cache_request *request,
                        struct buffer_group *group)
{
    if (!request->in_place)
        return budget_replace_buffer_locked(cache, request, group);
    cache->nunpin_waiters++;
    pthread_cond_wait(&cache->filled, &cache->lock);
    cache->nunpin_waiters--;
    return 0;
}

/*
 * Wait and decode until the bytes can be written: no thread is pinning the
 * entry, blocks at the edges of the span are ready, no thread is filling those
 * between, and the buffer is not pinned.
 */
static int prepare_locked(struct cache *cache, struct cache_request *request,
                          const struct span *span)
{
    struct buffer_group *group = span->group;
    const struct cache_entry *entry = group->entry;

    for (;;) {
        uint32_t edge = find_edge(entry, span);
        bool is_pinned = group->buffer->npins > 0;
        int r = 0;

        if (entry->invalidated)
            return -ERESTART;
        if (entry->pinning || is_busy(entry, span->first, span->end) ||
            (is_pinned &&
             is_busy(entry, entry_group_first(group), entry_group_end(group))))
            pthread_cond_wait(&cache->filled, &cache->lock);
        else if (edge < span->end)
            r = fill_locked(cache, request, group, edge, edge + 1);
        else if (is_pinned)
            r = renew_locked(cache, request, group);
        else
            return 0;
        if (r < 0)
            return r;
    }
}

/* Copy the bytes.  The lock is dropped meanwhile. */
static void copy_in_locked(struct cache *cache, const struct span *span,
                           const uint8_t *src)
{
    struct buffer_group *group = span->group;
    struct cache_entry *entry = group->entry;
    uint8_t *dst = group->buffer->bytes + span->off -
                   (size_t)entry_group_first(group) * entry->shape.blocksize;
    uint32_t n = span->end - span->first;

    entry->nwriters++;
    memset(entry->states + span->first, BLOCK_FILLING, n);
    uncommitted_written_locked(cache, group, span->off, span->len);
    budget_unlock(cache);
    if (src)
        memcpy(dst, src, span->len);
    else
        memset(dst, 0, span->len);
    pthread_mutex_lock(&cache->lock);
    memset(entry->states + span->first, BLOCK_READY, n);
    entry->nwriters--;
    pthread_cond_broadcast(&cache->filled);
}

/* Check the limit of uncommitted bytes. */
static int check_uncommitted(struct cache *cache, struct cache_request *request,
                             const struct cache_entry *entry,
                             const struct buffer_group *group)
{
    int r = uncommitted_check_locked(cache, entry, group);

    request->throttled = r == -EAGAIN;
    return r;
}

/* Set the memory that a write needs.  It includes a second buffer, in case the
   group is pinned, unless the cache could never hold two. */
static void set_need(const struct cache *cache, struct cache_request *request,
                     const struct buffer_group *group)
{
    fill_set_need(request, group, entry_group_cost(group));
    request->in_place = !budget_fits_at_all(cache, request);
    if (request->in_place)
        fill_set_need(request, group, 0);
}

static ssize_t write_group_locked(struct cache *cache,
                                  struct cache_request *request,
                                  const struct span *span, const uint8_t *src)
{
    struct buffer_group *group = span->group;
    int r;

    set_need(cache, request, group);
    r = budget_pin_locked(cache, request, group);
    if (r < 0)
        return r;
    r = prepare_locked(cache, request, span);
    if (r == 0)
        r = check_uncommitted(cache, request, group->entry, group);
    if (r == 0)
        copy_in_locked(cache, span, src);
    budget_unpin_locked(cache, group);
    return r < 0 ? r : (ssize_t)span->len;
}

static ssize_t write_entry_locked(struct cache *cache,
                                  struct cache_request *request,
                                  struct cache_entry *entry, const uint8_t *src)
{
    const struct cache_range *range = request->range;
    struct span span = { 0 };
    int r;

    if (range->off >= entry->shape.nbytes)
        return -ERANGE;
    if (range->len > 0)
        span = span_of(entry, range);
    /* Check before decoding anything or evicting other groups. */
    r = check_uncommitted(cache, request, entry, span.group);
    if (r < 0)
        return r;
    if (range->len > 0)
        return write_group_locked(cache, request, &span, src);
    if (entry->invalidated)
        return -ERESTART;
    uncommitted_set_entry_locked(cache, entry,
                                 entry->uncommitted | UNCOMMITTED_DIRTY);
    uncommitted_queue_locked(entry);
    return 0;
}

/* Wait for the resource that a write lacked.  Returns 0 if the caller is to try
   again, or the error of the write or of waiting. */
static int await_locked(struct cache *cache, struct cache_request *request,
                        int error, const struct cache_patience *patience)
{
    struct cache_domain *domain =
        uncommitted_domain(cache, request->range->file);
    unsigned tries =
        domain->nfailing >= CACHE_FAILURES_MAX ? 1 : CACHE_FAILURES_MAX;

    if (error == -ERESTART)
        return 0;
    if (request->refused)
        return budget_reserve_locked(cache, request);
    if (!request->throttled || domain->nfailed - patience->nfailed >= tries)
        return error;
    budget_release_locked(cache, request);
    if (request->range->file->nyielding > 0)
        return -EINTR;
    uncommitted_throttle_locked(cache, request->range->file);
    return 0;
}

/* Count failures from the first try of a write on. */
static void begin_locked(struct cache *cache, const struct cache_file *file,
                         struct cache_patience *patience)
{
    if (patience->begun)
        return;
    patience->begun = true;
    patience->nfailed = uncommitted_domain(cache, file)->nfailed;
}

ssize_t cache_write(struct cache *cache, const struct cache_range *range,
                    void *context, const uint8_t *src,
                    struct cache_patience *patience)
{
    struct cache_request request = { .range = range,
                                     .wait = CACHE_WAIT_MEMORY,
                                     .context = context,
                                     .writing = true };
    struct cache_entry *entry;
    ssize_t r;
    int again;

    pthread_mutex_lock(&cache->lock);
    begin_locked(cache, range->file, patience);
    do {
        request.refused = request.throttled = false;
        r = fill_get_locked(cache, &request, &entry);
        if (r == 0) {
            r = write_entry_locked(cache, &request, entry, src);
            budget_release_entry_locked(cache, entry);
        }
        again = r < 0 ? await_locked(cache, &request, (int)r, patience) : -1;
    } while (again == 0);
    budget_release_locked(cache, &request);
    budget_unlock(cache);
    return r < 0 ? again : r;
}

void cache_invalidate(struct cache *cache, struct cache_file *file,
                      uint64_t first, uint64_t end)
{
    pthread_mutex_lock(&cache->lock);
    fill_each_locked(cache, file, first, end, budget_invalidate_locked);
    budget_unlock(cache);
}
