/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/fill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct cache_entry *fill_find_locked(struct cache *cache,
                                     const struct cache_range *range)
{
    struct cache_entry *entry =
        *budget_bucket(cache, range->file, range->chunk_no);

    while (entry &&
           (entry->file != range->file || entry->chunk_no != range->chunk_no))
        entry = entry->next;
    return entry;
}

void fill_each_locked(struct cache *cache, struct cache_file *file,
                      uint64_t first, uint64_t end,
                      void (*run)(struct cache *cache,
                                  struct cache_entry *entry))
{
    struct cache_range range = { .file = file, .chunk_no = first };

    if (end - first > file->nentries) {
        list_for_each_safe(node, &file->entries) {
            struct cache_entry *entry =
                list_entry(node, struct cache_entry, node);

            if (entry->chunk_no >= first && entry->chunk_no < end)
                run(cache, entry);
        }
        return;
    }
    for (; range.chunk_no < end; range.chunk_no++) {
        struct cache_entry *entry = fill_find_locked(cache, &range);

        if (entry)
            run(cache, entry);
    }
}

/* Make an entry that is not yet described; other threads wait for it. */
static struct cache_entry *insert_locked(struct cache *cache,
                                         const struct cache_range *range)
{
    struct cache_entry **bucket =
        budget_bucket(cache, range->file, range->chunk_no);
    struct cache_entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return NULL;

    entry->file = range->file;
    entry->chunk_no = range->chunk_no;
    entry->nusers = 1;
    list_init(&entry->queue_node);
    list_init(&entry->uncommitted_node);
    list_init(&entry->staged_node);
    entry->next = *bucket;
    *bucket = entry;
    list_append(&range->file->entries, &entry->node);
    range->file->nentries++;
    return entry;
}

/* Count the memory of a described entry, then allocate it. */
static int admit_locked(struct cache *cache, struct cache_request *request,
                        struct cache_entry *entry)
{
    size_t size = entry_size(entry);
    int r;

    request->need = size;
    request->work = 0;
    if (!budget_charge_locked(cache, request, size))
        return -EAGAIN;

    budget_unlock(cache);
    r = entry_alloc_groups(entry);
    pthread_mutex_lock(&cache->lock);
    if (r < 0)
        budget_uncharge_locked(cache, request, size);
    return r;
}

/* Note the result of an attempt to read a chunk. */
static void note_result_locked(const struct cache_entry *entry,
                               int64_t begin_ns, int error)
{
    struct cache_file *file = entry->file;

    if (error != -EIO)
        return;
    file->nfailures++;
    file->failed_chunk_no = entry->chunk_no;
    file->failed_middle_ns = begin_ns + (clock_monotonic_ns() - begin_ns) / 2;
}

/*
 * Wait for a thread that describes or decodes.  Returns 0, or -EIO if it has
 * failed to read bytes of this chunk, and this thread has waited most of the
 * time: if the chunk is on a server that is down, all who wait would otherwise
 * fail one after another.
 */
static int wait_locked(struct cache *cache, const struct cache_file *file,
                       uint64_t chunk_no)
{
    uint64_t nfailures = file->nfailures;
    int64_t begin_ns = clock_monotonic_ns();

    cache->stats.waits++;
    pthread_cond_wait(&cache->filled, &cache->lock);
    return file->nfailures != nfailures && file->failed_chunk_no == chunk_no &&
                   file->failed_middle_ns >= begin_ns
               ? -EIO
               : 0;
}

/* Make an entry and describe it.  The lock is dropped meanwhile. */
static int make_entry_locked(struct cache *cache, struct cache_request *request,
                             struct cache_entry **out)
{
    const struct cache_range *range = request->range;
    struct cache_entry *entry = insert_locked(cache, range);
    int64_t begin_ns = clock_monotonic_ns();
    struct cache_shape shape;
    int r;

    if (!entry)
        return -ENOMEM;

    budget_unlock(cache);
    r = range->file->ops->describe(request->context, range->chunk_no,
                                   request->writing, &shape);
    pthread_mutex_lock(&cache->lock);
    note_result_locked(entry, begin_ns, r);
    if (r == 0) {
        entry_set_shape(entry, &shape,
                        shape.writable ? shape.nbytes : range->len);
        r = admit_locked(cache, request, entry);
        entry->described = true;
    }
    if (r == 0 && entry->invalidated) {
        budget_uncharge_locked(cache, request, entry_size(entry));
        r = -ERESTART;
    }
    pthread_cond_broadcast(&cache->filled);
    if (r < 0) {
        budget_remove_entry_locked(cache, entry);
        return r;
    }
    *out = entry;
    return 0;
}

int fill_get_locked(struct cache *cache, struct cache_request *request,
                    struct cache_entry **out)
{
    const struct cache_range *range = request->range;
    struct cache_entry *entry = fill_find_locked(cache, range);
    int r = 0;

    while (entry && !entry->described) {
        r = wait_locked(cache, range->file, range->chunk_no);
        entry = fill_find_locked(cache, range);
    }
    if (!entry && r < 0)
        return r;
    if (entry && request->writing && !entry->shape.writable) {
        budget_invalidate_locked(cache, entry);
        entry = NULL;
    }
    if (!entry)
        return make_entry_locked(cache, request, out);

    budget_keep_entry_locked(cache, entry);
    *out = entry;
    return 0;
}

static void note_ahead_locked(struct cache *cache, struct buffer_group *group,
                              uint32_t first, uint32_t n)
{
    entry_mark_ahead(group, first, n);
    cache->stats.ahead += n;
}

/* Decode missing blocks of a pinned group.  The lock is dropped meanwhile. */
static int decode_locked(struct cache *cache, struct cache_request *request,
                         struct buffer_group *group, uint32_t first, uint32_t n)
{
    struct cache_entry *entry = group->entry;
    const struct cache_shape *shape = &entry->shape;
    struct cache_run run = { .first = first, .n = n };
    int64_t begin_ns;
    int r;

    if (!budget_charge_locked(cache, request, shape->scratch))
        return -EAGAIN;
    run.dst = group->buffer->bytes +
              (size_t)(first - entry_group_first(group)) * shape->blocksize;
    if (shape->needs_first && first > 0)
        run.first_block = entry->groups[0].buffer->bytes;
    memset(entry->states + first, BLOCK_FILLING, n);
    begin_ns = clock_monotonic_ns();

    budget_unlock(cache);
    r = entry->file->ops->decode(request->context, shape, &run);
    pthread_mutex_lock(&cache->lock);

    if (n == 1)
        note_result_locked(entry, begin_ns, r);
    memset(entry->states + first, r < 0 ? BLOCK_MISSING : BLOCK_READY, n);
    if (r == 0) {
        cache->stats.decoded += n;
        if (request->wait == CACHE_WAIT_NEVER)
            note_ahead_locked(cache, group, first, n);
    }
    budget_uncharge_locked(cache, request, shape->scratch);
    pthread_cond_broadcast(&cache->filled);
    return r;
}

/*
 * Decode the missing blocks of a pinned group.  If a run of blocks fails, try
 * them one at a time, up to the first bad one.
 */
static int fill_missing_locked(struct cache *cache,
                               struct cache_request *request,
                               struct buffer_group *group, uint32_t first,
                               uint32_t end)
{
    uint32_t longest = end - first;

    for (uint32_t block = first; block < end;) {
        uint32_t limit = longest < end - block ? block + longest : end;
        uint32_t n = entry_run(group->entry, block, limit, BLOCK_MISSING);

        if (n == 0) {
            block++;
            continue;
        }

        int r = decode_locked(cache, request, group, block, n);

        if (r < 0 && (n == 1 || request->refused))
            return r;
        if (r < 0)
            longest = 1;
        else
            block += n;
    }
    return 0;
}

/* Make blocks ready that do not depend on block 0. */
static int fill_plain_locked(struct cache *cache, struct cache_request *request,
                             struct buffer_group *group, uint32_t first,
                             uint32_t end)
{
    const struct cache_entry *entry = group->entry;
    int failed = 0;

    for (;;) {
        uint32_t block = first + entry_run(entry, first, end, BLOCK_READY);
        int r;

        if (failed < 0 && block < end && entry->states[block] == BLOCK_MISSING)
            return failed;
        r = fill_missing_locked(cache, request, group, first, end);
        block = first + entry_run(entry, first, end, BLOCK_READY);
        if (block == end || request->wait == CACHE_WAIT_NEVER)
            return r;
        /* Wait for other threads even if a later block failed. */
        if (entry->states[block] != BLOCK_MISSING) {
            failed = wait_locked(cache, entry->file, entry->chunk_no);
        } else if (r < 0) {
            return r;
        }
    }
}

/* Make block 0 ready, and then the blocks that depend on it. */
static int fill_from_first_locked(struct cache *cache,
                                  struct cache_request *request,
                                  struct buffer_group *group, uint32_t first,
                                  uint32_t end)
{
    struct buffer_group *first_group = &group->entry->groups[0];
    int r;

    r = budget_pin_locked(cache, request, first_group);
    if (r < 0)
        return r;
    r = fill_plain_locked(cache, request, first_group, 0, 1);
    if (r == 0 && group->entry->states[0] == BLOCK_READY)
        r = fill_plain_locked(cache, request, group, first, end);
    budget_unpin_locked(cache, first_group);
    return r;
}

int fill_locked(struct cache *cache, struct cache_request *request,
                struct buffer_group *group, uint32_t first, uint32_t end)
{
    if (group->entry->shape.needs_first)
        return fill_from_first_locked(cache, request, group, first, end);
    return fill_plain_locked(cache, request, group, first, end);
}

void fill_set_need(struct cache_request *request,
                   const struct buffer_group *group, size_t more)
{
    const struct cache_entry *entry = group->entry;

    request->work = entry->shape.scratch;
    request->need =
        entry_size(entry) + entry_group_cost(group) + request->work + more;
    if (entry->shape.needs_first && group != entry->groups)
        request->need += entry_group_cost(entry->groups);
}
