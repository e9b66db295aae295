/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "cache/fill.h"
#include "cache/hold.h"

/* Tag all entries of a list for the commit under way. */
static void make_due_locked(struct cache_file *file, struct list *from)
{
    while (!list_empty(from)) {
        struct cache_entry *entry =
            list_entry(from->next, struct cache_entry, queue_node);

        hold_set_queue_locked(entry, &file->due);
    }
}

size_t cache_make_due(struct cache *cache, struct cache_file *file)
{
    size_t n;

    pthread_mutex_lock(&cache->lock);
    make_due_locked(file, &file->full);
    make_due_locked(file, &file->dirty);
    n = file->ndirty;
    pthread_mutex_unlock(&cache->lock);
    return n;
}

/* Return the list to take a chunk of this kind from. */
static struct list *queue_of(struct cache_file *file, enum cache_kind kind)
{
    if (kind == CACHE_FULL || (kind == CACHE_DIRTY && !list_empty(&file->full)))
        return &file->full;
    if (kind == CACHE_DIRTY && !list_empty(&file->dirty))
        return &file->dirty;
    return &file->due;
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

bool cache_take(struct cache *cache, struct cache_file *file,
                enum cache_kind kind, uint64_t end, struct cache_taken *out)
{
    struct cache_entry *entry;

    pthread_mutex_lock(&cache->lock);
    entry = find_below(queue_of(file, kind), end);
    if (entry) {
        room_use_locked(cache, entry);
        entry->encoding = true;
        hold_set_queue_locked(entry, NULL);
        *out = (struct cache_taken){ .chunk_no = entry->chunk_no,
                                     .nbytes = entry->shape.nbytes,
                                     .chunk = entry->shape.chunk,
                                     .entry = entry };
    }
    pthread_mutex_unlock(&cache->lock);
    return entry != NULL;
}

/* Allocate the pieces of a chunk. */
static int init_gathered(const struct cache_entry *entry,
                         struct cache_gathered *out)
{
    size_t n = entry->nunits;

    *out = (struct cache_gathered){
        .pieces = calloc(n, sizeof(*out->pieces)),
        .piece_len = (size_t)entry->unit_blocks * entry->shape.blocksize,
        .buffers = calloc(n, sizeof(struct cache_buffer *)),
    };
    return out->pieces && out->buffers ? 0 : -ENOMEM;
}

static void fini_gathered(struct cache_gathered *gathered)
{
    free(gathered->pieces);
    free(gathered->buffers);
}

static void thaw_locked(struct cache *cache,
                        const struct cache_gathered *gathered)
{
    for (size_t i = 0; i < gathered->npieces; i++)
        room_thaw_locked(cache, gathered->buffers[i]);
}

/* Decode the blocks of a unit before block `end`, and pin its buffer so that
   its bytes do not change. */
static int gather_unit_locked(struct cache *cache,
                              struct cache_request *request,
                              struct cache_unit *unit, uint32_t end,
                              struct cache_gathered *out)
{
    int r = room_pin_locked(cache, request, unit);

    if (r < 0)
        return r;
    if (end > entry_unit_end(unit))
        end = entry_unit_end(unit);
    r = fill_locked(cache, request, unit, entry_unit_first(unit), end);
    if (r < 0) {
        room_unpin_locked(cache, unit);
        return r;
    }
    room_freeze_locked(unit);
    out->buffers[out->npieces] = unit->buffer;
    out->pieces[out->npieces++] = unit->buffer->bytes;
    return 0;
}

/*
 * Turn dirty into taken.  Bytes behind the first `nbytes` stay dirty, because
 * the commit does not contain them.  A writer beyond the end of the file may
 * have written them.
 */
static void take_dirty_locked(struct cache *cache, struct cache_entry *entry,
                              uint32_t nbytes)
{
    hold_move_locked(cache, entry, HOLD_DIRTY, HOLD_TAKEN);
    entry->nwritten = 0;
    if (entry->dirty_end > nbytes) {
        entry->nwritten = entry->dirty_end - nbytes;
        hold_soil_locked(cache, entry);
    } else {
        entry->dirty_end = 0;
    }
    entry->taken_end = nbytes;
}

/* Gather the units that hold the first `nbytes` bytes.  Memory for them is
   reserved; writers wait meanwhile. */
static int gather_locked(struct cache *cache, struct cache_request *request,
                         struct cache_entry *entry, uint32_t nbytes,
                         struct cache_gathered *out)
{
    uint32_t end = (uint32_t)size_pieces(nbytes, entry->shape.blocksize);
    uint32_t nunits = (uint32_t)size_pieces(end, entry->unit_blocks);
    int r = 0;

    entry->gathering = true;
    while (entry->nwriters > 0)
        pthread_cond_wait(&cache->filled, &cache->lock);
    if (entry->retired)
        r = -ERESTART;
    take_dirty_locked(cache, entry, nbytes);
    for (uint32_t i = 0; i < nunits && r == 0; i++)
        r = gather_unit_locked(cache, request, &entry->units[i], end, out);
    entry->gathering = false;
    pthread_cond_broadcast(&cache->filled);
    return r;
}

/* Hand the memory reserved for encoding over to the caller. */
static void set_aside_locked(struct cache_request *request,
                             const struct cache_entry *entry,
                             struct cache_gathered *out)
{
    size_t encode = entry->shape.encode;

    out->set_aside = encode;
    out->borrowed = request->borrowed < encode ? request->borrowed : encode;
    request->held -= out->set_aside;
    request->borrowed -= out->borrowed;
}

int cache_gather(struct cache *cache, const struct cache_taken *taken,
                 uint32_t nbytes, void *context, struct cache_gathered *out)
{
    struct cache_entry *entry = taken->entry;
    struct cache_request request = { .context = context,
                                     .encoded = entry,
                                     .urgent = true,
                                     .work = entry_encode_work(entry) };
    int r = init_gathered(entry, out);

    pthread_mutex_lock(&cache->lock);
    if (r == 0)
        r = room_reserve_locked(cache, &request);
    if (r == 0)
        r = gather_locked(cache, &request, entry, nbytes, out);
    if (r == 0)
        set_aside_locked(&request, entry, out);
    else
        thaw_locked(cache, out);
    hold_unuse_locked(cache, entry);
    room_release_locked(cache, &request);
    room_unlock(cache);
    if (r < 0)
        fini_gathered(out);
    return r;
}

void cache_ungather(struct cache *cache, const struct cache_taken *taken,
                    struct cache_gathered *gathered)
{
    struct cache_request set_aside = { .held = gathered->set_aside,
                                       .borrowed = gathered->borrowed };

    pthread_mutex_lock(&cache->lock);
    thaw_locked(cache, gathered);
    room_release_locked(cache, &set_aside);
    taken->entry->encoding = false;
    hold_queue_locked(taken->entry);
    room_unlock(cache);
    fini_gathered(gathered);
}

void cache_untake(struct cache *cache, const struct cache_taken *taken)
{
    struct cache_entry *entry = taken->entry;

    pthread_mutex_lock(&cache->lock);
    entry->encoding = false;
    hold_move_locked(cache, entry, HOLD_TAKEN, HOLD_DIRTY);
    if (entry->dirty_end < entry->taken_end)
        entry->dirty_end = entry->taken_end;
    entry->nwritten = entry->nunsaved;
    if (entry->nwritten == entry->shape.nbytes)
        entry->nwritten--;
    hold_queue_locked(entry);
    room_put_locked(cache, entry);
    room_unlock(cache);
}

void cache_put_taken(struct cache *cache, const struct cache_taken *taken)
{
    pthread_mutex_lock(&cache->lock);
    room_put_locked(cache, taken->entry);
    room_unlock(cache);
}

void cache_stage(struct cache *cache, const struct cache_taken *taken)
{
    struct cache_entry *entry = taken->entry;

    pthread_mutex_lock(&cache->lock);
    hold_move_locked(cache, entry, HOLD_TAKEN, HOLD_STAGED);
    if ((entry->held & HOLD_STAGED) && list_empty(&entry->staged_node))
        list_append(&entry->file->staged, &entry->staged_node);
    room_put_locked(cache, entry);
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
    hold_move_locked(cache, entry, HOLD_STAGED, 0);
    if (!(entry->held & HOLD_TAKEN))
        hold_set_unsaved_locked(entry, entry->nwritten);
    room_settle_locked(cache, entry);
}

void cache_settle(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    while (!list_empty(&file->staged))
        settle_locked(cache, list_entry(file->staged.next, struct cache_entry,
                                        staged_node));
    room_unlock(cache);
}

void cache_soil_staged(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    list_for_each(node, &file->staged)
        hold_soil_locked(cache,
                         list_entry(node, struct cache_entry, staged_node));
    pthread_mutex_unlock(&cache->lock);
}

/* Forget that bytes from `end` on were written, because the file ends there. */
static void cut_locked(struct cache_entry *entry, uint32_t end)
{
    if (entry->dirty_end > end)
        entry->dirty_end = end;
    if (entry->taken_end > end)
        entry->taken_end = end;
}

bool cache_soil(struct cache *cache, struct cache_file *file, uint64_t chunk_no,
                uint32_t end)
{
    const struct cache_range range = { .file = file, .chunk_no = chunk_no };
    struct cache_entry *entry;
    bool found;

    pthread_mutex_lock(&cache->lock);
    entry = fill_find_locked(cache, &range);
    found = entry && entry->described && entry->shape.writable &&
            hold_check_locked(cache, entry, NULL) == 0;
    if (found) {
        room_use_locked(cache, entry);
        hold_soil_locked(cache, entry);
        cut_locked(entry, end);
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
    dirty = entry && entry->held;
    pthread_mutex_unlock(&cache->lock);
    return dirty;
}

bool cache_find_held(struct cache *cache, const struct cache_file *file,
                     uint64_t *first, uint64_t *end)
{
    bool found;

    *first = UINT64_MAX;
    *end = 0;
    pthread_mutex_lock(&cache->lock);
    found = !list_empty(&file->held);
    list_for_each(node, &file->held) {
        uint64_t chunk_no =
            list_entry(node, struct cache_entry, held_node)->chunk_no;

        if (chunk_no < *first)
            *first = chunk_no;
        if (chunk_no >= *end)
            *end = chunk_no + 1;
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

bool cache_is_held(struct cache *cache, const struct cache_file *file)
{
    bool held;

    pthread_mutex_lock(&cache->lock);
    held = !list_empty(&file->held);
    pthread_mutex_unlock(&cache->lock);
    return held;
}

uint64_t cache_count_unsaved(struct cache *cache, const struct cache_file *file)
{
    uint64_t n;

    pthread_mutex_lock(&cache->lock);
    n = file->nunsaved;
    pthread_mutex_unlock(&cache->lock);
    return n;
}
