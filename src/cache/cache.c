/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "cache/fill.h"

enum {
    BYTES_PER_BUCKET = 1024, /* of capacity */
    DROP_BATCH = 64,         /* entries dropped while the lock is held */
    UNCOMMITTED_PARTS = 4,   /* of capacity; one is free of uncommitted data */
};

int cache_new(size_t capacity, struct cache **out)
{
    struct cache *cache = calloc(1, sizeof(*cache));
    pthread_condattr_t monotonic;
    size_t nbuckets = 16;

    if (!cache)
        return -ENOMEM;

    while (nbuckets <= capacity / BYTES_PER_BUCKET / 2)
        nbuckets *= 2;
    cache->buckets = calloc(nbuckets, sizeof(*cache->buckets));
    if (!cache->buckets) {
        free(cache);
        return -ENOMEM;
    }
    cache->capacity = capacity;
    cache->uncommitted_max =
        capacity / UNCOMMITTED_PARTS * (UNCOMMITTED_PARTS - 1);
    cache->bucket_mask = nbuckets - 1;
    cache->table_size = nbuckets * sizeof(*cache->buckets);
    cache->used = cache->table_size;
    list_init(&cache->idle);
    list_init(&cache->line);
    list_init(&cache->bare);
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->filled, NULL);
    pthread_cond_init(&cache->released, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&cache->flush_wanted, &monotonic);
    pthread_condattr_destroy(&monotonic);

    *out = cache;
    return 0;
}

void cache_free(struct cache *cache)
{
    if (!cache)
        return;

    assert(cache->used == cache->table_size);
    buffer_stack_fini(&cache->spares);
    pthread_cond_destroy(&cache->flush_wanted);
    pthread_cond_destroy(&cache->released);
    pthread_cond_destroy(&cache->filled);
    pthread_mutex_destroy(&cache->lock);
    free(cache->buckets);
    free(cache);
}

void cache_file_init(struct cache_file *file, const struct cache_ops *ops)
{
    file->ops = ops;
    file->domain = NULL;
    file->nuncommitted = 0;
    list_init(&file->entries);
    list_init(&file->uncommitted);
    list_init(&file->dirty);
    list_init(&file->full);
    list_init(&file->tagged);
    list_init(&file->staged);
    file->nentries = 0;
    file->ndirty = 0;
    file->nfull = 0;
    file->nunsaved = 0;
    file->nfailures = 0;
}

void cache_file_drop(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    for (size_t n = 1; !list_empty(&file->entries); n++) {
        budget_evict_entry_locked(
            cache, list_entry(file->entries.next, struct cache_entry, node));
        if (n % DROP_BATCH == 0) {
            budget_unlock(cache);
            pthread_mutex_lock(&cache->lock);
        }
    }
    budget_unlock(cache);

    /* Another thread may still be freeing entries that it evicted. */
    pthread_mutex_lock(&cache->lock);
    while (file->nentries > 0)
        pthread_cond_wait(&cache->released, &cache->lock);
    pthread_mutex_unlock(&cache->lock);
}

/* Count a request for blocks as a hit or a miss. */
static void count_use_locked(struct cache *cache, struct buffer_group *group,
                             uint32_t first, uint32_t end, bool hit)
{
    cache->stats.hits += hit;
    cache->stats.misses += !hit;
    cache->stats.ahead_used += entry_clear_ahead(group, first, end);
}

/* Is a group without a buffer to lose the next one after use?  Not if it had it
   still, had all buffers that went so stayed. */
static bool goes_after_use(const struct cache *cache,
                           const struct buffer_group *group)
{
    return !group->buffer &&
           (group->gone_at == 0 ||
            cache->gone_nbytes - group->gone_at > cache->capacity);
}

/* Pin the group that a range starts in, and make its blocks in [first, end)
   ready.  Lowers `end` to the first block that could not be decoded. */
static int pin_group_locked(struct cache *cache, struct cache_request *request,
                            struct buffer_group *group, uint32_t first,
                            uint32_t *end)
{
    const struct cache_entry *entry = group->entry;
    bool once = request->range->once && goes_after_use(cache, group);
    uint32_t ready;
    bool hit;
    int r;

    fill_set_need(request, group, 0);
    r = budget_pin_locked(cache, request, group);
    if (r < 0)
        return r;
    group->once = once;

    ready = first + entry_run(entry, first, *end, BLOCK_READY);
    hit = ready == *end;
    if (!hit) {
        r = fill_locked(cache, request, group, first, *end);
        ready = first + entry_run(entry, first, *end, BLOCK_READY);
    }
    if (request->wait != CACHE_WAIT_NEVER)
        count_use_locked(cache, group, first, ready, hit);
    if (r < 0 && ready == first) {
        budget_unpin_locked(cache, group);
        return r;
    }
    if (r < 0)
        *end = ready;
    return 0;
}

/* Pin the part of a range that lies in its first group.  The caller keeps the
   entry. */
static int pin_range_locked(struct cache *cache, struct cache_request *request,
                            struct cache_entry *entry, struct cache_pin *out)
{
    const struct cache_shape *shape = &entry->shape;
    uint64_t off = request->range->off;
    uint64_t stop = off + request->range->len;
    struct buffer_group *group = NULL;
    const uint8_t *data = NULL;

    if (off >= shape->nbytes)
        return -ERANGE;
    if (stop > shape->nbytes)
        stop = shape->nbytes;

    if (shape->nblocks > 0) {
        uint32_t first = (uint32_t)off / shape->blocksize;
        uint32_t end = (uint32_t)size_pieces(stop, shape->blocksize);
        int r;

        group = entry_group(entry, first);
        if (end > entry_group_end(group))
            end = entry_group_end(group);
        r = pin_group_locked(cache, request, group, first, &end);
        if (r < 0)
            return r;
        if (stop > (uint64_t)end * shape->blocksize)
            stop = (uint64_t)end * shape->blocksize;
        data = group->buffer->bytes +
               (off - (uint64_t)entry_group_first(group) * shape->blocksize);
    }
    if (entry->invalidated) {
        if (group)
            budget_unpin_locked(cache, group);
        return -ERESTART;
    }
    if (group)
        budget_pin_readonly_locked(group);

    *out = (struct cache_pin){ .chunk = shape->chunk,
                               .data = data,
                               .len = (uint32_t)(stop - off),
                               .entry = entry,
                               .buffer = group ? group->buffer : NULL };
    return 0;
}

int cache_pin(struct cache *cache, const struct cache_range *range,
              enum cache_wait wait, void *context, struct cache_pin *out)
{
    struct cache_request request = { .range = range,
                                     .wait = wait,
                                     .context = context };
    struct cache_entry *entry;
    int r;

    pthread_mutex_lock(&cache->lock);
    do {
        request.refused = false;
        r = fill_get_locked(cache, &request, &entry);
        if (r == 0) {
            r = pin_range_locked(cache, &request, entry, out);
            if (r < 0)
                budget_release_entry_locked(cache, entry);
        }
    } while (r == -ERESTART ||
             (r < 0 && request.refused && wait == CACHE_WAIT_MEMORY &&
              (r = budget_reserve_locked(cache, &request)) == 0));
    budget_release_locked(cache, &request);
    budget_unlock(cache);
    return wait == CACHE_WAIT_MEMORY && r == -EAGAIN ? -ENOMEM : r;
}

static bool has_blocks(const struct cache_entry *entry,
                       const struct cache_range *range)
{
    const struct cache_shape *shape = &entry->shape;
    uint64_t end = (uint64_t)range->off + range->len;

    if (end > shape->nbytes)
        end = shape->nbytes;
    for (uint64_t off = range->off; off < end && shape->nblocks > 0;
         off += shape->blocksize)
        if (entry->states[off / shape->blocksize] == BLOCK_MISSING)
            return false;
    return true;
}

bool cache_has(struct cache *cache, const struct cache_range *range)
{
    const struct cache_entry *entry;
    bool has;

    pthread_mutex_lock(&cache->lock);
    entry = fill_find_locked(cache, range);
    has = entry && entry->described && has_blocks(entry, range);
    pthread_mutex_unlock(&cache->lock);
    return has;
}

void cache_unpin(struct cache *cache, const struct cache_pin *pins,
                 size_t npins)
{
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < npins; i++) {
        if (pins[i].buffer)
            budget_unpin_readonly_locked(cache, pins[i].buffer);
        budget_release_entry_locked(cache, pins[i].entry);
    }
    budget_unlock(cache);
}

static void drop_behind_locked(struct cache *cache, struct cache_entry *entry)
{
    entry->drop_behind = true;
    budget_idle_locked(cache, entry);
}

void cache_drop_behind(struct cache *cache, struct cache_file *file,
                       uint64_t first, uint64_t end)
{
    pthread_mutex_lock(&cache->lock);
    fill_each_locked(cache, file, first, end, drop_behind_locked);
    budget_unlock(cache);
}

void cache_get_stats(struct cache *cache, struct cache_stats *out)
{
    pthread_mutex_lock(&cache->lock);
    *out = cache->stats;
    out->used = cache->used + cache->reserved - cache->borrowed;
    out->borrowed = cache->borrowed;
    out->spare = cache->spares.nbytes;
    out->uncommitted = cache->uncommitted;
    out->other = cache->other;
    pthread_mutex_unlock(&cache->lock);
}
