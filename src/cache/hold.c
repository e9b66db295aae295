/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/hold.h"

#include <errno.h>

enum {
    TABLES_PART = 100, /* tables are at most one part in this many, and */
    TABLES_MIN = 256,  /* this many bytes of a small one */

    OTHERS_PART = 8, /* part of the limit that is left to other domains, */
    OTHERS_MAX = 2,  /* or a chunk, if that is at most this part; */
    FULL_PART = 4,   /* part for a domain whose disk is full or fails */
};

/* Return the bytes that the tables leave. */
static size_t room(const struct cache *cache)
{
    return cache->capacity > cache->table_size
               ? cache->capacity - cache->table_size
               : 0;
}

/* Return the limit of uncommitted bytes, if encoding one of the chunks takes
   `need` bytes. */
static size_t limit(const struct cache *cache, size_t need)
{
    size_t rest = room(cache);

    if (rest < need)
        return 0;
    return rest - need < cache->held_max ? rest - need : cache->held_max;
}

/* Is no other entry uncommitted? */
static bool is_alone(const struct cache *cache, const struct cache_entry *entry)
{
    return cache->nheld == (entry->held != 0);
}

struct cache_domain *hold_domain(struct cache *cache,
                                 const struct cache_file *file)
{
    return file->domain ? file->domain : &cache->common;
}

/* Return the part of the limit that files of one domain may use, because files
   of other domains must be left something. */
static size_t share(const struct cache *cache,
                    const struct cache_domain *domain, size_t need)
{
    size_t all = limit(cache, need);
    size_t taken = cache->held - domain->held;
    size_t rest = all > taken ? all - taken : 0;
    size_t others = need < rest / OTHERS_MAX ? need : rest / OTHERS_MAX;

    if (domain->nfailing >= CACHE_FAILURES_MAX)
        return rest / FULL_PART;
    return rest - (others > rest / OTHERS_PART ? others : rest / OTHERS_PART);
}

int hold_check_locked(struct cache *cache, const struct cache_entry *entry,
                      const struct cache_unit *unit)
{
    const struct cache_domain *domain = hold_domain(cache, entry->file);
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
    if (cache->held + more > limit(cache, need))
        return -EAGAIN;
    /* Each domain may have one uncommitted chunk in any case. */
    return domain->nheld > (entry->held != 0) &&
                   domain->held + more > share(cache, domain, need)
               ? -EAGAIN
               : 0;
}

size_t cache_least(const struct cache_shape *shape)
{
    struct cache_entry entry = { 0 };
    size_t total;

    entry_set_shape(&entry, shape);
    total = entry_total(&entry);
    return total + total / TABLES_PART + TABLES_MIN;
}

static bool is_pressed(const struct cache *cache,
                       const struct cache_domain *domain)
{
    bool is_waited_for =
        cache->nheld_up > 0 || cache->serving != cache->tickets;

    return (domain->nheld > 1 &&
            domain->held > share(cache, domain, cache->encode_max) / 3 * 2) ||
           (domain->nheld > 0 && is_waited_for);
}

void hold_press_locked(struct cache *cache)
{
    cache->nevents++;
    pthread_cond_broadcast(&cache->pressed);
}

static bool is_stuck(const struct cache_domain *domain)
{
    return domain->nbad >= CACHE_FAILURES_MAX;
}

/* Add to the uncommitted bytes, or subtract from them. */
static void count_locked(struct cache *cache, const struct cache_file *file,
                         size_t size, bool held)
{
    struct cache_domain *domain = hold_domain(cache, file);

    cache->held += held ? size : 0 - size;
    domain->held += held ? size : 0 - size;
    if (is_stuck(domain))
        cache->stuck += held ? size : 0 - size;
    if (cache->held == 0)
        cache->encode_max = 0;
    if (!held)
        pthread_cond_broadcast(&cache->released);
    else if (is_pressed(cache, domain))
        hold_press_locked(cache);
}

/* Count an uncommitted entry, or no longer. */
static void count_entry_locked(struct cache *cache, struct cache_file *file,
                               bool held)
{
    size_t change = held ? 1 : 0 - (size_t)1;

    cache->nheld += change;
    hold_domain(cache, file)->nheld += change;
    file->nheld += change;
}

void hold_unit_locked(struct cache *cache, struct cache_unit *unit,
                      unsigned held)
{
    bool was_held = unit->held != 0;

    unit->held = unit->entry->retired ? 0 : held;
    if (was_held == (unit->held != 0))
        return;
    count_locked(cache, unit->entry->file, entry_unit_cost(unit), !was_held);
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
    } else {
        list_remove(&entry->held_node);
    }
    count_entry_locked(cache, entry->file, !was_held);
    count_locked(cache, entry->file, entry_size(entry), !was_held);
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

size_t hold_use_locked(struct cache_entry *entry)
{
    size_t need = entry_encode_work(entry);

    for (uint32_t i = 0; i < entry->nunits; i++) {
        struct cache_unit *unit = &entry->units[i];

        if (unit->held && !unit->gathering) {
            unit->gathering = true;
            unit->nusers++;
        }
        if (!unit->gathering)
            need += entry_unit_cost(unit);
    }
    return need;
}

void hold_unuse_locked(struct cache *cache, struct cache_entry *entry)
{
    for (uint32_t i = 0; i < entry->nunits; i++) {
        struct cache_unit *unit = &entry->units[i];

        if (unit->gathering)
            room_unpin_locked(cache, unit);
        unit->gathering = false;
    }
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

/* Add to a number of bytes of a chunk, up to `max`. */
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

void hold_await_less_locked(struct cache *cache, struct cache_domain *domain)
{
    uint64_t nflushes = cache->nflushes;
    size_t held = cache->held;

    cache->nheld_up++;
    domain->nheld_up++;
    hold_press_locked(cache);
    while (cache->nflushes == nflushes && cache->held >= held)
        pthread_cond_wait(&cache->released, &cache->lock);
    cache->nheld_up--;
    domain->nheld_up--;
}

enum cache_pressure cache_pressure(struct cache *cache,
                                   const struct cache_domain *domain)
{
    enum cache_pressure pressure = CACHE_NO_PRESSURE;

    pthread_mutex_lock(&cache->lock);
    if (!domain)
        domain = &cache->common;
    if (is_pressed(cache, domain))
        pressure = domain->nheld_up > 0 ? CACHE_AWAITED : CACHE_PRESSED;
    pthread_mutex_unlock(&cache->lock);
    return pressure;
}

uint64_t cache_flush_event(struct cache *cache)
{
    uint64_t nevents;

    pthread_mutex_lock(&cache->lock);
    nevents = cache->nevents;
    pthread_mutex_unlock(&cache->lock);
    return nevents;
}

bool cache_await_flush(struct cache *cache, uint64_t seen,
                       const struct timespec *deadline)
{
    bool closing;
    int error = 0;

    pthread_mutex_lock(&cache->lock);
    while (!cache->closing && cache->nevents == seen && error != ETIMEDOUT) {
        if (deadline)
            error =
                pthread_cond_timedwait(&cache->pressed, &cache->lock, deadline);
        else
            pthread_cond_wait(&cache->pressed, &cache->lock);
    }
    closing = cache->closing;
    pthread_mutex_unlock(&cache->lock);
    return !closing;
}

void cache_wake_flushers(struct cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    hold_press_locked(cache);
    pthread_mutex_unlock(&cache->lock);
}

/* Count a flush of a domain by how it ended. */
static void count_flush_locked(struct cache *cache, struct cache_domain *domain,
                               enum cache_flushed how)
{
    cache->nflushes++;
    if (is_stuck(domain))
        cache->stuck -= domain->held;
    if (how == CACHE_FLUSHED) {
        domain->nfailing = domain->nbad = 0;
        return;
    }
    cache->nfailed++;
    domain->nfailed++;
    domain->nbad++;
    domain->nfailing += how == CACHE_FLUSH_NO_ROOM;
    if (is_stuck(domain))
        cache->stuck += domain->held;
}

void cache_end_flush(struct cache *cache, struct cache_domain *domain,
                     enum cache_flushed how)
{
    pthread_mutex_lock(&cache->lock);
    count_flush_locked(cache, domain ? domain : &cache->common, how);
    pthread_cond_broadcast(&cache->released);
    hold_press_locked(cache);
    pthread_mutex_unlock(&cache->lock);
}

void cache_stop_flushes(struct cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    cache->closing = true;
    pthread_cond_broadcast(&cache->pressed);
    pthread_mutex_unlock(&cache->lock);
}
