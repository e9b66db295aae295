/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/size.h"
#include "cache/fill.h"
#include "cache/hold.h"

/* The bytes to write, after locating them in the chunk. */
struct span {
    struct cache_unit *unit;
    uint32_t off; /* in the chunk */
    uint32_t len;
    uint32_t first; /* block numbers */
    uint32_t end;
};

/* Return the part of a range that lies in one unit. */
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
    span.unit = entry_unit(entry, span.first);
    if (span.end > entry_unit_end(span.unit)) {
        span.end = entry_unit_end(span.unit);
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

/* Give a unit another buffer, or wait until its own one is unpinned. */
static int renew_locked(struct cache *cache, struct cache_request *request,
                        struct cache_unit *unit)
{
    if (!request->in_place)
        return room_renew_locked(cache, request, unit);
    cache->nfrozen++;
    pthread_cond_wait(&cache->filled, &cache->lock);
    cache->nfrozen--;
    return 0;
}

/*
 * Wait and decode until the bytes can be written: no thread is gathering the
 * entry, blocks at the edges of the span are ready, no thread is filling those
 * between, and the buffer is not pinned.
 */
static int prepare_locked(struct cache *cache, struct cache_request *request,
                          const struct span *span)
{
    struct cache_unit *unit = span->unit;
    const struct cache_entry *entry = unit->entry;

    for (;;) {
        uint32_t edge = find_edge(entry, span);
        bool frozen = unit->buffer->npins > 0;
        int r = 0;

        if (entry->retired)
            return -ERESTART;
        if (entry->gathering || is_busy(entry, span->first, span->end) ||
            (frozen &&
             is_busy(entry, entry_unit_first(unit), entry_unit_end(unit))))
            pthread_cond_wait(&cache->filled, &cache->lock);
        else if (edge < span->end)
            r = fill_locked(cache, request, unit, edge, edge + 1);
        else if (frozen)
            r = renew_locked(cache, request, unit);
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
    struct cache_unit *unit = span->unit;
    struct cache_entry *entry = unit->entry;
    uint8_t *dst = unit->buffer->bytes + span->off -
                   (size_t)entry_unit_first(unit) * entry->shape.blocksize;
    uint32_t n = span->end - span->first;

    entry->nwriters++;
    memset(entry->states + span->first, BLOCK_FILLING, n);
    hold_written_locked(cache, unit, span->off, span->len);
    room_unlock(cache);
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
static int check_hold(struct cache *cache, struct cache_request *request,
                      const struct cache_entry *entry,
                      const struct cache_unit *unit)
{
    int r = hold_check_locked(cache, entry, unit);

    request->held_up = r == -EAGAIN;
    return r;
}

/* Set the memory that a write needs.  It includes a second buffer, in case the
   unit is pinned, unless the cache could never hold two. */
static void set_need(const struct cache *cache, struct cache_request *request,
                     const struct cache_unit *unit)
{
    fill_set_need(request, unit, entry_unit_cost(unit));
    request->in_place = !room_fits_at_all(cache, request);
    if (request->in_place)
        fill_set_need(request, unit, 0);
}

static ssize_t write_unit_locked(struct cache *cache,
                                 struct cache_request *request,
                                 const struct span *span, const uint8_t *src)
{
    struct cache_unit *unit = span->unit;
    int r;

    set_need(cache, request, unit);
    r = room_pin_locked(cache, request, unit);
    if (r < 0)
        return r;
    r = prepare_locked(cache, request, span);
    if (r == 0)
        r = check_hold(cache, request, unit->entry, unit);
    if (r == 0)
        copy_in_locked(cache, span, src);
    room_unpin_locked(cache, unit);
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
    /* Check before decoding anything or evicting other units. */
    r = check_hold(cache, request, entry, span.unit);
    if (r < 0)
        return r;
    if (range->len > 0)
        return write_unit_locked(cache, request, &span, src);
    if (entry->retired)
        return -ERESTART;
    hold_entry_locked(cache, entry, entry->held | HOLD_DIRTY);
    hold_queue_locked(entry);
    return 0;
}

/* Wait for the resource that a write lacked.  Returns 0 if the caller is to try
   again, or the error of the write or of waiting. */
static int await_locked(struct cache *cache, struct cache_request *request,
                        int error, uint64_t nfailed)
{
    struct cache_domain *domain = hold_domain(cache, request->range->file);
    unsigned tries =
        domain->nfailing >= CACHE_FAILURES_MAX ? 1 : CACHE_FAILURES_MAX;

    if (error == -ERESTART)
        return 0;
    if (request->refused)
        return room_reserve_locked(cache, request);
    if (!request->held_up || domain->nfailed - nfailed >= tries)
        return error;
    room_release_locked(cache, request);
    hold_await_less_locked(cache, domain);
    return 0;
}

ssize_t cache_write(struct cache *cache, const struct cache_range *range,
                    void *context, const uint8_t *src)
{
    struct cache_request request = { .range = range,
                                     .wait = CACHE_WAIT_ROOM,
                                     .context = context,
                                     .writing = true };
    struct cache_entry *entry;
    uint64_t nfailed;
    ssize_t r;
    int again;

    pthread_mutex_lock(&cache->lock);
    nfailed = hold_domain(cache, range->file)->nfailed;
    do {
        request.refused = request.held_up = false;
        r = fill_get_locked(cache, &request, &entry);
        if (r == 0) {
            r = write_entry_locked(cache, &request, entry, src);
            room_put_locked(cache, entry);
        }
        again = r < 0 ? await_locked(cache, &request, (int)r, nfailed) : -1;
    } while (again == 0);
    room_release_locked(cache, &request);
    room_unlock(cache);
    return r < 0 ? again : r;
}

void cache_retire(struct cache *cache, struct cache_file *file, uint64_t first,
                  uint64_t end)
{
    pthread_mutex_lock(&cache->lock);
    fill_each_locked(cache, file, first, end, room_retire_locked);
    room_unlock(cache);
}
