/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_HOLD_H
#define CACHE_HOLD_H

#include "cache/room.h"

/*
 * What the cache holds until it is committed.
 *
 * It is never more than leaves room to encode any of its chunks, so that
 * whoever encodes gets his room in the end, and a commit can bring it down.
 */

/* Set what a unit, or an entry by itself, is held for: bits of enum hold.
   Entries that are retired are held for nothing. */
void hold_unit_locked(struct cache *cache, struct cache_unit *unit,
                      unsigned held);
void hold_entry_locked(struct cache *cache, struct cache_entry *entry,
                       unsigned held);

/* What an entry and its units are held for under `from`, they are under `to`
   from now on; 0: for nothing. */
void hold_move_locked(struct cache *cache, struct cache_entry *entry,
                      unsigned from, unsigned to);

/* Nothing of an entry is held any more. */
void hold_drop_locked(struct cache *cache, struct cache_entry *entry);

/*
 * May a unit be written, or if it is NULL, an entry be dirty by itself?
 *
 * Returns 0, -EAGAIN if too much is held, or -ENOTSUP if the chunk could never
 * be encoded within the capacity.
 */
int hold_check_locked(struct cache *cache, const struct cache_entry *entry,
                      const struct cache_unit *unit);

/* Bytes from `off` of the chunk on are about to be written to a unit. */
void hold_written_locked(struct cache *cache, struct cache_unit *unit,
                         uint32_t off, uint32_t len);

/* Make an entry dirty again, with all of its units that are held. */
void hold_soil_locked(struct cache *cache, struct cache_entry *entry);

/* Put an entry on one of its file's lists of those to be encoded, or on none
   if NULL; and on the one that it belongs on, unless it is due. */
void hold_set_queue_locked(struct cache_entry *entry, struct list *queue);
void hold_queue_locked(struct cache_entry *entry);

/*
 * Keep the units of an entry that are held in memory, and return how much room the
 * others and encoding it take.  To be asked again after each wait: meanwhile a
 * commit may have let go of units, and others been written to.
 */
size_t hold_use_locked(struct cache_entry *entry);
void hold_unuse_locked(struct cache *cache, struct cache_entry *entry);

/* So many bytes of an entry are written and not committed. */
void hold_set_unsaved_locked(struct cache_entry *entry, uint32_t nunsaved);

/* Wait until less is held, or a flush has ended, to write to a file of a
   domain. */
void hold_await_less_locked(struct cache *cache, struct cache_domain *domain);

/* The domain of a file. */
struct cache_domain *hold_domain(struct cache *cache,
                                 const struct cache_file *file);

/* Someone waits for a flush. */
void hold_press_locked(struct cache *cache);

#endif
