/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BUNDLE_CACHE_H
#define BACKING_BUNDLE_CACHE_H

#include <pthread.h>
#include <stddef.h>

#include "base/list.h"
#include "bundle/bundle.h"
#include "store/store_version.h"

enum {
    BUNDLE_CACHE_MAX =
        64 << 20, /* bytes of memory; the newest entry is always kept */
    BUNDLE_CACHE_NENTRIES = 256,
};

/*
 * A cache of bundles, because reading a bundle for each name that is looked up
 * would be slow.  The least recently used entries are evicted first.
 *
 * Locking.  `lock` is a leaf, and guards all fields.
 */
struct bundle_cache {
    pthread_mutex_t lock;
    struct list entries; /* most recently used first */
    size_t nentries;
    size_t footprint; /* bytes of all entries */
};

/* Set up a zeroed struct. bundle_cache_fini() drops the references of the
   cache; a bundle stays until its other users drop theirs. */
void bundle_cache_init(struct bundle_cache *cache);
void bundle_cache_fini(struct bundle_cache *cache);

/*
 * Find the bundle of a file, unless the file has changed since it was read.
 *
 *  version  current version of the file
 *
 * Returns a reference, or NULL.
 */
struct bundle *bundle_cache_find(struct bundle_cache *cache,
                                 struct store_version version);

/*
 * Add a bundle to the cache.  This does nothing if the version is not settled.
 *
 *  version  of the file, from before it was read
 */
void bundle_cache_add(struct bundle_cache *cache, struct store_version version,
                      struct bundle *bundle);

#endif
