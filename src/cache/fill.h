/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_FILL_H
#define CACHE_FILL_H

#include "cache/budget.h"

/*
 * Making entries, and decoding their blocks.  Each function is called with the
 * lock held, and may drop it meanwhile.
 */

/* Return the entry of a chunk, or NULL.  It may not be described yet. */
struct cache_entry *fill_find_locked(struct cache *cache,
                                     const struct cache_range *range);

/* Call `run` for each entry of chunks `first` to `end` - 1 of a file.  It may
   free that entry, but no other. */
void fill_each_locked(struct cache *cache, struct cache_file *file,
                      uint64_t first, uint64_t end,
                      void (*run)(struct cache *cache,
                                  struct cache_entry *entry));

/*
 * Find or make the entry of a chunk, and keep it.
 *
 * Returns 0, -EAGAIN if the budget is used up, -ERESTART if the entry was
 * invalidated before it was described, -ENOMEM, or an error of the file's ops.
 */
int fill_get_locked(struct cache *cache, struct cache_request *request,
                    struct cache_entry **out);

/* Set the most bytes that a request for a group takes up: the group, its entry,
   the scratch for decoding, and `more` bytes. */
void fill_set_need(struct cache_request *request,
                   const struct buffer_group *group, size_t more);

/*
 * Make the blocks of a pinned group in [first, end) ready.  This thread decodes
 * missing blocks, and waits for blocks that other threads decode, except with
 * CACHE_WAIT_NEVER.
 *
 * Returns 0, -EAGAIN if the budget is used up, or an error of the file's ops;
 * the blocks before the one that failed may then be ready.
 */
int fill_locked(struct cache *cache, struct cache_request *request,
                struct buffer_group *group, uint32_t first, uint32_t end);

#endif
