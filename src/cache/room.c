/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache/hold.h"

enum {
    SPARES_MAX = 256,     /* buffers kept for reuse */
    SLACK_MAX = 4 << 20,  /* bytes of these beyond the capacity, */
    SLACK_PART = 8,       /* but at most this part of it */
    BARE_MAX = 16 << 10,  /* bytes of an entry that is kept without buffers; */
    BARE_PART = 64 << 10, /* at most one for so many bytes of capacity */
};

/*
 * Return how much memory spare buffers may take up beyond the capacity.
 * Without it, each request that reserves memory for decoding would free spare
 * buffers that the next request needs again, at the cost of new page faults.
 */
static size_t slack(const struct cache *cache)
{
    size_t part = cache->capacity / SLACK_PART;

    return part < SLACK_MAX ? part : SLACK_MAX;
}

/* Free unlinked entries.  The caller does not hold the lock. */
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
            cache->used + cache->other + cache->spares.nbytes >
                cache->capacity + slack(cache)))
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

/* Remove an entry from its bucket, if it is in one. */
static void unlink_locked(struct cache *cache, struct cache_entry *entry)
{
    struct cache_entry **link =
        room_bucket(cache, entry->file, entry->chunk_no);

    while (*link && *link != entry)
        link = &(*link)->next;
    if (*link)
        *link = entry->next;
}

void room_remove_locked(struct cache *cache, struct cache_entry *entry)
{
    unlink_locked(cache, entry);
    list_remove(&entry->node);
    entry->next = cache->doomed;
    cache->doomed = entry;
}

/* Free a buffer, but keep its bytes for reuse. */
static void drop_buffer_locked(struct cache *cache, struct cache_buffer *buffer)
{
    buffer_push(&cache->spares, buffer->bytes, buffer->size);
    cache->used -= buffer->size + CACHE_BUFFER_OVERHEAD;
    free(buffer);
}

/* Keep an unused entry that has no buffer. */
static void park_locked(struct cache *cache, struct cache_entry *entry)
{
    list_append(&cache->bare, &entry->units[0].node);
    entry->bare = true;
    cache->nbare++;
}

static void unpark_locked(struct cache *cache, struct cache_entry *entry)
{
    if (!entry->bare)
        return;
    list_remove(&entry->units[0].node);
    entry->bare = false;
    cache->nbare--;
}

/* Take the buffer of an idle unit away. */
static void empty_unit_locked(struct cache *cache, struct cache_unit *unit)
{
    uint32_t first = entry_unit_first(unit);

    cache->stats.evicted += unit->buffer->size;
    cache->stats.ahead_wasted +=
        entry_clear_ahead(unit, first, entry_unit_end(unit));
    drop_buffer_locked(cache, unit->buffer);
    unit->buffer = NULL;
    unit->entry->nbuffers--;
    memset(unit->entry->states + first, BLOCK_MISSING,
           entry_unit_end(unit) - first);
}

/* Evict an idle unit, and its entry if that is then useless. */
static void evict_unit_locked(struct cache *cache, struct cache_unit *unit)
{
    struct cache_entry *entry = unit->entry;

    list_remove(&unit->node);
    if (unit->buffer)
        empty_unit_locked(cache, unit);
    if (entry->nusers == 0 && entry->nbuffers == 0 && !entry->held) {
        unpark_locked(cache, entry);
        cache->used -= entry_size(entry);
        room_remove_locked(cache, entry);
    }
}

void room_retire_locked(struct cache *cache, struct cache_entry *entry)
{
    unlink_locked(cache, entry);
    entry->retired = true;
    hold_drop_locked(cache, entry);
    if (entry->nusers == 0)
        room_evict_locked(cache, entry);
    pthread_cond_broadcast(&cache->released);
}

void room_evict_locked(struct cache *cache, struct cache_entry *entry)
{
    uint32_t left;

    hold_drop_locked(cache, entry);
    left = entry->nbuffers;
    if (left == 0)
        evict_unit_locked(cache, &entry->units[0]);
    for (struct cache_unit *unit = entry->units; left > 0; unit++) {
        if (unit->buffer) {
            left--;
            evict_unit_locked(cache, unit);
        }
    }
}

/*
 * Evict the unit that was idle for longest, if there is one.  An entry that
 * loses its last buffer is kept if it is small, because describing the chunk
 * again takes as long as reading a block.
 */
static bool evict_oldest_locked(struct cache *cache)
{
    bool bare =
        list_empty(&cache->idle) || cache->nbare > cache->capacity / BARE_PART;
    struct list *oldest = bare ? cache->bare.next : cache->idle.next;
    struct cache_unit *unit = list_entry(oldest, struct cache_unit, node);

    if (bare && list_empty(&cache->bare))
        return false;
    if (bare || unit->entry->nbuffers > 1 ||
        entry_size(unit->entry) > BARE_MAX) {
        evict_unit_locked(cache, unit);
        return true;
    }
    list_remove(&unit->node);
    empty_unit_locked(cache, unit);
    room_settle_locked(cache, unit->entry);
    return true;
}

bool room_make_locked(struct cache *cache, size_t size)
{
    size_t capacity = cache->capacity + cache->borrowed;
    size_t room;

    if (size > capacity)
        return false;
    room = capacity - size;
    while (cache->used + cache->reserved + cache->other > room)
        if (!evict_oldest_locked(cache))
            break;
    return cache->used + cache->reserved <= room;
}

void cache_count_other(struct cache *cache, size_t *counted, size_t now)
{
    pthread_mutex_lock(&cache->lock);
    cache->other += now;
    cache->other -= *counted;
    *counted = now;
    room_make_locked(cache, 0);
    room_unlock(cache);
}

/*
 * A request that finds other ones waiting for memory lines up behind them,
 * because a steady stream of small requests would starve a large one.
 */
bool room_charge_locked(struct cache *cache, struct cache_request *request,
                        size_t size)
{
    size_t own = size < request->held ? size : request->held;
    size_t more = size - own;

    if (more > 0 &&
        ((cache->serving != cache->tickets && !request->urgent) ||
         !room_fits_at_all(cache, request) || !room_make_locked(cache, more))) {
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

void room_wake_locked(struct cache *cache)
{
    if (cache->serving != cache->tickets || cache->nurgent > 0)
        pthread_cond_broadcast(&cache->released);
}

void room_use_locked(struct cache *cache, struct cache_entry *entry)
{
    entry->passed = false;
    entry->nusers++;
    unpark_locked(cache, entry);
}

void room_settle_locked(struct cache *cache, struct cache_entry *entry)
{
    if (entry->nusers > 0)
        return;
    if (entry->retired || (entry->passed && !entry->held))
        room_evict_locked(cache, entry);
    else if (entry->nbuffers == 0 && !entry->held)
        park_locked(cache, entry);
}

void room_put_locked(struct cache *cache, struct cache_entry *entry)
{
    entry->nusers--;
    room_settle_locked(cache, entry);
    room_wake_locked(cache);
}

/* Make a buffer, or a row of them if there is memory for it. */
static uint8_t *new_buffer_locked(struct cache *cache, size_t size)
{
    uint8_t *bytes = buffer_take(&cache->spares, size);

    if (bytes)
        return bytes;
    if (cache->used + cache->other + cache->spares.nbytes + BUFFER_ROW >
        cache->capacity)
        return buffer_new(size);
    return buffer_new_row(size, &cache->spares);
}

/* Make a buffer for a unit.  The lock stays held: a new buffer takes hardly any
   memory, and so little time, before it is used. */
static int make_buffer_locked(struct cache *cache,
                              struct cache_request *request,
                              struct cache_unit *unit,
                              struct cache_buffer **out)
{
    struct cache_buffer *buffer;
    size_t size = entry_unit_size(unit);

    if (!room_charge_locked(cache, request, entry_unit_cost(unit)))
        return -EAGAIN;

    buffer = calloc(1, sizeof(*buffer));
    if (buffer)
        buffer->bytes = new_buffer_locked(cache, size);
    if (!buffer || !buffer->bytes) {
        free(buffer);
        room_uncharge_locked(cache, request, entry_unit_cost(unit));
        return -ENOMEM;
    }
    buffer->size = size;
    buffer->unit = unit;
    *out = buffer;
    return 0;
}

int room_pin_locked(struct cache *cache, struct cache_request *request,
                    struct cache_unit *unit)
{
    int r = 0;

    list_remove(&unit->node);
    unit->nusers++;
    if (!unit->buffer) {
        r = make_buffer_locked(cache, request, unit, &unit->buffer);
        unit->entry->nbuffers += r == 0;
    }
    if (r < 0)
        room_unpin_locked(cache, unit);
    return r;
}

void room_unpin_locked(struct cache *cache, struct cache_unit *unit)
{
    if (--unit->nusers > 0)
        return;
    if (unit->buffer && !unit->held)
        list_append(&cache->idle, &unit->node);
    room_wake_locked(cache);
}

void room_freeze_locked(struct cache_unit *unit)
{
    unit->buffer->npins++;
}

void room_thaw_locked(struct cache *cache, struct cache_buffer *buffer)
{
    buffer->npins--;
    if (buffer->npins == 0 && cache->nfrozen > 0)
        pthread_cond_broadcast(&cache->filled);
    if (buffer->unit) {
        room_unpin_locked(cache, buffer->unit);
    } else if (buffer->npins == 0) {
        drop_buffer_locked(cache, buffer);
        room_wake_locked(cache);
    }
}

/* Copy a run of blocks to the new buffer of their unit.  The lock is dropped
   meanwhile. */
static void move_run_locked(struct cache *cache, struct cache_unit *unit,
                            const uint8_t *from, uint32_t first, uint32_t n)
{
    const struct cache_shape *shape = &unit->entry->shape;
    size_t start = (size_t)entry_unit_first(unit) * shape->blocksize;
    size_t off = (size_t)first * shape->blocksize;
    size_t end = (size_t)(first + n) * shape->blocksize;
    uint8_t *to = unit->buffer->bytes;

    if (end > shape->nbytes)
        end = shape->nbytes;
    room_unlock(cache);
    memcpy(to + (off - start), from + (off - start), end - off);
    pthread_mutex_lock(&cache->lock);
    memset(unit->entry->states + first, BLOCK_READY, n);
}

/* Copy all ready blocks; other threads may fill blocks meanwhile. */
static void move_blocks_locked(struct cache *cache, struct cache_unit *unit,
                               const uint8_t *from)
{
    struct cache_entry *entry = unit->entry;
    uint32_t end = entry_unit_end(unit);

    for (uint32_t i = entry_unit_first(unit); i < end; i++)
        if (entry->states[i] == BLOCK_READY)
            entry->states[i] = BLOCK_MOVING;
    for (uint32_t i = entry_unit_first(unit); i < end; i++) {
        uint32_t n = entry_run(entry, i, end, BLOCK_MOVING);

        if (n > 0)
            move_run_locked(cache, unit, from, i, n);
    }
    pthread_cond_broadcast(&cache->filled);
}

int room_renew_locked(struct cache *cache, struct cache_request *request,
                      struct cache_unit *unit)
{
    struct cache_buffer *old = unit->buffer;
    struct cache_buffer *buffer;
    int r = make_buffer_locked(cache, request, unit, &buffer);

    if (r < 0)
        return r;
    unit->nusers -= old->npins;
    unit->buffer = buffer;
    old->unit = NULL;
    old->npins++;
    move_blocks_locked(cache, unit, old->bytes);
    room_thaw_locked(cache, old);
    return 0;
}
