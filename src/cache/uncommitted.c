/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/uncommitted.h"

#include <errno.h>

enum {
    TABLES_PART = 100, /* tables are at most one part in this many, and */
    TABLES_MIN = 256,  /* this many bytes of a small one */

    OTHERS_PART = 8, /* part of the limit that is left to other domains, */
    OTHERS_MAX = 2,  /* or a chunk, if that is at most this part; */
    FULL_PART = 4,   /* part for a domain whose disk is full or fails */

    ORPHANS_PART = 2, /* of the capacity, for chunks that cannot be committed */
};

/* Return the limit of uncommitted bytes, if encoding one of the chunks takes
   `need` bytes. */
static size_t limit(const struct cache *cache, size_t need)
{
    size_t rest = budget_usable(cache);

    if (rest < need)
        return 0;
    return rest - need < cache->uncommitted_max ? rest - need
                                                : cache->uncommitted_max;
}

/* Is no other entry uncommitted? */
static bool is_alone(const struct cache *cache, const struct cache_entry *entry)
{
    return cache->nuncommitted == (entry->uncommitted != 0);
}

struct cache_domain *uncommitted_domain(struct cache *cache,
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
    size_t taken = cache->uncommitted - domain->uncommitted;
    size_t rest = all > taken ? all - taken : 0;
    size_t others = need < rest / OTHERS_MAX ? need : rest / OTHERS_MAX;

    if (domain->nfailing >= CACHE_FAILURES_MAX)
        return rest / FULL_PART;
    return rest - (others > rest / OTHERS_PART ? others : rest / OTHERS_PART);
}

int uncommitted_check_locked(struct cache *cache,
                             const struct cache_entry *entry,
                             const struct buffer_group *group)
{
    const struct cache_domain *domain = uncommitted_domain(cache, entry->file);
    size_t need = entry_encode_need(entry);
    size_t more = 0;

    if (!entry->uncommitted)
        more += entry_size(entry);
    if (group && !group->uncommitted)
        more += entry_group_cost(group);
    if (more == 0)
        return 0;
    if (entry_total(entry) > budget_usable(cache))
        return -ENOTSUP;
    if (is_alone(cache, entry))
        return 0;
    if (need < cache->encode_max)
        need = cache->encode_max;
    if (cache->uncommitted + more > limit(cache, need))
        return -EAGAIN;
    /* Each domain may have one uncommitted chunk in any case. */
    return domain->nuncommitted > (entry->uncommitted != 0) &&
                   domain->uncommitted + more > share(cache, domain, need)
               ? -EAGAIN
               : 0;
}

size_t cache_least(const struct cache_shape *shape)
{
    struct cache_entry entry = { 0 };
    size_t total;

    entry_set_shape(&entry, shape, shape->nbytes);
    total = entry_total(&entry);
    return total + total / TABLES_PART + TABLES_MIN;
}

static bool needs_flush(const struct cache *cache,
                        const struct cache_domain *domain)
{
    bool is_waited_for = cache->nthrottled > 0 || !list_empty(&cache->line);

    return (domain->nuncommitted > 1 &&
            domain->uncommitted >
                share(cache, domain, cache->encode_max) / 3 * 2) ||
           (domain->nuncommitted > 0 && is_waited_for);
}

void uncommitted_request_flush_locked(struct cache *cache)
{
    cache->nevents++;
    pthread_cond_broadcast(&cache->flush_wanted);
}

static bool is_stuck(const struct cache_domain *domain)
{
    return domain->nbad >= CACHE_FAILURES_MAX;
}

/* Add to the uncommitted bytes, or subtract from them. */
static void count_locked(struct cache *cache, const struct cache_file *file,
                         size_t size, bool uncommitted)
{
    struct cache_domain *domain = uncommitted_domain(cache, file);

    cache->uncommitted += uncommitted ? size : 0 - size;
    domain->uncommitted += uncommitted ? size : 0 - size;
    if (is_stuck(domain))
        cache->failing += uncommitted ? size : 0 - size;
    if (cache->uncommitted == 0)
        cache->encode_max = 0;
    if (!uncommitted)
        pthread_cond_broadcast(&cache->released);
    else if (needs_flush(cache, domain))
        uncommitted_request_flush_locked(cache);
}

/* Count an uncommitted entry, or no longer. */
static void count_entry_locked(struct cache *cache, struct cache_file *file,
                               bool uncommitted)
{
    size_t change = uncommitted ? 1 : 0 - (size_t)1;

    cache->nuncommitted += change;
    uncommitted_domain(cache, file)->nuncommitted += change;
    file->nuncommitted += change;
}

/* Count the bytes of an entry or a group that changes from one set to another.
   Returns true if they were counted as uncommitted, or not, and no longer
   are. */
static bool recount_locked(struct cache *cache, const struct cache_file *file,
                           size_t size, unsigned old, unsigned now)
{
    bool was_counted = (old & ~(unsigned)UNCOMMITTED_ORPHANED) != 0;
    bool is_counted = (now & ~(unsigned)UNCOMMITTED_ORPHANED) != 0;

    if (old == UNCOMMITTED_ORPHANED)
        cache->orphaned -= size;
    if (now == UNCOMMITTED_ORPHANED)
        cache->orphaned += size;
    if (was_counted != is_counted)
        count_locked(cache, file, size, is_counted);
    return was_counted != is_counted;
}

void uncommitted_set_group_locked(struct cache *cache,
                                  struct buffer_group *group,
                                  unsigned uncommitted)
{
    unsigned old = group->uncommitted;

    group->uncommitted = group->entry->invalidated ? 0 : uncommitted;
    recount_locked(cache, group->entry->file, entry_group_cost(group), old,
                   group->uncommitted);
    if (old && !group->uncommitted && group->nusers == 0 && group->buffer)
        list_append(&cache->idle, &group->node);
}

void uncommitted_set_entry_locked(struct cache *cache,
                                  struct cache_entry *entry,
                                  unsigned uncommitted)
{
    unsigned old = entry->uncommitted;

    entry->uncommitted = entry->invalidated ? 0 : uncommitted;
    if (!recount_locked(cache, entry->file, entry_size(entry), old,
                        entry->uncommitted))
        return;
    if (!old) {
        size_t need = entry_encode_need(entry);

        if (need > cache->encode_max)
            cache->encode_max = need;
        list_append(&entry->file->uncommitted, &entry->uncommitted_node);
    } else {
        list_remove(&entry->uncommitted_node);
    }
    count_entry_locked(cache, entry->file, !old);
}

static unsigned moved(unsigned uncommitted, unsigned from, unsigned to)
{
    return uncommitted & from ? (uncommitted & ~from) | to : uncommitted;
}

void uncommitted_move_locked(struct cache *cache, struct cache_entry *entry,
                             unsigned from, unsigned to)
{
    for (uint32_t i = 0; i < entry->ngroups; i++)
        uncommitted_set_group_locked(
            cache, &entry->groups[i],
            moved(entry->groups[i].uncommitted, from, to));
    uncommitted_set_entry_locked(cache, entry,
                                 moved(entry->uncommitted, from, to));
}

/* Give an entry, and its groups that are uncommitted, another set, with which
   it will not be committed. */
static void give_up_locked(struct cache *cache, struct cache_entry *entry,
                           unsigned uncommitted)
{
    for (uint32_t i = 0; i < entry->ngroups; i++)
        if (entry->groups[i].uncommitted)
            uncommitted_set_group_locked(cache, &entry->groups[i], uncommitted);
    uncommitted_set_entry_locked(cache, entry, uncommitted);
    uncommitted_queue_locked(entry);
    uncommitted_set_unsaved_locked(entry, 0);
    list_remove(&entry->staged_node);
}

void uncommitted_drop_locked(struct cache *cache, struct cache_entry *entry)
{
    if (entry->uncommitted)
        give_up_locked(cache, entry, 0);
}

/* Return the bytes of an entry that are uncommitted. */
static size_t cost(const struct cache_entry *entry)
{
    size_t size = entry_size(entry);

    for (uint32_t i = 0; i < entry->ngroups; i++)
        if (entry->groups[i].uncommitted)
            size += entry_group_cost(&entry->groups[i]);
    return size;
}

bool cache_orphan(struct cache *cache, struct cache_file *file)
{
    bool all = true;

    pthread_mutex_lock(&cache->lock);
    list_for_each_safe(node, &file->uncommitted) {
        struct cache_entry *entry =
            list_entry(node, struct cache_entry, uncommitted_node);

        if (cost(entry) <= cache->capacity / ORPHANS_PART - cache->orphaned) {
            give_up_locked(cache, entry, UNCOMMITTED_ORPHANED);
        } else {
            budget_invalidate_locked(cache, entry);
            all = false;
        }
    }
    budget_unlock(cache);
    return all;
}

size_t uncommitted_keep_locked(struct cache_entry *entry)
{
    size_t need = entry_encode_work(entry);

    for (uint32_t i = 0; i < entry->ngroups; i++) {
        struct buffer_group *group = &entry->groups[i];

        if (group->uncommitted && !group->pinning) {
            group->pinning = true;
            group->nusers++;
        }
        if (!group->pinning)
            need += entry_group_cost(group);
    }
    return need;
}

void uncommitted_release_locked(struct cache *cache, struct cache_entry *entry)
{
    for (uint32_t i = 0; i < entry->ngroups; i++) {
        struct buffer_group *group = &entry->groups[i];

        if (group->pinning)
            budget_unpin_locked(cache, group);
        group->pinning = false;
    }
}

void uncommitted_set_queue_locked(struct cache_entry *entry, struct list *queue)
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

void uncommitted_queue_locked(struct cache_entry *entry)
{
    struct cache_file *file = entry->file;

    if (!(entry->uncommitted & UNCOMMITTED_DIRTY) || entry->encoding)
        uncommitted_set_queue_locked(entry, NULL);
    else if (entry->queue == &file->tagged)
        return;
    else if (entry->nwritten >= entry->shape.nbytes)
        uncommitted_set_queue_locked(entry, &file->full);
    else
        uncommitted_set_queue_locked(entry, &file->dirty);
}

void uncommitted_set_unsaved_locked(struct cache_entry *entry,
                                    uint32_t nunsaved)
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

void uncommitted_written_locked(struct cache *cache, struct buffer_group *group,
                                uint32_t off, uint32_t len)
{
    struct cache_entry *entry = group->entry;
    uint32_t nbytes = entry->shape.nbytes;

    uncommitted_set_entry_locked(cache, entry,
                                 entry->uncommitted | UNCOMMITTED_DIRTY);
    uncommitted_set_group_locked(cache, group,
                                 group->uncommitted | UNCOMMITTED_DIRTY);
    entry->nwritten = add(entry->nwritten, len, nbytes);
    if (off + len > entry->dirty_end)
        entry->dirty_end = off + len;
    uncommitted_set_unsaved_locked(entry, add(entry->nunsaved, len, nbytes));
    uncommitted_queue_locked(entry);
}

void uncommitted_redirty_locked(struct cache *cache, struct cache_entry *entry)
{
    uncommitted_set_entry_locked(cache, entry,
                                 entry->uncommitted | UNCOMMITTED_DIRTY);
    for (uint32_t i = 0; i < entry->ngroups; i++)
        if (entry->groups[i].uncommitted)
            uncommitted_set_group_locked(cache, &entry->groups[i],
                                         entry->groups[i].uncommitted |
                                             UNCOMMITTED_DIRTY);
    uncommitted_queue_locked(entry);
}

void uncommitted_throttle_locked(struct cache *cache,
                                 const struct cache_file *file)
{
    struct cache_domain *domain = uncommitted_domain(cache, file);
    uint64_t nflushes = cache->nflushes;
    size_t uncommitted = cache->uncommitted;

    cache->nthrottled++;
    domain->nthrottled++;
    uncommitted_request_flush_locked(cache);
    while (cache->nflushes == nflushes && cache->uncommitted >= uncommitted &&
           file->nyielding == 0)
        pthread_cond_wait(&cache->released, &cache->lock);
    cache->nthrottled--;
    domain->nthrottled--;
}

void cache_yield(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    file->nyielding++;
    pthread_cond_broadcast(&cache->released);
    pthread_mutex_unlock(&cache->lock);
}

void cache_end_yield(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    file->nyielding--;
    pthread_mutex_unlock(&cache->lock);
}

enum cache_pressure cache_pressure(struct cache *cache,
                                   const struct cache_domain *domain)
{
    enum cache_pressure pressure = CACHE_PRESSURE_NONE;

    pthread_mutex_lock(&cache->lock);
    if (!domain)
        domain = &cache->common;
    if (needs_flush(cache, domain))
        pressure = domain->nthrottled > 0 ? CACHE_PRESSURE_THROTTLED
                                          : CACHE_PRESSURE_HIGH;
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
            error = pthread_cond_timedwait(&cache->flush_wanted, &cache->lock,
                                           deadline);
        else
            pthread_cond_wait(&cache->flush_wanted, &cache->lock);
    }
    closing = cache->closing;
    pthread_mutex_unlock(&cache->lock);
    return !closing;
}

void cache_wake_flushers(struct cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    uncommitted_request_flush_locked(cache);
    pthread_mutex_unlock(&cache->lock);
}

/* Count a flush of a domain by how it ended. */
static void count_flush_locked(struct cache *cache, struct cache_domain *domain,
                               enum cache_flushed how)
{
    cache->nflushes++;
    if (is_stuck(domain))
        cache->failing -= domain->uncommitted;
    if (how == CACHE_FLUSHED) {
        domain->nfailing = domain->nbad = 0;
        return;
    }
    cache->nfailed++;
    domain->nfailed++;
    domain->nbad++;
    domain->nfailing += how == CACHE_FLUSH_NO_SPACE;
    if (is_stuck(domain))
        cache->failing += domain->uncommitted;
}

void cache_end_flush(struct cache *cache, struct cache_domain *domain,
                     enum cache_flushed how)
{
    pthread_mutex_lock(&cache->lock);
    count_flush_locked(cache, domain ? domain : &cache->common, how);
    pthread_cond_broadcast(&cache->released);
    uncommitted_request_flush_locked(cache);
    pthread_mutex_unlock(&cache->lock);
}

void cache_stop_flushes(struct cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    cache->closing = true;
    pthread_cond_broadcast(&cache->flush_wanted);
    pthread_mutex_unlock(&cache->lock);
}
