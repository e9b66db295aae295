/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/bundle_cache.h"

#include <stdlib.h>

struct cached_bundle {
    struct list link;
    struct store_version version; /* of the file, before it was read; settled */
    struct bundle *bundle;        /* a reference */
};

void bundle_cache_init(struct bundle_cache *cache)
{
    pthread_mutex_init(&cache->lock, NULL);
    list_init(&cache->entries);
}

static void drop_locked(struct bundle_cache *cache, struct cached_bundle *entry)
{
    list_remove(&entry->link);
    cache->nentries--;
    cache->footprint -= bundle_footprint(entry->bundle);
    bundle_put(entry->bundle);
    free(entry);
}

void bundle_cache_fini(struct bundle_cache *cache)
{
    list_for_each_safe(link, &cache->entries)
        drop_locked(cache, list_entry(link, struct cached_bundle, link));
    pthread_mutex_destroy(&cache->lock);
}

static struct cached_bundle *find_locked(struct bundle_cache *cache,
                                         struct store_version version)
{
    list_for_each_safe(link, &cache->entries) {
        struct cached_bundle *entry =
            list_entry(link, struct cached_bundle, link);

        if (store_version_compare(entry->version, version) >=
            VERSION_SAME_OBJECT)
            return entry;
    }
    return NULL;
}

struct bundle *bundle_cache_find(struct bundle_cache *cache,
                                 struct store_version version)
{
    struct bundle *bundle = NULL;
    struct cached_bundle *entry;

    pthread_mutex_lock(&cache->lock);
    entry = find_locked(cache, version);
    if (entry &&
        store_version_compare(entry->version, version) == VERSION_SAME) {
        list_remove(&entry->link);
        list_append(cache->entries.next, &entry->link);
        bundle = bundle_get(entry->bundle);
    }
    pthread_mutex_unlock(&cache->lock);
    return bundle;
}

/* Add an entry, and evict old ones if there are too many. */
static void put_locked(struct bundle_cache *cache, struct cached_bundle *entry)
{
    struct cached_bundle *old = find_locked(cache, entry->version);

    if (old)
        drop_locked(cache, old);
    list_append(cache->entries.next, &entry->link);
    cache->nentries++;
    cache->footprint += bundle_footprint(entry->bundle);
    while ((cache->footprint > BUNDLE_CACHE_MAX ||
            cache->nentries > BUNDLE_CACHE_NENTRIES) &&
           cache->entries.prev != &entry->link)
        drop_locked(
            cache, list_entry(cache->entries.prev, struct cached_bundle, link));
}

void bundle_cache_add(struct bundle_cache *cache, struct store_version version,
                      struct bundle *bundle)
{
    struct cached_bundle *entry =
        version.settled ? malloc(sizeof(*entry)) : NULL;

    if (!entry)
        return;
    *entry = (struct cached_bundle){
        .version = version,
        .bundle = bundle_get(bundle),
    };
    pthread_mutex_lock(&cache->lock);
    put_locked(cache, entry);
    pthread_mutex_unlock(&cache->lock);
}
