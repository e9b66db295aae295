/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "cache/fill.h"
#include "cache/uncommitted.h"

/* Tag all entries of a list for the commit under way. */
static void tag_locked(struct cache_file *file, struct list *from)
{
    while (!list_empty(from)) {
        struct cache_entry *entry =
            list_entry(from->next, struct cache_entry, queue_node);

        uncommitted_set_queue_locked(entry, &file->tagged);
    }
}

size_t cache_tag_writeback(struct cache *cache, struct cache_file *file)
{
    size_t n;

    pthread_mutex_lock(&cache->lock);
    tag_locked(file, &file->full);
    tag_locked(file, &file->dirty);
    n = file->ndirty;
    pthread_mutex_unlock(&cache->lock);
    return n;
}

/* Return the list of the dirty chunks of this kind. */
static struct list *queue_of(struct cache_file *file, enum cache_kind kind)
{
    if (kind == CACHE_FULL || (kind == CACHE_DIRTY && !list_empty(&file->full)))
        return &file->full;
    if (kind == CACHE_DIRTY && !list_empty(&file->dirty))
        return &file->dirty;
    return &file->tagged;
}

static struct cache_entry *find_below(const struct list *queue, uint64_t end)
{
    list_for_each(node, queue) {
        struct cache_entry *entry =
            list_entry(node, struct cache_entry, queue_node);

        if (entry->chunk_no < end)
            return entry;
    }
    return NULL;
}

bool cache_begin_writeback(struct cache *cache, struct cache_file *file,
                           enum cache_kind kind, uint64_t end,
                           struct cache_writeback *out)
{
    struct cache_entry *entry;

    pthread_mutex_lock(&cache->lock);
    entry = find_below(queue_of(file, kind), end);
    if (entry) {
        budget_keep_entry_locked(cache, entry);
        entry->encoding = true;
        uncommitted_set_queue_locked(entry, NULL);
        *out = (struct cache_writeback){ .chunk_no = entry->chunk_no,
                                         .nbytes = entry->shape.nbytes,
                                         .chunk = entry->shape.chunk,
                                         .entry = entry };
    }
    pthread_mutex_unlock(&cache->lock);
    return entry != NULL;
}

/* Allocate the pieces of a chunk. */
static int init_pinned(const struct cache_entry *entry,
                       struct cache_pinned_chunk *out)
{
    size_t n = entry->ngroups;

    *out = (struct cache_pinned_chunk){
        .pieces = calloc(n, sizeof(*out->pieces)),
        .piece_len = (size_t)entry->group_blocks * entry->shape.blocksize,
        .buffers = calloc(n, sizeof(struct cache_buffer *)),
    };
    return out->pieces && out->buffers ? 0 : -ENOMEM;
}

static void fini_pinned(struct cache_pinned_chunk *pinned)
{
    free(pinned->pieces);
    free(pinned->buffers);
}

static void unpin_chunk_locked(struct cache *cache,
                               const struct cache_pinned_chunk *pinned)
{
    for (size_t i = 0; i < pinned->npieces; i++)
        budget_unpin_readonly_locked(cache, pinned->buffers[i]);
}

/* Decode the blocks of a group before block `end`, and pin its buffer so that
   its bytes do not change. */
static int pin_content_locked(struct cache *cache,
                              struct cache_request *request,
                              struct buffer_group *group, uint32_t end,
                              struct cache_pinned_chunk *out)
{
    int r = budget_pin_locked(cache, request, group);

    if (r < 0)
        return r;
    if (end > entry_group_end(group))
        end = entry_group_end(group);
    r = fill_locked(cache, request, group, entry_group_first(group), end);
    if (r < 0) {
        budget_unpin_locked(cache, group);
        return r;
    }
    budget_pin_readonly_locked(group);
    out->buffers[out->npieces] = group->buffer;
    out->pieces[out->npieces++] = group->buffer->bytes;
    return 0;
}

/*
 * Turn dirty into writeback.  Bytes behind the first `nbytes` stay dirty,
 * because the commit does not contain them.  A writer beyond the end of the
 * file may have written them.
 */
static void begin_writeback_locked(struct cache *cache,
                                   struct cache_entry *entry, uint32_t nbytes)
{
    uncommitted_move_locked(cache, entry, UNCOMMITTED_DIRTY,
                            UNCOMMITTED_WRITEBACK);
    entry->nwritten = 0;
    if (entry->dirty_end > nbytes) {
        entry->nwritten = entry->dirty_end - nbytes;
        uncommitted_redirty_locked(cache, entry);
    } else {
        entry->dirty_end = 0;
    }
    entry->writeback_end = nbytes;
}

/* Pin the groups that hold the first `nbytes` bytes.  Memory for them is
   reserved; writers wait meanwhile. */
static int pin_chunk_locked(struct cache *cache, struct cache_request *request,
                            struct cache_entry *entry, uint32_t nbytes,
                            struct cache_pinned_chunk *out)
{
    uint32_t end = (uint32_t)size_pieces(nbytes, entry->shape.blocksize);
    uint32_t ngroups = (uint32_t)size_pieces(end, entry->group_blocks);
    int r = 0;

    entry->pinning = true;
    while (entry->nwriters > 0)
        pthread_cond_wait(&cache->filled, &cache->lock);
    if (entry->invalidated)
        r = -ERESTART;
    begin_writeback_locked(cache, entry, nbytes);
    for (uint32_t i = 0; i < ngroups && r == 0; i++)
        r = pin_content_locked(cache, request, &entry->groups[i], end, out);
    entry->pinning = false;
    pthread_cond_broadcast(&cache->filled);
    return r;
}

/* Hand the memory reserved for encoding over to the caller. */
static void hand_over_locked(struct cache_request *request,
                             const struct cache_entry *entry,
                             struct cache_pinned_chunk *out)
{
    size_t encode = entry->shape.encode;

    out->reserved = encode;
    out->borrowed = request->borrowed < encode ? request->borrowed : encode;
    request->reserved -= out->reserved;
    request->borrowed -= out->borrowed;
}

int cache_pin_chunk(struct cache *cache,
                    const struct cache_writeback *writeback, uint32_t nbytes,
                    void *context, struct cache_pinned_chunk *out)
{
    struct cache_entry *entry = writeback->entry;
    struct cache_request request = { .context = context,
                                     .encoded = entry,
                                     .urgent = true,
                                     .work = entry_encode_work(entry) };
    int r = init_pinned(entry, out);

    pthread_mutex_lock(&cache->lock);
    if (r == 0)
        r = budget_reserve_locked(cache, &request);
    if (r == 0)
        r = pin_chunk_locked(cache, &request, entry, nbytes, out);
    if (r == 0)
        hand_over_locked(&request, entry, out);
    else
        unpin_chunk_locked(cache, out);
    uncommitted_release_locked(cache, entry);
    budget_release_locked(cache, &request);
    budget_unlock(cache);
    if (r < 0)
        fini_pinned(out);
    return r;
}

void cache_unpin_chunk(struct cache *cache,
                       const struct cache_writeback *writeback,
                       struct cache_pinned_chunk *pinned)
{
    struct cache_request reserved = { .reserved = pinned->reserved,
                                      .borrowed = pinned->borrowed };

    pthread_mutex_lock(&cache->lock);
    unpin_chunk_locked(cache, pinned);
    budget_release_locked(cache, &reserved);
    writeback->entry->encoding = false;
    uncommitted_queue_locked(writeback->entry);
    budget_unlock(cache);
    fini_pinned(pinned);
}

void cache_redirty(struct cache *cache, const struct cache_writeback *writeback)
{
    struct cache_entry *entry = writeback->entry;

    pthread_mutex_lock(&cache->lock);
    entry->encoding = false;
    uncommitted_move_locked(cache, entry, UNCOMMITTED_WRITEBACK,
                            UNCOMMITTED_DIRTY);
    if (entry->dirty_end < entry->writeback_end)
        entry->dirty_end = entry->writeback_end;
    entry->nwritten = entry->nunsaved;
    if (entry->nwritten == entry->shape.nbytes)
        entry->nwritten--;
    uncommitted_queue_locked(entry);
    budget_release_entry_locked(cache, entry);
    budget_unlock(cache);
}

void cache_end_writeback(struct cache *cache,
                         const struct cache_writeback *writeback)
{
    pthread_mutex_lock(&cache->lock);
    budget_release_entry_locked(cache, writeback->entry);
    budget_unlock(cache);
}

void cache_stage(struct cache *cache, const struct cache_writeback *writeback)
{
    struct cache_entry *entry = writeback->entry;

    pthread_mutex_lock(&cache->lock);
    uncommitted_move_locked(cache, entry, UNCOMMITTED_WRITEBACK,
                            UNCOMMITTED_STAGED);
    if ((entry->uncommitted & UNCOMMITTED_STAGED) &&
        list_empty(&entry->staged_node))
        list_append(&entry->file->staged, &entry->staged_node);
    budget_release_entry_locked(cache, entry);
    budget_unlock(cache);
}

void cache_mark_stale(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    list_for_each(node, &file->staged) {
        struct cache_entry *entry =
            list_entry(node, struct cache_entry, staged_node);

        file->ops->mark_stale(entry->shape.chunk);
    }
    pthread_mutex_unlock(&cache->lock);
}

static void mark_clean_locked(struct cache *cache, struct cache_entry *entry)
{
    list_remove(&entry->staged_node);
    uncommitted_move_locked(cache, entry, UNCOMMITTED_STAGED, 0);
    if (!(entry->uncommitted & UNCOMMITTED_WRITEBACK))
        uncommitted_set_unsaved_locked(entry, entry->nwritten);
    budget_idle_locked(cache, entry);
}

void cache_mark_clean(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    while (!list_empty(&file->staged))
        mark_clean_locked(cache, list_entry(file->staged.next,
                                            struct cache_entry, staged_node));
    budget_unlock(cache);
}

void cache_redirty_staged(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    list_for_each(node, &file->staged)
        uncommitted_redirty_locked(
            cache, list_entry(node, struct cache_entry, staged_node));
    pthread_mutex_unlock(&cache->lock);
}

/* Forget that bytes from `end` on were written, because the file ends there. */
static void cut_locked(struct cache_entry *entry, uint32_t end)
{
    if (entry->dirty_end > end)
        entry->dirty_end = end;
    if (entry->writeback_end > end)
        entry->writeback_end = end;
}

bool cache_mark_dirty(struct cache *cache, struct cache_file *file,
                      uint64_t chunk_no, uint32_t end)
{
    const struct cache_range range = { .file = file, .chunk_no = chunk_no };
    struct cache_entry *entry;
    bool found;

    pthread_mutex_lock(&cache->lock);
    entry = fill_find_locked(cache, &range);
    found = entry && entry->described && entry->shape.writable &&
            uncommitted_check_locked(cache, entry, NULL) == 0;
    if (found) {
        budget_keep_entry_locked(cache, entry);
        uncommitted_redirty_locked(cache, entry);
        cut_locked(entry, end);
        budget_release_entry_locked(cache, entry);
    }
    budget_unlock(cache);
    return found;
}

bool cache_is_uncommitted(struct cache *cache, struct cache_file *file,
                          uint64_t chunk_no)
{
    const struct cache_range range = { .file = file, .chunk_no = chunk_no };
    const struct cache_entry *entry;
    bool dirty;

    pthread_mutex_lock(&cache->lock);
    entry = fill_find_locked(cache, &range);
    dirty = entry && entry->uncommitted;
    pthread_mutex_unlock(&cache->lock);
    return dirty;
}

bool cache_find_uncommitted(struct cache *cache, const struct cache_file *file,
                            uint64_t *first, uint64_t *end)
{
    bool found;

    *first = UINT64_MAX;
    *end = 0;
    pthread_mutex_lock(&cache->lock);
    found = !list_empty(&file->uncommitted);
    list_for_each(node, &file->uncommitted) {
        uint64_t chunk_no =
            list_entry(node, struct cache_entry, uncommitted_node)->chunk_no;

        if (chunk_no < *first)
            *first = chunk_no;
        if (chunk_no >= *end)
            *end = chunk_no + 1;
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

bool cache_has_uncommitted(struct cache *cache, const struct cache_file *file)
{
    bool uncommitted;

    pthread_mutex_lock(&cache->lock);
    uncommitted = !list_empty(&file->uncommitted);
    pthread_mutex_unlock(&cache->lock);
    return uncommitted;
}

uint64_t cache_count_unsaved(struct cache *cache, const struct cache_file *file)
{
    uint64_t n;

    pthread_mutex_lock(&cache->lock);
    n = file->nunsaved;
    pthread_mutex_unlock(&cache->lock);
    return n;
}
