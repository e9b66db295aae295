/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_PLOT_H
#define WRITER_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/generation.h"
#include "frame/watch.h"
#include "store/store.h"
#include "writer/space.h"

/* The space of a frame that is being changed: its file, or the ids of its chunk
   files, with the parts that are free.  Any number of threads may use it. */
struct plot;

/* A list of extents of that space. */
struct plot_list {
    struct space_extent *extents;
    size_t n;
    size_t room;
};

/*
 * Make a plot that is all free, with one reference.
 *
 *  object  the frame's file; NULL: each chunk is a file of its own
 *
 * The plot takes references to `store` and `object`.  Returns 0 or -ENOMEM.
 */
int plot_new(struct store *store, struct store_object *object,
             struct plot **out);

/* Take one more reference. */
struct plot *plot_get(struct plot *plot);

/* Accepts NULL. */
void plot_put(struct plot *plot);

/* Bytes of memory that the plot takes up. */
size_t plot_footprint(struct plot *plot);

/* The frame's file, or NULL. */
struct store_object *plot_object(const struct plot *plot);

/* The watch that knows the state of the last commit. */
struct watch *plot_watch(const struct plot *plot);

/*
 * Keep everything below `end` permanently: from now on it is neither allocated
 * nor given back.  If other threads may reclaim space at the same time, `end`
 * must be in the first 4 KiB.  Returns 0 or -ENOMEM.
 */
int plot_keep(struct plot *plot, uint64_t end);

/*
 * Record that the newest state, which is on the disk, uses no bytes between
 * `end` and the end of the kept space.  If the space behind that is free too,
 * plot_reclaim() cuts the file at `end`, because some readers reject a frame
 * with bytes behind it.
 */
void plot_trim(struct plot *plot, uint64_t end);

/* The end of the kept space. */
uint64_t plot_kept(struct plot *plot);

/* See space_take() and the functions after it. */
int plot_take(struct plot *plot, uint64_t off, uint64_t len);
int plot_alloc(struct plot *plot, uint64_t from, uint64_t len, uint64_t *out);
int plot_alloc_before(struct plot *plot, uint64_t end, uint64_t len,
                      uint64_t *out);
uint64_t plot_end(struct plot *plot);

/* Keep a chunk file permanently: several chunks share it, so it must not be
   removed when one of them is dead.  Returns 0 or -ENOMEM. */
int plot_pin(struct plot *plot, uint64_t id);

/*
 * Bytes behind the end of the frame are left from a process that died, if the
 * file in `stat` was last written more than a second ago.  plot_reclaim() may
 * then cut them off.  Otherwise another program may be adding to the file.
 */
void plot_trust_end(struct plot *plot, const struct store_stat *stat);

/* Set how many nanoseconds freed space rests from now on.  The default is a
   second. */
void plot_set_rest(struct plot *plot, int64_t rest);
int64_t plot_get_rest(struct plot *plot);

/* Free an extent that no commit has used.  It may be allocated again at once,
   and plot_reclaim() gives it back to the store. */
void plot_drop(struct plot *plot, uint64_t off, uint64_t len);

/* Let an extent rest as if a commit had freed it now. */
void plot_rest(struct plot *plot, uint64_t off, uint64_t len);

/*
 * Give free space back to the store: punch holes, cut the file at its end,
 * remove chunk files.  The caller must have the lease on the frame, and must
 * just have verified that the frame has the state of the last commit.  If the
 * store fails to take it back, the space is free all the same.
 *
 *  all  end all rests first
 */
void plot_reclaim(struct plot *plot, bool all);

/* Is there anything to reclaim? */
bool plot_has_freed(struct plot *plot, bool all);

/* Total length of the extents that rest. */
uint64_t plot_resting(struct plot *plot);

/* Reserve room for `more` extents behind those in the list.  Returns 0 or
   -ENOMEM. */
int plot_list_reserve(struct plot_list *list, size_t more);

/* Add an extent; the caller has reserved room. */
void plot_list_add(struct plot_list *list, uint64_t off, uint64_t len);

/* Sort the extents by offset.  plot_list_has() tells whether an extent of a
   sorted list begins at `off`. */
void plot_list_sort(struct plot_list *list);
bool plot_list_has(const struct plot_list *list, uint64_t off);

/* Accepts a zeroed list. */
void plot_list_free(struct plot_list *list);

/* Begin a generation of the frame, which may become the newest.  Returns 0 or
   -ENOMEM. */
int plot_generation_new(struct plot *plot, struct generation **out);

/* The plot that was passed to plot_generation_new(). */
struct plot *plot_of_generation(const struct generation *generation);

/* Record that the writer is about to overwrite the kept start of the plot for
   this generation, so that earlier generations lose their bytes there. */
void plot_generation_overwrite(struct generation *generation);

/*
 * End a generation; call this once.
 *
 *  dead  belongs to the generation from now on; the list is empty afterwards
 *  next  the next generation; NULL if the frame has moved to another file
 */
void plot_generation_end(struct generation *generation, struct plot_list *dead,
                         struct generation *next);

#endif
