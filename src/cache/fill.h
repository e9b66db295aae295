/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_FILL_H
#define CACHE_FILL_H

#include "cache/room.h"

/*
 * How entries come about, and their blocks into memory.  Each function is
 * called with the lock held, and may drop it meanwhile.
 */

/* The entry of a chunk, if there is one; it may not be described yet. */
struct cache_entry *fill_find_locked(struct cache *cache,
                                     const struct cache_range *range);

/* Do something with each entry of chunks `first` to `end` - 1 of a file, which
   may free it, but no other. */
void fill_each_locked(struct cache *cache, struct cache_file *file,
                      uint64_t first, uint64_t end,
                      void (*run)(struct cache *cache,
                                  struct cache_entry *entry));

/*
 * Find or make the entry of a chunk, and keep it.
 *
 * Returns 0, -EAGAIN if there is no room, -ERESTART if the entry was retired
 * before it was described, -ENOMEM, or an error of the file's ops.
 */
int fill_get_locked(struct cache *cache, struct cache_request *request,
                    struct cache_entry **out);

/* Set the most that a request for a unit takes up, its entry included, and
   `more` bytes. */
void fill_set_need(struct cache_request *request, const struct cache_unit *unit,
                   size_t more);

/*
 * Make the blocks of a pinned unit in [first, end) ready, by this thread or by
 * others; with CACHE_WAIT_NEVER only those that nobody is at work on.
 *
 * Returns 0, -EAGAIN if there is no room, or an error of the file's ops, when
 * blocks before the one that failed may be ready.
 */
int fill_locked(struct cache *cache, struct cache_request *request,
                struct cache_unit *unit, uint32_t first, uint32_t end);

#endif
