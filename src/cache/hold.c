/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/hold.h"

#include <errno.h>

enum {
    TABLES_PART = 100, /* of a cache, at most one is tables, and */
    TABLES_MIN = 256,  /* bytes of a small one */
};

/* What the tables leave. */
static size_t room(const struct cache *cache)
{
    return cache->capacity > cache->table_size
               ? cache->capacity - cache->table_size
               : 0;
}

/* How much may be held, if encoding a chunk of it takes `need`. */
static size_t limit(const struct cache *cache, size_t need)
{
    size_t rest = room(cache);

    if (rest < need)
        return 0;
    return rest - need < cache->held_max ? rest - need : cache->held_max;
}

/* Is nothing held but of one entry? */
static bool is_alone(const struct cache *cache, const struct cache_entry *entry)
{
    return cache->nheld == (entry->held != 0);
}

int hold_check_locked(const struct cache *cache,
                      const struct cache_entry *entry,
                      const struct cache_unit *unit)
{
    size_t need = entry_encode_need(entry);
    size_t more = 0;

    if (!entry->held)
        more += entry_size(entry);
    if (unit && !unit->held)
        more += entry_unit_cost(unit);
    if (more == 0)
        return 0;
    if (entry_total(entry) > room(cache))
        return -ENOTSUP;
    if (is_alone(cache, entry))
        return 0;
    if (need < cache->encode_max)
        need = cache->encode_max;
    return cache->held + more > limit(cache, need) ? -EAGAIN : 0;
}

size_t cache_least(const struct cache_shape *shape)
{
    struct cache_entry entry = { 0 };
    size_t total;

    entry_set_shape(&entry, shape);
    total = entry_total(&entry);
    return total + total / TABLES_PART + TABLES_MIN;
}

static bool is_pressed(const struct cache *cache)
{
    bool is_waited_for =
        cache->nheld_up > 0 || cache->serving != cache->tickets;

    return (cache->nheld > 1 &&
            cache->held > limit(cache, cache->encode_max) / 3 * 2) ||
           (cache->nheld > 0 && is_waited_for);
}

/* Count what is held, or no longer. */
static void count_locked(struct cache *cache, size_t size, bool held)
{
    cache->held += held ? size : 0 - size;
    if (cache->held == 0)
        cache->encode_max = 0;
    if (!held)
        pthread_cond_broadcast(&cache->released);
    else if (is_pressed(cache))
        pthread_cond_signal(&cache->pressed);
}

void hold_unit_locked(struct cache *cache, struct cache_unit *unit,
                      unsigned held)
{
    bool was_held = unit->held != 0;

    unit->held = unit->entry->retired ? 0 : held;
    if (was_held == (unit->held != 0))
        return;
    count_locked(cache, entry_unit_cost(unit), !was_held);
    if (was_held && unit->nusers == 0 && unit->buffer)
        list_append(&cache->idle, &unit->node);
}

void hold_entry_locked(struct cache *cache, struct cache_entry *entry,
                       unsigned held)
{
    bool was_held = entry->held != 0;

    entry->held = entry->retired ? 0 : held;
    if (was_held == (entry->held != 0))
        return;
    if (!was_held) {
        size_t need = entry_encode_need(entry);

        if (need > cache->encode_max)
            cache->encode_max = need;
        list_append(&entry->file->held, &entry->held_node);
        cache->nheld++;
    } else {
        list_remove(&entry->held_node);
        cache->nheld--;
    }
    count_locked(cache, entry_size(entry), !was_held);
}

static unsigned moved(unsigned held, unsigned from, unsigned to)
{
    return held & from ? (held & ~from) | to : held;
}

void hold_move_locked(struct cache *cache, struct cache_entry *entry,
                      unsigned from, unsigned to)
{
    for (uint32_t i = 0; i < entry->nunits; i++)
        hold_unit_locked(cache, &entry->units[i],
                         moved(entry->units[i].held, from, to));
    hold_entry_locked(cache, entry, moved(entry->held, from, to));
}

void hold_drop_locked(struct cache *cache, struct cache_entry *entry)
{
    if (!entry->held)
        return;
    for (uint32_t i = 0; i < entry->nunits; i++)
        hold_unit_locked(cache, &entry->units[i], 0);
    hold_entry_locked(cache, entry, 0);
    hold_queue_locked(entry);
    hold_set_unsaved_locked(entry, 0);
    list_remove(&entry->staged_node);
}

void hold_set_queue_locked(struct cache_entry *entry, struct list *queue)
{
    struct cache_file *file = entry->file;

    if (queue == entry->queue)
        return;
    file->ndirty += (queue != NULL);
    file->ndirty -= (entry->queue != NULL);
    file->nfull += (queue == &file->full);
    file->nfull -= (entry->queue == &file->full);
    list_remove(&entry->queue_node);
    if (queue)
        list_append(queue, &entry->queue_node);
    entry->queue = queue;
}

void hold_queue_locked(struct cache_entry *entry)
{
    struct cache_file *file = entry->file;

    if (!(entry->held & HOLD_DIRTY) || entry->encoding)
        hold_set_queue_locked(entry, NULL);
    else if (entry->queue == &file->due)
        return;
    else if (entry->nwritten >= entry->shape.nbytes)
        hold_set_queue_locked(entry, &file->full);
    else
        hold_set_queue_locked(entry, &file->dirty);
}

void hold_set_unsaved_locked(struct cache_entry *entry, uint32_t nunsaved)
{
    entry->file->nunsaved += nunsaved;
    entry->file->nunsaved -= entry->nunsaved;
    entry->nunsaved = nunsaved;
}

/* Add to a number of bytes, of which a chunk has no more than `max`. */
static uint32_t add(uint32_t n, uint32_t len, uint32_t max)
{
    return len < max - n ? n + len : max;
}

void hold_written_locked(struct cache *cache, struct cache_unit *unit,
                         uint32_t off, uint32_t len)
{
    struct cache_entry *entry = unit->entry;
    uint32_t nbytes = entry->shape.nbytes;

    hold_entry_locked(cache, entry, entry->held | HOLD_DIRTY);
    hold_unit_locked(cache, unit, unit->held | HOLD_DIRTY);
    entry->nwritten = add(entry->nwritten, len, nbytes);
    if (off + len > entry->dirty_end)
        entry->dirty_end = off + len;
    hold_set_unsaved_locked(entry, add(entry->nunsaved, len, nbytes));
    hold_queue_locked(entry);
}

void hold_soil_locked(struct cache *cache, struct cache_entry *entry)
{
    hold_entry_locked(cache, entry, entry->held | HOLD_DIRTY);
    for (uint32_t i = 0; i < entry->nunits; i++)
        if (entry->units[i].held)
            hold_unit_locked(cache, &entry->units[i],
                             entry->units[i].held | HOLD_DIRTY);
    hold_queue_locked(entry);
}

void hold_await_less_locked(struct cache *cache)
{
    uint64_t nflushes = cache->nflushes;
    size_t held = cache->held;

    cache->nheld_up++;
    pthread_cond_signal(&cache->pressed);
    while (cache->nflushes == nflushes && cache->held >= held)
        pthread_cond_wait(&cache->released, &cache->lock);
    cache->nheld_up--;
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
