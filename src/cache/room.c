/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPARES_MAX = 64
}; /* buffers kept for reuse */

/* Free entries that were unlinked.  The lock is not held. */
static void free_entries(struct cache *cache, struct cache_entry *doomed)
{
    for (struct cache_entry *entry = doomed; entry; entry = entry->next) {
        if (entry->described)
            entry->file->ops->forget(entry->shape.chunk);
        free(entry->units);
    }

    pthread_mutex_lock(&cache->lock);
    while (doomed) {
        struct cache_entry *next = doomed->next;

        doomed->file->nentries--;
        free(doomed);
        doomed = next;
    }
    pthread_cond_broadcast(&cache->released);
    pthread_mutex_unlock(&cache->lock);
}

void room_unlock(struct cache *cache)
{
    while (cache->spares.top &&
           (cache->spares.count > SPARES_MAX ||
            cache->used + cache->spares.nbytes > cache->capacity))
        buffer_move(&cache->spares, &cache->doomed_buffers);

    struct buffer_stack buffers = cache->doomed_buffers;
    struct cache_entry *entries = cache->doomed;

    cache->doomed_buffers = (struct buffer_stack){ 0 };
    cache->doomed = NULL;
    pthread_mutex_unlock(&cache->lock);

    buffer_stack_fini(&buffers);
    if (entries)
        free_entries(cache, entries);
}

struct cache_entry **room_bucket(struct cache *cache,
                                 const struct cache_file *file,
                                 uint64_t chunk_no)
{
    uint64_t hash = ((uintptr_t)file ^ chunk_no) * 0x9e3779b97f4a7c15;

    return &cache->buckets[(hash >> 32) & cache->bucket_mask];
}

void room_remove_locked(struct cache *cache, struct cache_entry *entry)
{
    struct cache_entry **link =
        room_bucket(cache, entry->file, entry->chunk_no);

    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    list_remove(&entry->node);
    entry->next = cache->doomed;
    cache->doomed = entry;
}

/* Take the buffer from an idle unit. */
static void empty_unit_locked(struct cache *cache, struct cache_unit *unit)
{
    uint32_t first = entry_unit_first(unit);
    size_t size = entry_unit_size(unit);

    buffer_push(&cache->spares, unit->buf, size);
    cache->used -= size;
    cache->stats.evicted += size;
    unit->buf = NULL;
    unit->entry->nbuffers--;
    memset(unit->entry->states + first, BLOCK_MISSING,
           entry_unit_end(unit) - first);
}

/* Evict an idle unit; and its entry, if that is then of no use. */
static void evict_unit_locked(struct cache *cache, struct cache_unit *unit)
{
    struct cache_entry *entry = unit->entry;

    list_remove(&unit->node);
    if (unit->buf)
        empty_unit_locked(cache, unit);
    if (entry->nusers == 0 && entry->nbuffers == 0) {
        cache->used -= entry_size(entry);
        room_remove_locked(cache, entry);
    }
}

void room_evict_locked(struct cache *cache, struct cache_entry *entry)
{
    uint32_t left = entry->nbuffers;

    if (left == 0)
        evict_unit_locked(cache, &entry->units[0]);
    for (struct cache_unit *unit = entry->units; left > 0; unit++) {
        if (unit->buf) {
            left--;
            evict_unit_locked(cache, unit);
        }
    }
}

/* Could a cache with nothing else in it hold so much? */
static bool fits_at_all(const struct cache *cache, size_t size)
{
    return cache->table_size <= cache->capacity &&
           size <= cache->capacity - cache->table_size;
}

/* Evict until `size` more bytes fit, which they could. */
static bool make_room_locked(struct cache *cache, size_t size)
{
    while (cache->used + cache->reserved > cache->capacity - size) {
        if (list_empty(&cache->idle))
            return false;
        evict_unit_locked(
            cache, list_entry(cache->idle.next, struct cache_unit, node));
    }
    return true;
}

/*
 * Whoever finds others waiting for room lines up behind them, or a steady
 * stream of small requests would starve a large one.
 */
bool room_charge_locked(struct cache *cache, struct cache_request *request,
                        size_t size)
{
    size_t own = size < request->held ? size : request->held;
    size_t more = size - own;

    if (more > 0 && (cache->serving != cache->tickets ||
                     !fits_at_all(cache, request->need) ||
                     !make_room_locked(cache, more))) {
        request->refused = true;
        return false;
    }
    request->held -= own;
    cache->reserved -= own;
    cache->used += size;
    return true;
}

void room_uncharge_locked(struct cache *cache, struct cache_request *request,
                          size_t size)
{
    cache->used -= size;
    cache->reserved += size;
    request->held += size;
}

/* Those who wait for room may look again. */
static void wake_locked(struct cache *cache)
{
    if (cache->serving != cache->tickets)
        pthread_cond_broadcast(&cache->released);
}

int room_reserve_locked(struct cache *cache, struct cache_request *request)
{
    uint64_t ticket;

    room_release_locked(cache, request);
    if (!fits_at_all(cache, request->need))
        return -ENOTSUP;

    ticket = cache->tickets++;
    while (ticket != cache->serving || !make_room_locked(cache, request->need))
        pthread_cond_wait(&cache->released, &cache->lock);
    cache->serving++;
    cache->reserved += request->need;
    request->held = request->need;
    wake_locked(cache);
    return 0;
}

void room_release_locked(struct cache *cache, struct cache_request *request)
{
    if (request->held == 0)
        return;

    cache->reserved -= request->held;
    request->held = 0;
    wake_locked(cache);
}

void room_use_locked(struct cache_entry *entry)
{
    if (entry->nusers++ == 0 && entry->nbuffers == 0)
        list_remove(&entry->units[0].node);
}

void room_put_locked(struct cache *cache, struct cache_entry *entry)
{
    if (--entry->nusers == 0 && entry->nbuffers == 0)
        list_append(&cache->idle, &entry->units[0].node);
    wake_locked(cache);
}

/* A new buffer takes no memory before it is used, so the lock may be held. */
static int give_buffer_locked(struct cache *cache,
                              struct cache_request *request,
                              struct cache_unit *unit)
{
    size_t size = entry_unit_size(unit);

    if (!room_charge_locked(cache, request, size))
        return -EAGAIN;

    unit->buf = buffer_take(&cache->spares, size);
    if (!unit->buf)
        unit->buf = buffer_new(size);
    if (!unit->buf) {
        room_uncharge_locked(cache, request, size);
        return -ENOMEM;
    }
    unit->entry->nbuffers++;
    return 0;
}

int room_pin_locked(struct cache *cache, struct cache_request *request,
                    struct cache_unit *unit)
{
    int r = 0;

    list_remove(&unit->node);
    unit->npins++;
    if (!unit->buf)
        r = give_buffer_locked(cache, request, unit);
    if (r < 0)
        room_unpin_locked(cache, unit);
    return r;
}

void room_unpin_locked(struct cache *cache, struct cache_unit *unit)
{
    if (--unit->npins > 0)
        return;
    if (unit->buf)
        list_append(&cache->idle, &unit->node);
    wake_locked(cache);
}
