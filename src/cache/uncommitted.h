/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_UNCOMMITTED_H
#define CACHE_UNCOMMITTED_H

#include "cache/budget.h"

/*
 * Uncommitted chunks, which the cache holds in memory.
 *
 * Their bytes are limited so that there is memory to encode any one of them.
 * So a thread that encodes gets its memory in the end, and a commit can bring
 * the bytes down.
 */

/* Set why a group, or an entry by itself, is uncommitted: bits of enum
   uncommitted. An invalidated entry has none. */
void uncommitted_set_group_locked(struct cache *cache,
                                  struct buffer_group *group,
                                  unsigned uncommitted);
void uncommitted_set_entry_locked(struct cache *cache,
                                  struct cache_entry *entry,
                                  unsigned uncommitted);

/* Replace the bits `from` by `to`, which may be 0, in an entry and its groups
   where they are set. */
void uncommitted_move_locked(struct cache *cache, struct cache_entry *entry,
                             unsigned from, unsigned to);

/* Forget that an entry and its groups are uncommitted. */
void uncommitted_drop_locked(struct cache *cache, struct cache_entry *entry);

/*
 * May a group be written, or if it is NULL, may the entry itself become dirty?
 *
 * Returns 0, -EAGAIN if too much is uncommitted, or -ENOTSUP if the chunk could
 * never be encoded within the capacity.
 */
int uncommitted_check_locked(struct cache *cache,
                             const struct cache_entry *entry,
                             const struct buffer_group *group);

/* Note that bytes from `off` of the chunk on are to be written to a group. */
void uncommitted_written_locked(struct cache *cache, struct buffer_group *group,
                                uint32_t off, uint32_t len);

/* Make an entry dirty again, with all of its groups that are uncommitted. */
void uncommitted_redirty_locked(struct cache *cache, struct cache_entry *entry);

/* Put an entry on one of the lists of dirty entries of its file, or on none if
   NULL; or on the list where it belongs, unless it is on `tagged` already. */
void uncommitted_set_queue_locked(struct cache_entry *entry,
                                  struct list *queue);
void uncommitted_queue_locked(struct cache_entry *entry);

/*
 * Keep the uncommitted groups of an entry in memory, and return how much memory
 * its other groups and encoding it take.  Call this again after each wait,
 * because a commit may have released groups meanwhile, and writers may have
 * written to others.
 */
size_t uncommitted_keep_locked(struct cache_entry *entry);
void uncommitted_release_locked(struct cache *cache, struct cache_entry *entry);

/* Set the number of written and uncommitted bytes of an entry. */
void uncommitted_set_unsaved_locked(struct cache_entry *entry,
                                    uint32_t nunsaved);

/* Throttle a writer to a file: wait until less is uncommitted, a flush has
   ended, or writers of this file are to give way. */
void uncommitted_throttle_locked(struct cache *cache,
                                 const struct cache_file *file);

/* Return the domain of a file. */
struct cache_domain *uncommitted_domain(struct cache *cache,
                                        const struct cache_file *file);

/* Tell the flushers that a flush may be wanted. */
void uncommitted_request_flush_locked(struct cache *cache);

#endif
