/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache/uncommitted.h"

enum {
    SPARES_MAX = 256,    /* buffers kept for reuse */
    SLACK_MAX = 4 << 20, /* bytes of these beyond the capacity, */
    SLACK_PART = 8,      /* but at most this part of it */
    BARE_PART = 8,       /* part of the capacity for entries without buffers */
    BUCKETS_IN_ROW = 64, /* neighbouring chunks share pages of the table */
    IN_SMALL_PAGES = 4 * BUFFER_ROW, /* bytes of the first buffers */
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
static void free_entries(struct cache *cache, struct cache_entry *to_free)
{
    for (struct cache_entry *entry = to_free; entry; entry = entry->next) {
        if (entry->described)
            entry->file->ops->forget(entry->shape.chunk);
        free(entry->groups);
    }

    pthread_mutex_lock(&cache->lock);
    while (to_free) {
        struct cache_entry *next = to_free->next;

        to_free->file->nentries--;
        free(to_free);
        to_free = next;
    }
    pthread_cond_broadcast(&cache->released);
    pthread_mutex_unlock(&cache->lock);
}

void budget_unlock(struct cache *cache)
{
    while (cache->spares.top &&
           (cache->spares.count > SPARES_MAX ||
            cache->used + cache->other + cache->spares.nbytes >
                cache->capacity + slack(cache)))
        buffer_move(&cache->spares, &cache->buffers_to_free);

    struct buffer_stack buffers = cache->buffers_to_free;
    struct cache_entry *entries = cache->to_free;

    cache->buffers_to_free = (struct buffer_stack){ 0 };
    cache->to_free = NULL;
    pthread_mutex_unlock(&cache->lock);

    buffer_stack_fini(&buffers);
    if (entries)
        free_entries(cache, entries);
}

struct cache_entry **budget_bucket(struct cache *cache,
                                   const struct cache_file *file,
                                   uint64_t chunk_no)
{
    uint64_t row = chunk_no / BUCKETS_IN_ROW;
    uint64_t hash = ((uintptr_t)file ^ row) * 0x9e3779b97f4a7c15;
    uint64_t bucket = (hash >> 32) + chunk_no % BUCKETS_IN_ROW;

    return &cache->buckets[bucket & cache->bucket_mask];
}

void budget_unlink_locked(struct cache *cache, struct cache_entry *entry)
{
    struct cache_entry **link =
        budget_bucket(cache, entry->file, entry->chunk_no);

    while (*link && *link != entry)
        link = &(*link)->next;
    if (*link)
        *link = entry->next;
}

void budget_remove_entry_locked(struct cache *cache, struct cache_entry *entry)
{
    budget_unlink_locked(cache, entry);
    list_remove(&entry->node);
    entry->next = cache->to_free;
    cache->to_free = entry;
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
    list_append(&cache->bare, &entry->groups[0].node);
    entry->bare = true;
    cache->bare_nbytes += entry_size(entry);
}

static void unpark_locked(struct cache *cache, struct cache_entry *entry)
{
    if (!entry->bare)
        return;
    list_remove(&entry->groups[0].node);
    entry->bare = false;
    cache->bare_nbytes -= entry_size(entry);
}

/* Take the buffer of an idle group away. */
static void empty_group_locked(struct cache *cache, struct buffer_group *group)
{
    uint32_t first = entry_group_first(group);

    cache->stats.evicted += group->buffer->size;
    cache->stats.ahead_wasted +=
        entry_clear_ahead(group, first, entry_group_end(group));
    drop_buffer_locked(cache, group->buffer);
    group->buffer = NULL;
    group->entry->nbuffers--;
    memset(group->entry->states + first, BLOCK_MISSING,
           entry_group_end(group) - first);
}

/* Evict an idle group, and its entry if that is then useless. */
static void evict_group_locked(struct cache *cache, struct buffer_group *group)
{
    struct cache_entry *entry = group->entry;

    list_remove(&group->node);
    if (group->buffer)
        empty_group_locked(cache, group);
    if (entry->nusers == 0 && entry->nbuffers == 0 && !entry->uncommitted) {
        unpark_locked(cache, entry);
        cache->used -= entry_size(entry);
        budget_remove_entry_locked(cache, entry);
    }
}

void budget_invalidate_locked(struct cache *cache, struct cache_entry *entry)
{
    budget_unlink_locked(cache, entry);
    entry->invalidated = true;
    uncommitted_drop_locked(cache, entry);
    if (entry->nusers == 0)
        budget_evict_entry_locked(cache, entry);
    pthread_cond_broadcast(&cache->released);
}

void budget_evict_entry_locked(struct cache *cache, struct cache_entry *entry)
{
    uint32_t left;

    uncommitted_drop_locked(cache, entry);
    left = entry->nbuffers;
    if (left == 0)
        evict_group_locked(cache, &entry->groups[0]);
    for (struct buffer_group *group = entry->groups; left > 0; group++) {
        if (group->buffer) {
            left--;
            evict_group_locked(cache, group);
        }
    }
}

/*
 * Evict the group that was idle for longest, if there is one.  An entry that
 * loses its last buffer is kept if there is memory for entries without buffers,
 * because describing the chunk again takes as long as reading a block.
 */
static bool evict_oldest_locked(struct cache *cache)
{
    size_t limit = cache->capacity / BARE_PART;
    bool bare = list_empty(&cache->idle) || cache->bare_nbytes > limit;
    struct list *oldest = bare ? cache->bare.next : cache->idle.next;
    struct buffer_group *group = list_entry(oldest, struct buffer_group, node);

    if (bare && list_empty(&cache->bare))
        return false;
    if (bare || group->entry->nbuffers > 1 ||
        entry_size(group->entry) > limit) {
        evict_group_locked(cache, group);
        return true;
    }
    list_remove(&group->node);
    empty_group_locked(cache, group);
    budget_idle_locked(cache, group->entry);
    return true;
}

size_t budget_usable(const struct cache *cache)
{
    size_t taken = cache->table_size + cache->orphaned;

    return cache->capacity > taken ? cache->capacity - taken : 0;
}

bool budget_evict_for_locked(struct cache *cache, size_t size)
{
    size_t capacity = cache->capacity + cache->borrowed;
    size_t limit;

    if (size > capacity)
        return false;
    limit = capacity - size;
    while (cache->used + cache->reserved + cache->other > limit)
        if (!evict_oldest_locked(cache))
            break;
    return cache->used + cache->reserved <= limit;
}

static void change_other_locked(struct cache *cache, size_t change)
{
    cache->other += change; /* which wraps if it is negative */
    budget_evict_for_locked(cache, 0);
}

void cache_count_other(struct cache *cache, size_t *counted, size_t now)
{
    pthread_mutex_lock(&cache->lock);
    change_other_locked(cache, now - *counted);
    *counted = now;
    budget_unlock(cache);
}

void cache_change_other(struct cache *cache, ptrdiff_t change)
{
    pthread_mutex_lock(&cache->lock);
    change_other_locked(cache, (size_t)change);
    budget_unlock(cache);
}

/*
 * A request that finds other ones waiting for memory lines up behind them,
 * because a steady stream of small requests would starve a large one.
 */
bool budget_charge_locked(struct cache *cache, struct cache_request *request,
                          size_t size)
{
    size_t own = size < request->reserved ? size : request->reserved;
    size_t more = size - own;

    if (more > 0 && ((!list_empty(&cache->line) && !request->urgent) ||
                     !budget_fits_at_all(cache, request) ||
                     !budget_evict_for_locked(cache, more))) {
        request->refused = true;
        return false;
    }
    request->reserved -= own;
    cache->reserved -= own;
    cache->used += size;
    return true;
}

void budget_uncharge_locked(struct cache *cache, struct cache_request *request,
                            size_t size)
{
    cache->used -= size;
    cache->reserved += size;
    request->reserved += size;
}

void budget_wake_locked(struct cache *cache)
{
    if (!list_empty(&cache->line) || cache->nurgent > 0)
        pthread_cond_broadcast(&cache->released);
}

void budget_keep_entry_locked(struct cache *cache, struct cache_entry *entry)
{
    entry->drop_behind = false;
    entry->nusers++;
    unpark_locked(cache, entry);
}

void budget_idle_locked(struct cache *cache, struct cache_entry *entry)
{
    if (entry->nusers > 0)
        return;
    if (entry->invalidated || (entry->drop_behind && !entry->uncommitted))
        budget_evict_entry_locked(cache, entry);
    else if (entry->nbuffers == 0 && !entry->uncommitted)
        park_locked(cache, entry);
}

void budget_release_entry_locked(struct cache *cache, struct cache_entry *entry)
{
    entry->nusers--;
    budget_idle_locked(cache, entry);
    budget_wake_locked(cache);
}

/* May a program be writing a small file, which leaves most pages of its buffer
   unused? */
static bool may_be_small(const struct cache_request *request,
                         const struct buffer_group *group)
{
    return request->writing && group->entry->chunk_no == 0;
}

/* Make a buffer, or a row of them if there is memory for it.  The first ones
   are made one by one, and those of small files, because zeroing a huge page
   takes longer than opening a frame and reading some blocks of it does. */
static uint8_t *new_buffer_locked(struct cache *cache,
                                  const struct cache_request *request,
                                  const struct buffer_group *group, size_t size)
{
    uint8_t *bytes = buffer_take(&cache->spares, size);
    size_t taken = cache->used + cache->other + cache->spares.nbytes;

    if (bytes)
        return bytes;
    if (taken < cache->table_size + IN_SMALL_PAGES ||
        taken + BUFFER_ROW > cache->capacity || may_be_small(request, group))
        return buffer_new(size);
    return buffer_new_row(size, &cache->spares);
}

/* Make a buffer for a group.  The lock stays held: a new buffer takes hardly
   any memory, and so little time, before it is used. */
static int make_buffer_locked(struct cache *cache,
                              struct cache_request *request,
                              struct buffer_group *group,
                              struct cache_buffer **out)
{
    struct cache_buffer *buffer;
    size_t size = entry_group_size(group);

    if (!budget_charge_locked(cache, request, entry_group_cost(group)))
        return -EAGAIN;

    buffer = calloc(1, sizeof(*buffer));
    if (buffer)
        buffer->bytes = new_buffer_locked(cache, request, group, size);
    if (!buffer || !buffer->bytes) {
        free(buffer);
        budget_uncharge_locked(cache, request, entry_group_cost(group));
        return -ENOMEM;
    }
    buffer->size = size;
    buffer->group = group;
    *out = buffer;
    return 0;
}

int budget_pin_locked(struct cache *cache, struct cache_request *request,
                      struct buffer_group *group)
{
    int r = 0;

    list_remove(&group->node);
    group->nusers++;
    group->once = false;
    if (!group->buffer) {
        r = make_buffer_locked(cache, request, group, &group->buffer);
        group->entry->nbuffers += r == 0;
    }
    if (r < 0)
        budget_unpin_locked(cache, group);
    return r;
}

void budget_unpin_locked(struct cache *cache, struct buffer_group *group)
{
    if (--group->nusers > 0)
        return;
    if (group->buffer && !group->uncommitted) {
        if (group->once) {
            cache->gone_nbytes += group->buffer->size;
            group->gone_at = cache->gone_nbytes;
            empty_group_locked(cache, group);
        } else {
            list_append(&cache->idle, &group->node);
        }
    }
    budget_wake_locked(cache);
}

void budget_pin_readonly_locked(struct buffer_group *group)
{
    group->buffer->npins++;
}

void budget_unpin_readonly_locked(struct cache *cache,
                                  struct cache_buffer *buffer)
{
    buffer->npins--;
    if (buffer->npins == 0 && cache->nunpin_waiters > 0)
        pthread_cond_broadcast(&cache->filled);
    if (buffer->group) {
        budget_unpin_locked(cache, buffer->group);
    } else if (buffer->npins == 0) {
        drop_buffer_locked(cache, buffer);
        budget_wake_locked(cache);
    }
}

/* Copy a run of blocks to the new buffer of their group.  The lock is dropped
   meanwhile. */
static void move_run_locked(struct cache *cache, struct buffer_group *group,
                            const uint8_t *from, uint32_t first, uint32_t n)
{
    const struct cache_shape *shape = &group->entry->shape;
    size_t start = (size_t)entry_group_first(group) * shape->blocksize;
    size_t off = (size_t)first * shape->blocksize;
    size_t end = (size_t)(first + n) * shape->blocksize;
    uint8_t *to = group->buffer->bytes;

    if (end > shape->nbytes)
        end = shape->nbytes;
    budget_unlock(cache);
    memcpy(to + (off - start), from + (off - start), end - off);
    pthread_mutex_lock(&cache->lock);
    memset(group->entry->states + first, BLOCK_READY, n);
}

/* Copy all ready blocks; other threads may fill blocks meanwhile. */
static void move_blocks_locked(struct cache *cache, struct buffer_group *group,
                               const uint8_t *from)
{
    struct cache_entry *entry = group->entry;
    uint32_t end = entry_group_end(group);

    for (uint32_t i = entry_group_first(group); i < end; i++)
        if (entry->states[i] == BLOCK_READY)
            entry->states[i] = BLOCK_MOVING;
    for (uint32_t i = entry_group_first(group); i < end; i++) {
        uint32_t n = entry_run(entry, i, end, BLOCK_MOVING);

        if (n > 0)
            move_run_locked(cache, group, from, i, n);
    }
    pthread_cond_broadcast(&cache->filled);
}

int budget_replace_buffer_locked(struct cache *cache,
                                 struct cache_request *request,
                                 struct buffer_group *group)
{
    struct cache_buffer *old = group->buffer;
    struct cache_buffer *buffer;
    int r = make_buffer_locked(cache, request, group, &buffer);

    if (r < 0)
        return r;
    group->nusers -= old->npins;
    group->buffer = buffer;
    old->group = NULL;
    old->npins++;
    move_blocks_locked(cache, group, old->bytes);
    budget_unpin_readonly_locked(cache, old);
    return 0;
}
