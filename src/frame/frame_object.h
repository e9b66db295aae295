/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_OBJECT_H
#define FRAME_FRAME_OBJECT_H

#include <stdbool.h>

#include "store/store.h"

/*
 * The object of a store that has the header of a frame: the object "", or the
 * index object of a sparse frame.
 */

/* Name of the index object, and the name that it had in the first sparse
   frames.  Format: sparse-frame.md, 1; history.md, 4. */
#define FRAME_OBJECT_INDEX     "chunks.b2frame"
#define FRAME_OBJECT_OLD_INDEX "chunks.b2eframe"

/* Is it one of these names? */
bool frame_object_is_index(const char *name);

/*
 * Try the names of an index object, the current one first, until one exists.
 *
 *  try   called for each name; returns -ENOENT if there is no such object
 *  name  receives the name that exists, or the current one if none does; NULL:
 *        the caller does not need it
 *
 * Returns the last result of `try`.
 */
int frame_object_find_index(int (*try)(void *context, const char *name),
                            void *context, const char **name);

/*
 * Open the object of the frame in a store.
 *
 *  name  receives "", or the name of the index object as above
 *  stat  receives the attributes from before the object is read
 *
 * Errors as store_open().
 */
int frame_object_open(struct store *store, const char **name,
                      struct store_object **out, struct store_stat *stat);

/* Get size, times and identity of the object that has the name now.  `name` may
   be NULL.  Errors as store_stat(). */
int frame_object_stat(struct store *store, const char **name,
                      struct store_stat *out);

/* Return the name that the object of the frame in a store has, or would get if
   there is none. */
const char *frame_object_name(struct store *store);

#endif
