/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_HOLD_H
#define CACHE_HOLD_H

#include "cache/room.h"

/*
 * Uncommitted chunks, which the cache holds in memory.
 *
 * Their bytes are limited so that there is memory to encode any one of them.
 * So a thread that encodes gets its memory in the end, and a commit can bring
 * the bytes down.
 */

/* Set why a unit, or an entry by itself, is held: bits of enum hold.  An
   invalidated entry is never held. */
void hold_unit_locked(struct cache *cache, struct cache_unit *unit,
                      unsigned held);
void hold_entry_locked(struct cache *cache, struct cache_entry *entry,
                       unsigned held);

/* Replace the bits `from` by `to`, which may be 0, where an entry or its units
   are held for `from`. */
void hold_move_locked(struct cache *cache, struct cache_entry *entry,
                      unsigned from, unsigned to);

/* Stop holding an entry and its units. */
void hold_drop_locked(struct cache *cache, struct cache_entry *entry);

/*
 * May a unit be written, or if it is NULL, may the entry itself become dirty?
 *
 * Returns 0, -EAGAIN if too much is uncommitted, or -ENOTSUP if the chunk could
 * never be encoded within the capacity.
 */
int hold_check_locked(struct cache *cache, const struct cache_entry *entry,
                      const struct cache_unit *unit);

/* Note that bytes from `off` of the chunk on are to be written to a unit. */
void hold_written_locked(struct cache *cache, struct cache_unit *unit,
                         uint32_t off, uint32_t len);

/* Make an entry dirty again, with all of its units that are held. */
void hold_soil_locked(struct cache *cache, struct cache_entry *entry);

/* Put an entry on one of the lists of dirty entries of its file, or on none if
   NULL; or on the list where it belongs, unless it is on `due` already. */
void hold_set_queue_locked(struct cache_entry *entry, struct list *queue);
void hold_queue_locked(struct cache_entry *entry);

/*
 * Keep the held units of an entry in memory, and return how much memory its
 * other units and encoding it take.  Call this again after each wait, because a
 * commit may have released units meanwhile, and writers may have written to
 * others.
 */
size_t hold_use_locked(struct cache_entry *entry);
void hold_unuse_locked(struct cache *cache, struct cache_entry *entry);

/* Set the number of written and uncommitted bytes of an entry. */
void hold_set_unsaved_locked(struct cache_entry *entry, uint32_t nunsaved);

/* Throttle a writer to a file of a domain: wait until less is held, or a flush
   has ended. */
void hold_await_less_locked(struct cache *cache, struct cache_domain *domain);

/* Return the domain of a file. */
struct cache_domain *hold_domain(struct cache *cache,
                                 const struct cache_file *file);

/* Tell the flushers that a flush may be wanted. */
void hold_press_locked(struct cache *cache);

#endif
