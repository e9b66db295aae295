/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache/cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "cache/room.h"

enum {
    BYTES_PER_BUCKET = 1024, /* of capacity */
    DROP_BATCH = 64,         /* entries dropped while the lock is held */
};

int cache_new(size_t capacity, struct cache **out)
{
    struct cache *cache = calloc(1, sizeof(*cache));
    size_t nbuckets = 16;

    if (!cache)
        return -ENOMEM;

    while (nbuckets < capacity / BYTES_PER_BUCKET)
        nbuckets *= 2;
    cache->buckets = calloc(nbuckets, sizeof(*cache->buckets));
    if (!cache->buckets) {
        free(cache);
        return -ENOMEM;
    }
    cache->capacity = capacity;
    cache->bucket_mask = nbuckets - 1;
    cache->table_size = nbuckets * sizeof(*cache->buckets);
    cache->used = cache->table_size;
    list_init(&cache->idle);
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->filled, NULL);
    pthread_cond_init(&cache->released, NULL);

    *out = cache;
    return 0;
}

void cache_free(struct cache *cache)
{
    if (!cache)
        return;

    assert(cache->used == cache->table_size);
    buffer_stack_fini(&cache->spares);
    pthread_cond_destroy(&cache->released);
    pthread_cond_destroy(&cache->filled);
    pthread_mutex_destroy(&cache->lock);
    free(cache->buckets);
    free(cache);
}

void cache_file_init(struct cache_file *file, const struct cache_ops *ops)
{
    file->ops = ops;
    list_init(&file->entries);
    file->nentries = 0;
}

void cache_file_drop(struct cache *cache, struct cache_file *file)
{
    pthread_mutex_lock(&cache->lock);
    for (size_t n = 1; !list_empty(&file->entries); n++) {
        room_evict_locked(
            cache, list_entry(file->entries.next, struct cache_entry, node));
        if (n % DROP_BATCH == 0) {
            room_unlock(cache);
            pthread_mutex_lock(&cache->lock);
        }
    }
    room_unlock(cache);

    /* Another thread may be freeing some that it evicted. */
    pthread_mutex_lock(&cache->lock);
    while (file->nentries > 0)
        pthread_cond_wait(&cache->released, &cache->lock);
    pthread_mutex_unlock(&cache->lock);
}

static struct cache_entry *find_locked(struct cache *cache,
                                       const struct cache_range *range)
{
    struct cache_entry *entry =
        *room_bucket(cache, range->file, range->chunk_no);

    while (entry &&
           (entry->file != range->file || entry->chunk_no != range->chunk_no))
        entry = entry->next;
    return entry;
}

/* Make an entry that is not yet described; others who want it wait. */
static struct cache_entry *insert_locked(struct cache *cache,
                                         const struct cache_range *range)
{
    struct cache_entry **bucket =
        room_bucket(cache, range->file, range->chunk_no);
    struct cache_entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return NULL;

    entry->file = range->file;
    entry->chunk_no = range->chunk_no;
    entry->nusers = 1;
    entry->next = *bucket;
    *bucket = entry;
    list_append(&range->file->entries, &entry->node);
    range->file->nentries++;
    return entry;
}

/* Count what a described entry takes up, then allocate it. */
static int admit_locked(struct cache *cache, struct cache_request *request,
                        struct cache_entry *entry)
{
    size_t size = entry_size(entry);
    int r;

    request->need = size;
    if (!room_charge_locked(cache, request, size))
        return -EAGAIN;

    room_unlock(cache);
    r = entry_alloc_units(entry);
    pthread_mutex_lock(&cache->lock);
    if (r < 0)
        room_uncharge_locked(cache, request, size);
    return r;
}

/* Describe a new entry, with the lock dropped meanwhile. */
static int make_entry_locked(struct cache *cache, struct cache_request *request,
                             struct cache_entry **out)
{
    const struct cache_range *range = request->range;
    struct cache_entry *entry = insert_locked(cache, range);
    struct cache_shape shape;
    int r;

    if (!entry)
        return -ENOMEM;

    room_unlock(cache);
    r = range->file->ops->describe(request->context, range->chunk_no, &shape);
    pthread_mutex_lock(&cache->lock);
    if (r == 0) {
        entry_set_shape(entry, &shape);
        r = admit_locked(cache, request, entry);
        entry->described = true;
    }
    pthread_cond_broadcast(&cache->filled);
    if (r < 0) {
        room_remove_locked(cache, entry);
        return r;
    }
    *out = entry;
    return 0;
}

/* Find or make an entry, and keep it. */
static int get_entry_locked(struct cache *cache, struct cache_request *request,
                            struct cache_entry **out)
{
    struct cache_entry *entry = find_locked(cache, request->range);

    while (entry && !entry->described) {
        cache->stats.waits++;
        pthread_cond_wait(&cache->filled, &cache->lock);
        entry = find_locked(cache, request->range);
    }
    if (!entry)
        return make_entry_locked(cache, request, out);

    room_use_locked(entry);
    *out = entry;
    return 0;
}

/* How many blocks from `first` on are in one state. */
static uint32_t run_of(const struct cache_entry *entry, uint32_t first,
                       uint32_t end, enum block_state state)
{
    uint32_t block = first;

    while (block < end && entry->states[block] == state)
        block++;
    return block - first;
}

/* Decode missing blocks of a pinned unit, with the lock dropped meanwhile. */
static int decode_locked(struct cache *cache, struct cache_request *request,
                         struct cache_unit *unit, uint32_t first, uint32_t n)
{
    struct cache_entry *entry = unit->entry;
    const struct cache_shape *shape = &entry->shape;
    size_t off = (size_t)(first - entry_unit_first(unit)) * shape->blocksize;
    const uint8_t *first_block = NULL;
    int r;

    if (!room_charge_locked(cache, request, shape->scratch))
        return -EAGAIN;
    if (shape->needs_first && first > 0)
        first_block = entry->units[0].buf;
    memset(entry->states + first, BLOCK_FILLING, n);

    room_unlock(cache);
    r = entry->file->ops->decode(request->context, shape, first, n, first_block,
                                 unit->buf + off);
    pthread_mutex_lock(&cache->lock);

    memset(entry->states + first, r < 0 ? BLOCK_MISSING : BLOCK_READY, n);
    cache->stats.decoded += r < 0 ? 0 : n;
    room_uncharge_locked(cache, request, shape->scratch);
    pthread_cond_broadcast(&cache->filled);
    return r;
}

/*
 * Decode the missing blocks of a pinned unit.  If a run of them fails, they
 * are tried one at a time, up to the first bad one.
 */
static int fill_missing_locked(struct cache *cache,
                               struct cache_request *request,
                               struct cache_unit *unit, uint32_t first,
                               uint32_t end)
{
    uint32_t longest = end - first;

    for (uint32_t block = first; block < end;) {
        uint32_t limit = longest < end - block ? block + longest : end;
        uint32_t n = run_of(unit->entry, block, limit, BLOCK_MISSING);

        if (n == 0) {
            block++;
            continue;
        }

        int r = decode_locked(cache, request, unit, block, n);

        if (r < 0 && (n == 1 || request->refused))
            return r;
        if (r < 0)
            longest = 1;
        else
            block += n;
    }
    return 0;
}

/* Make blocks of a pinned unit ready, by this thread or by others. */
static int fill_locked(struct cache *cache, struct cache_request *request,
                       struct cache_unit *unit, uint32_t first, uint32_t end)
{
    const struct cache_entry *entry = unit->entry;

    for (;;) {
        int r = fill_missing_locked(cache, request, unit, first, end);
        uint32_t block = first + run_of(entry, first, end, BLOCK_READY);

        if (block == end || request->wait == CACHE_WAIT_NEVER)
            return r;
        /* What others decode before a block that failed is wanted too. */
        if (entry->states[block] == BLOCK_FILLING) {
            cache->stats.waits++;
            pthread_cond_wait(&cache->filled, &cache->lock);
        } else if (r < 0) {
            return r;
        }
    }
}

/* Make block 0, which others need, and then those others ready. */
static int fill_from_first_locked(struct cache *cache,
                                  struct cache_request *request,
                                  struct cache_unit *unit, uint32_t first,
                                  uint32_t end)
{
    struct cache_unit *first_unit = &unit->entry->units[0];
    int r;

    r = room_pin_locked(cache, request, first_unit);
    if (r < 0)
        return r;
    r = fill_locked(cache, request, first_unit, 0, 1);
    if (r == 0 && unit->entry->states[0] == BLOCK_READY)
        r = fill_locked(cache, request, unit, first, end);
    room_unpin_locked(cache, first_unit);
    return r;
}

/* The most that a request may take up, its entry included. */
static size_t need_of(const struct cache_unit *unit)
{
    const struct cache_entry *entry = unit->entry;
    size_t need =
        entry_size(entry) + entry_unit_size(unit) + entry->shape.scratch;

    if (entry->shape.needs_first && unit != entry->units)
        need += entry_unit_size(entry->units);
    return need;
}

/* Pin the unit that a range starts in, with its blocks in [first, end) ready;
   `end` may come down to the first one that can't be had. */
static int pin_unit_locked(struct cache *cache, struct cache_request *request,
                           struct cache_unit *unit, uint32_t first,
                           uint32_t *end)
{
    const struct cache_entry *entry = unit->entry;
    uint32_t ready;
    int r;

    request->need = need_of(unit);
    r = room_pin_locked(cache, request, unit);
    if (r < 0)
        return r;

    ready = first + run_of(entry, first, *end, BLOCK_READY);
    if (ready == *end) {
        cache->stats.hits++;
        return 0;
    }
    cache->stats.misses++;
    if (entry->shape.needs_first)
        r = fill_from_first_locked(cache, request, unit, first, *end);
    else
        r = fill_locked(cache, request, unit, first, *end);
    ready = first + run_of(entry, first, *end, BLOCK_READY);
    if (r < 0 && ready == first) {
        room_unpin_locked(cache, unit);
        return r;
    }
    if (r < 0)
        *end = ready;
    return 0;
}

/* Pin the first unit's part of a range whose entry is kept. */
static int pin_range_locked(struct cache *cache, struct cache_request *request,
                            struct cache_entry *entry, struct cache_pin *out)
{
    const struct cache_shape *shape = &entry->shape;
    uint64_t off = request->range->off;
    uint64_t stop = off + request->range->len;
    struct cache_unit *unit = NULL;
    const uint8_t *data = NULL;

    if (off >= shape->nbytes)
        return -ERANGE;
    if (stop > shape->nbytes)
        stop = shape->nbytes;

    if (shape->nblocks > 0) {
        uint32_t first = (uint32_t)off / shape->blocksize;
        uint32_t end = (uint32_t)size_pieces(stop, shape->blocksize);
        int r;

        unit = entry_unit(entry, first);
        if (end > entry_unit_end(unit))
            end = entry_unit_end(unit);
        r = pin_unit_locked(cache, request, unit, first, &end);
        if (r < 0)
            return r;
        if (stop > (uint64_t)end * shape->blocksize)
            stop = (uint64_t)end * shape->blocksize;
        data = unit->buf +
               (off - (uint64_t)entry_unit_first(unit) * shape->blocksize);
    }

    *out = (struct cache_pin){ .chunk = shape->chunk,
                               .data = data,
                               .len = (uint32_t)(stop - off),
                               .entry = entry,
                               .unit = unit };
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
        r = get_entry_locked(cache, &request, &entry);
        if (r == 0) {
            r = pin_range_locked(cache, &request, entry, out);
            if (r < 0)
                room_put_locked(cache, entry);
        }
    } while (r < 0 && request.refused && wait == CACHE_WAIT_ROOM &&
             (r = room_reserve_locked(cache, &request)) == 0);
    room_release_locked(cache, &request);
    room_unlock(cache);
    return r;
}

void cache_unpin(struct cache *cache, const struct cache_pin *pins,
                 size_t npins)
{
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < npins; i++) {
        if (pins[i].unit)
            room_unpin_locked(cache, pins[i].unit);
        room_put_locked(cache, pins[i].entry);
    }
    room_unlock(cache);
}

void cache_get_stats(struct cache *cache, struct cache_stats *out)
{
    pthread_mutex_lock(&cache->lock);
    *out = cache->stats;
    out->used = cache->used + cache->reserved;
    out->spare = cache->spares.nbytes;
    pthread_mutex_unlock(&cache->lock);
}
