/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_SHELF_H
#define BACKING_SHELF_H

#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/list.h"
#include "bundle/bundle.h"

enum {
    SHELF_MAX = 64 << 20, /* bytes of memory; the last one is always kept */
    SHELF_NBOOKS = 256,
};

/*
 * Bundles that were read, so as not to read them for each name that is looked
 * up.  Those that were not used for longest go first.
 *
 * Locking.  `lock` is a leaf, and guards all.
 */
struct shelf {
    pthread_mutex_t lock;
    struct list books; /* the one that was used last comes first */
    size_t nbooks;
    size_t footprint; /* of all */
};

/* Set up a zeroed struct.  shelf_fini() drops the references of the shelf; a
   bundle that somebody else still holds stays. */
void shelf_init(struct shelf *shelf);
void shelf_fini(struct shelf *shelf);

/*
 * Find the bundle of a file as it is now.
 *
 *  st  what was just seen of the file
 *
 * Returns a reference, or NULL.
 */
struct bundle *shelf_find(struct shelf *shelf, const struct stat *st);

/*
 * Keep a bundle that was read, unless the file may still change without that
 * showing.
 *
 *  st  seen of the file before it was read
 */
void shelf_keep(struct shelf *shelf, const struct stat *st,
                struct bundle *bundle);

#endif
