/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_SHELF_H
#define BACKING_SHELF_H

#include <pthread.h>
#include <stddef.h>

#include "base/list.h"
#include "bundle/bundle.h"
#include "store/store_version.h"

enum {
    SHELF_MAX = 64 << 20, /* bytes of memory; the newest entry is always kept */
    SHELF_NBOOKS = 256,
};

/*
 * A cache of bundles, because reading a bundle for each name that is looked up
 * would be slow.  The least recently used entries are evicted first.
 *
 * Locking.  `lock` is a leaf, and guards all fields.
 */
struct shelf {
    pthread_mutex_t lock;
    struct list books; /* most recently used first */
    size_t nbooks;
    size_t footprint; /* bytes of all entries */
};

/* Set up a zeroed struct. shelf_fini() drops the references of the cache; a
   bundle stays until its other users drop theirs. */
void shelf_init(struct shelf *shelf);
void shelf_fini(struct shelf *shelf);

/*
 * Find the bundle of a file, unless the file has changed since it was read.
 *
 *  version  current version of the file
 *
 * Returns a reference, or NULL.
 */
struct bundle *shelf_find(struct shelf *shelf, struct store_version version);

/*
 * Add a bundle to the cache.  This does nothing if the version is not settled.
 *
 *  version  of the file, from before it was read
 */
void shelf_keep(struct shelf *shelf, struct store_version version,
                struct bundle *bundle);

#endif
