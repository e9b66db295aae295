/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/size.h"
#include "cache/fill.h"

bool cache_take(struct cache *cache, struct cache_file *file,
                struct cache_taken *out)
{
    struct cache_entry *entry = NULL;

    pthread_mutex_lock(&cache->lock);
    if (!list_empty(&file->dirty)) {
        entry = list_entry(file->dirty.next, struct cache_entry, dirty_node);
        room_use_locked(entry);
        list_remove(&entry->dirty_node);
        entry->dirty = false;
        file->ndirty--;
        if (!entry->staged)
            list_append(&file->staged, &entry->staged_node);
        entry->staged = true;
        *out = (struct cache_taken){ .chunk_no = entry->chunk_no,
                                     .nbytes = entry->shape.nbytes,
                                     .entry = entry };
    }
    pthread_mutex_unlock(&cache->lock);
    return entry != NULL;
}

ssize_t cache_set_aside(struct cache *cache, const struct cache_taken *taken)
{
    struct cache_request request = {
        .need = entry_encode_size(taken->entry),
        .urgent = true,
    };
    int r;

    pthread_mutex_lock(&cache->lock);
    r = room_reserve_locked(cache, &request);
    room_unlock(cache);
    return r < 0 ? r : (ssize_t)request.need;
}

void cache_give_back(struct cache *cache, size_t size)
{
    struct cache_request request = { .held = size };

    pthread_mutex_lock(&cache->lock);
    room_release_locked(cache, &request);
    room_unlock(cache);
}

/* From here on what is in the units is what gets staged. */
static void stage_units_locked(struct cache *cache, struct cache_entry *entry)
{
    if (entry->dirty) {
        list_remove(&entry->dirty_node);
        entry->dirty = false;
        entry->file->ndirty--;
    }
    for (uint32_t i = 0; i < entry->nunits; i++) {
        struct cache_unit *unit = &entry->units[i];

        if (unit->dirty)
            room_mark_locked(cache, unit, false, true);
    }
}

/* Blocks from `first` on that are in one unit, and all ready or all not. */
static uint32_t run_at(const struct cache_entry *entry, uint32_t first,
                       bool *ready)
{
    uint32_t end = entry_unit_end(entry_unit(entry, first));
    uint32_t n = entry_run(entry, first, end, BLOCK_READY);

    *ready = n > 0;
    while (!*ready && first + n < end &&
           entry->states[first + n] != BLOCK_READY)
        n++;
    return n;
}

/* Copy blocks that are ready out of their unit, the lock dropped meanwhile. */
static void copy_out_locked(struct cache *cache, struct cache_unit *unit,
                            uint32_t first, uint8_t *dst, size_t len)
{
    size_t off =
        (size_t)(first - entry_unit_first(unit)) * unit->entry->shape.blocksize;

    list_remove(&unit->node);
    unit->nusers++;
    room_freeze_locked(unit);

    struct cache_buffer *buffer = unit->buffer;

    room_unlock(cache);
    memcpy(dst, buffer->bytes + off, len);
    pthread_mutex_lock(&cache->lock);
    room_thaw_locked(cache, buffer);
}

static int copy_blocks_locked(struct cache *cache, struct cache_entry *entry,
                              void *context, uint8_t *dst)
{
    const struct cache_shape *shape = &entry->shape;
    uint32_t n;
    int r = 0;

    for (uint32_t first = 0; first < shape->nblocks && r == 0; first += n) {
        size_t off = (size_t)first * shape->blocksize;
        bool ready;

        n = run_at(entry, first, &ready);
        if (ready) {
            size_t end = off + (size_t)n * shape->blocksize;

            copy_out_locked(cache, entry_unit(entry, first), first, dst + off,
                            (end < shape->nbytes ? end : shape->nbytes) - off);
        } else {
            room_unlock(cache);
            r = entry->file->ops->decode(context, shape, first, n, NULL,
                                         dst + off);
            pthread_mutex_lock(&cache->lock);
        }
    }
    return r;
}

int cache_gather(struct cache *cache, const struct cache_taken *taken,
                 void *context, uint8_t *dst)
{
    struct cache_entry *entry = taken->entry;
    int r = -ERESTART;

    pthread_mutex_lock(&cache->lock);
    entry->gathering = true;
    while (entry->nwriters > 0)
        pthread_cond_wait(&cache->filled, &cache->lock);
    if (!entry->retired) {
        stage_units_locked(cache, entry);
        r = copy_blocks_locked(cache, entry, context, dst);
    }
    entry->gathering = false;
    pthread_cond_broadcast(&cache->filled);
    room_unlock(cache);
    return r;
}

/* What is staged of an entry is dirty again. */
static void soil_locked(struct cache *cache, struct cache_entry *entry)
{
    list_remove(&entry->staged_node);
    entry->staged = false;
    if (!entry->dirty) {
        entry->dirty = true;
        list_append(&entry->file->dirty, &entry->dirty_node);
        entry->file->ndirty++;
    }
    for (uint32_t i = 0; i < entry->nunits; i++)
        if (entry->units[i].staged)
            room_mark_locked(cache, &entry->units[i], true, false);
}

void cache_put_taken(struct cache *cache, const struct cache_taken *taken,
                     bool staged)
{
    pthread_mutex_lock(&cache->lock);
    if (!staged && !taken->entry->retired)
        soil_locked(cache, taken->entry);
    room_put_locked(cache, taken->entry);
    room_unlock(cache);
}

void cache_outdate(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    list_for_each(node, &file->staged) {
        struct cache_entry *entry =
            list_entry(node, struct cache_entry, staged_node);

        file->ops->outdate(entry->shape.chunk);
    }
    pthread_mutex_unlock(&cache->lock);
}

static void settle_locked(struct cache *cache, struct cache_entry *entry)
{
    list_remove(&entry->staged_node);
    entry->staged = false;
    for (uint32_t i = 0; i < entry->nunits; i++) {
        struct cache_unit *unit = &entry->units[i];

        if (unit->staged)
            room_mark_locked(cache, unit, unit->dirty, false);
    }
    room_settle_locked(cache, entry);
}

void cache_settle(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    while (!list_empty(&file->staged))
        settle_locked(cache, list_entry(file->staged.next, struct cache_entry,
                                        staged_node));
    pthread_cond_broadcast(&cache->released);
    room_unlock(cache);
}

bool cache_soil(struct cache *cache, struct cache_file *file, uint64_t chunk_no)
{
    const struct cache_range range = { .file = file, .chunk_no = chunk_no };
    struct cache_entry *entry;
    bool found;

    pthread_mutex_lock(&cache->lock);
    entry = fill_find_locked(cache, &range);
    found = entry && entry->described && entry->shape.writable;
    if (found) {
        room_use_locked(entry);
        soil_locked(cache, entry);
        room_put_locked(cache, entry);
    }
    room_unlock(cache);
    return found;
}

bool cache_is_dirty(struct cache *cache, struct cache_file *file,
                    uint64_t chunk_no)
{
    const struct cache_range range = { .file = file, .chunk_no = chunk_no };
    const struct cache_entry *entry;
    bool dirty;

    pthread_mutex_lock(&cache->lock);
    entry = fill_find_locked(cache, &range);
    dirty = entry && (entry->dirty || entry->staged);
    pthread_mutex_unlock(&cache->lock);
    return dirty;
}

bool cache_find_held(struct cache *cache, struct cache_file *file,
                     uint64_t *first, uint64_t *end)
{
    bool found = false;

    pthread_mutex_lock(&cache->lock);
    list_for_each(node, &file->entries) {
        const struct cache_entry *entry =
            list_entry(node, struct cache_entry, node);

        if (!entry->dirty && !entry->staged)
            continue;
        if (!found || entry->chunk_no < *first)
            *first = entry->chunk_no;
        if (!found || entry->chunk_no >= *end)
            *end = entry->chunk_no + 1;
        found = true;
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

size_t cache_count_dirty(struct cache *cache, const struct cache_file *file)
{
    size_t n;

    pthread_mutex_lock(&cache->lock);
    n = file->ndirty;
    pthread_mutex_unlock(&cache->lock);
    return n;
}

size_t cache_count_held(struct cache *cache, const struct cache_file *file)
{
    size_t held;

    pthread_mutex_lock(&cache->lock);
    held = file->held;
    pthread_mutex_unlock(&cache->lock);
    return held;
}

/* Should what is held be committed now? */
static bool is_pressed(const struct cache *cache)
{
    bool is_waited_for = cache->nheld_up > 0 || cache->nurgent > 0 ||
                         cache->serving != cache->tickets;

    return cache->held > cache->capacity / 2 ||
           (cache->held > 0 && is_waited_for);
}

bool cache_await_flush(struct cache *cache, const struct timespec *deadline)
{
    bool pressed;
    int error = 0;

    pthread_mutex_lock(&cache->lock);
    while (!cache->closing && !is_pressed(cache) && error != ETIMEDOUT) {
        if (deadline)
            error =
                pthread_cond_timedwait(&cache->pressed, &cache->lock, deadline);
        else
            pthread_cond_wait(&cache->pressed, &cache->lock);
    }
    pressed = !cache->closing && is_pressed(cache);
    pthread_mutex_unlock(&cache->lock);
    return pressed;
}

void cache_end_flush(struct cache *cache, bool failed)
{
    pthread_mutex_lock(&cache->lock);
    cache->nflushes++;
    cache->nfailed += failed;
    pthread_cond_broadcast(&cache->released);
    pthread_mutex_unlock(&cache->lock);
}

void cache_stop_flushes(struct cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    cache->closing = true;
    pthread_cond_signal(&cache->pressed);
    pthread_mutex_unlock(&cache->lock);
}
