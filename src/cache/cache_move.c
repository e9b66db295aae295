/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "cache/budget.h"
#include "cache/fill.h"

static bool is_clean(const struct cache_entry *entry)
{
    return entry->described && !entry->invalidated && !entry->uncommitted;
}

size_t cache_list_clean(struct cache *cache, struct cache_file *file,
                        uint64_t *chunk_nos, size_t max)
{
    size_t n = 0;

    pthread_mutex_lock(&cache->lock);
    list_for_each(node, &file->entries) {
        const struct cache_entry *entry =
            list_entry(node, struct cache_entry, node);

        if (n < max && is_clean(entry))
            chunk_nos[n++] = entry->chunk_no;
    }
    pthread_mutex_unlock(&cache->lock);
    return n;
}

/* Put an entry into the bucket and the list of another file. */
static void link_locked(struct cache *cache, struct cache_entry *entry,
                        struct cache_file *file)
{
    struct cache_entry **bucket = budget_bucket(cache, file, entry->chunk_no);

    entry->file->nentries--;
    list_remove(&entry->node);
    entry->file = file;
    entry->next = *bucket;
    *bucket = entry;
    list_append(&file->entries, &entry->node);
    file->nentries++;
}

void cache_move(struct cache *cache, struct cache_file *from,
                struct cache_file *to, uint64_t chunk_no,
                void (*moved)(void *chunk))
{
    const struct cache_range old = { .file = from, .chunk_no = chunk_no };
    const struct cache_range new = { .file = to, .chunk_no = chunk_no };
    struct cache_entry *entry;

    pthread_mutex_lock(&cache->lock);
    entry = fill_find_locked(cache, &old);
    if (entry && entry->nusers == 0 && is_clean(entry) &&
        !fill_find_locked(cache, &new)) {
        budget_unlink_locked(cache, entry);
        link_locked(cache, entry, to);
        moved(entry->shape.chunk);
    }
    pthread_mutex_unlock(&cache->lock);
}
