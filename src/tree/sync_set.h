/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TREE_SYNC_SET_H
#define TREE_SYNC_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* File systems below SOURCE that were written to, other than its own.  The
   caller does the locking. */
struct sync_set {
    dev_t *devs;
    size_t ndevs;
};

/* Is a file system in the set? */
bool sync_set_has(const struct sync_set *set, dev_t dev);

/* Add a file system that is not in the set.  If memory is short, it stays
   out. */
void sync_set_add(struct sync_set *set, dev_t dev);

/* Free the list of file systems.  Accepts a zeroed set. */
void sync_set_fini(struct sync_set *set);

#endif
