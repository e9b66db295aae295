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

/*
 * Where a frame that is changed lives: its file, or the numbers of its chunk
 * files, and what of it is free.  Any number of threads may use it.
 */
struct plot;

/* Places in a plot. */
struct plot_list {
    struct space_extent *extents;
    size_t n;
    size_t room;
};

/*
 * Make a plot of which all is free, with one reference.
 *
 *  object  the frame's file; NULL: chunk files of their own.  Both get a
 *          reference more
 *
 * Returns 0 or -ENOMEM.
 */
int plot_new(struct store *store, struct store_object *object,
             struct plot **out);

/* Take one more reference. */
struct plot *plot_get(struct plot *plot);

/* Accepts NULL. */
void plot_put(struct plot *plot);

/* Bytes of memory that it takes up. */
size_t plot_footprint(struct plot *plot);

/* The frame's file, or NULL. */
struct store_object *plot_object(const struct plot *plot);

/* Is what the store has of the frame what the last commit made it? */
struct watch *plot_watch(const struct plot *plot);

/*
 * Keep all below `end` for good: none of it is given out from now on, nor back.
 * While others may give places back, it must be in the first 4 KiB.  Returns 0
 * or -ENOMEM.
 */
int plot_keep(struct plot *plot, uint64_t end);

/*
 * The newest state, which is on the disk, has nothing between `end` and the end
 * of what is kept.  If no places behind that are in use, plot_reclaim() cuts the
 * file there: some readers refuse a frame that bytes follow.
 */
void plot_trim(struct plot *plot, uint64_t end);

/* The end of what is kept. */
uint64_t plot_kept(struct plot *plot);

/* See space_take() and those that follow it. */
int plot_take(struct plot *plot, uint64_t off, uint64_t len);
int plot_alloc(struct plot *plot, uint64_t from, uint64_t len, uint64_t *out);
int plot_alloc_before(struct plot *plot, uint64_t end, uint64_t len,
                      uint64_t *out);
uint64_t plot_end(struct plot *plot);

/*
 * Let a chunk file stay: more than one chunk is in it, so it is not given back
 * when one of them dies.  Returns 0 or -ENOMEM.
 */
int plot_pin(struct plot *plot, uint64_t id);

/*
 * What lies behind the end of the frame is left from a process that died, if it
 * was written long before `stat` was taken, and may be cut off; else another
 * program may just be adding to the file.
 */
void plot_trust_end(struct plot *plot, const struct store_stat *stat);

/* For how many nanoseconds freed places rest from now on.  At first a second. */
void plot_set_rest(struct plot *plot, int64_t rest);
int64_t plot_get_rest(struct plot *plot);

/*
 * Give up a place that no commit has used: it may be allocated again at once.
 * The store gets it back with plot_reclaim().
 */
void plot_drop(struct plot *plot, uint64_t off, uint64_t len);

/* Let a place rest as if a commit had freed it now. */
void plot_rest(struct plot *plot, uint64_t off, uint64_t len);

/*
 * Give back to the store what is free: holes are punched, the file is cut at
 * its end, chunk files are removed.  Only who has the lease on the frame, and
 * has just seen that it is the one of the last commit, may do that.  Where it
 * fails the space is free all the same.
 *
 *  all  do not let anything rest any longer
 */
void plot_reclaim(struct plot *plot, bool all);

/* Is there anything to reclaim? */
bool plot_has_freed(struct plot *plot, bool all);

/* Length of all places that rest. */
uint64_t plot_resting(struct plot *plot);

/* Room for `more` places behind those of the list.  Returns 0 or -ENOMEM. */
int plot_list_reserve(struct plot_list *list, size_t more);

/* Add a place, for which there is room. */
void plot_list_add(struct plot_list *list, uint64_t off, uint64_t len);

/* Put the places in order; and is there one in a list so ordered that begins at
   `off`? */
void plot_list_sort(struct plot_list *list);
bool plot_list_has(const struct plot_list *list, uint64_t off);

/* Accepts a zeroed list. */
void plot_list_free(struct plot_list *list);

/*
 * Begin a generation of the frame, which may become the newest.  Returns 0 or
 * -ENOMEM.
 */
int plot_generation_new(struct plot *plot, struct generation **out);

/* The plot that a generation was begun with. */
struct plot *plot_of_generation(const struct generation *generation);

/*
 * For the sake of a generation that may follow, the kept start of the plot is
 * about to be overwritten, so what earlier generations have there is lost.
 */
void plot_generation_overwrite(struct generation *generation);

/*
 * End a generation, once.
 *
 *  dead  becomes the generation's, and is empty then
 *  next  the one that follows; NULL if the frame has moved elsewhere
 */
void plot_generation_end(struct generation *generation, struct plot_list *dead,
                         struct generation *next);

#endif
