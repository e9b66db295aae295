/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_ALLOC_H
#define WRITER_FRAME_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/generation.h"
#include "frame/watch.h"
#include "store/store.h"
#include "writer/extent_list.h"

/* The allocator of the space of a frame that is being changed: its file, or the
   ids of its chunk files, and which parts are free.  Any number of threads may
   use it. */
struct frame_alloc;

/*
 * Make an allocator whose space is all free, with one reference.
 *
 *  object  the frame's file; NULL: each chunk is a file of its own
 *
 * The allocator takes references to `store` and `object`.  Returns 0 or
 * -ENOMEM.
 */
int frame_alloc_new(struct store *store, struct store_object *object,
                    struct frame_alloc **out);

/* Take one more reference. */
struct frame_alloc *frame_alloc_get(struct frame_alloc *alloc);

/* Accepts NULL. */
void frame_alloc_put(struct frame_alloc *alloc);

/* Bytes of memory that the allocator takes up. */
size_t frame_alloc_footprint(struct frame_alloc *alloc);

/* The frame's file, or NULL. */
struct store_object *frame_alloc_object(const struct frame_alloc *alloc);

/* The watch that knows the state of the last commit. */
struct watch *frame_alloc_watch(const struct frame_alloc *alloc);

/*
 * Reserve everything below `end` permanently: from now on it is neither
 * allocated nor given back.  If other threads may reclaim space at the same
 * time, `end` must be in the first 4 KiB.  Returns 0 or -ENOMEM.
 */
int frame_alloc_reserve(struct frame_alloc *alloc, uint64_t end);

/*
 * Record that the newest state, which is on the disk, uses no bytes between
 * `end` and the end of the reserved space.  If the space behind that is free
 * too, frame_alloc_reclaim() cuts the file at `end`, because some readers
 * reject a frame with bytes behind it.
 */
void frame_alloc_trim(struct frame_alloc *alloc, uint64_t end);

/* Reserve the ids of all chunk files in the store, and all below them, because
   names of the store must not be used twice.  Returns 0 or an error of the
   store. */
int frame_alloc_reserve_ids(struct frame_alloc *alloc);

/*
 * Record that the index of a commit names the id before `end`.  Where names are
 * not used twice, a chunk file is given back only if some commit has named a
 * higher id.  So there always is an object with the highest id that was ever
 * named, which frame_alloc_reserve_ids() finds.
 */
void frame_alloc_note_named(struct frame_alloc *alloc, uint64_t end);

/* The end of the reserved space. */
uint64_t frame_alloc_reserved(struct frame_alloc *alloc);

/* See extent_map_alloc_at() and the functions after it. */
int frame_alloc_take(struct frame_alloc *alloc, uint64_t off, uint64_t len);
int frame_alloc_alloc(struct frame_alloc *alloc, uint64_t from, uint64_t len,
                      uint64_t *out);
int frame_alloc_alloc_before(struct frame_alloc *alloc, uint64_t end,
                             uint64_t len, uint64_t *out);
uint64_t frame_alloc_end(struct frame_alloc *alloc);

/* Keep a chunk file permanently: several chunks share it, so it must not be
   removed when one of them is dead.  Returns 0 or -ENOMEM. */
int frame_alloc_pin(struct frame_alloc *alloc, uint64_t id);

/*
 * Bytes behind the end of the frame are left from a process that died, if the
 * file in `stat` was last written more than a second ago.
 * frame_alloc_reclaim() may then cut them off.  Otherwise another program may
 * be adding to the file.
 */
void frame_alloc_trust_end(struct frame_alloc *alloc,
                           const struct store_stat *stat);

/* Set how many nanoseconds freed space stays in quarantine from now on.  The
   default is a second. */
void frame_alloc_set_quarantine(struct frame_alloc *alloc, int64_t ns);
int64_t frame_alloc_get_quarantine(struct frame_alloc *alloc);

/* Free an extent that no commit has used.  It may be allocated again at once,
   and frame_alloc_reclaim() gives it back to the store. */
void frame_alloc_free(struct frame_alloc *alloc, uint64_t off, uint64_t len);

/* Put an extent in quarantine as if a commit had freed it now. */
void frame_alloc_quarantine(struct frame_alloc *alloc, uint64_t off,
                            uint64_t len);

/*
 * Give free space back to the store: punch holes, cut the file at its end,
 * remove chunk files.  The caller must have the lease on the frame, and must
 * just have verified that the frame has the state of the last commit.  If the
 * store fails to take it back, the space is free all the same.
 *
 *  all  end all quarantines first
 */
void frame_alloc_reclaim(struct frame_alloc *alloc, bool all);

/* From now on, frame_alloc_reclaim() deletes chunk files at once, because no
   state of the frame has ever named them. */
void frame_alloc_set_unused(struct frame_alloc *alloc);

/* Is there anything to reclaim? */
bool frame_alloc_has_freed(struct frame_alloc *alloc, bool all);

/* Total length of the extents in quarantine. */
uint64_t frame_alloc_quarantined(struct frame_alloc *alloc);

/* Begin a generation of the frame, which may become the newest.  Returns 0 or
   -ENOMEM. */
int frame_alloc_generation_new(struct frame_alloc *alloc,
                               struct generation **out);

/* The allocator that was passed to frame_alloc_generation_new(). */
struct frame_alloc *frame_alloc_of_generation(
    const struct generation *generation);

/* Record that the writer is about to overwrite the reserved start of the file
   for this generation, so that earlier generations lose their bytes there. */
void frame_alloc_generation_overwrite(struct generation *generation);

/*
 * End a generation; call this once.
 *
 *  freed  belongs to the generation from now on; the list is empty afterwards
 *  next   the next generation; NULL if the frame has moved to another file
 */
void frame_alloc_generation_end(struct generation *generation,
                                struct extent_list *freed,
                                struct generation *next);

#endif
