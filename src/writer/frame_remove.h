/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_REMOVE_H
#define WRITER_FRAME_REMOVE_H

#include "store/store_http.h"

/*
 * Remove the sparse frame in a store with store_names_once(), which allows
 * changes.  The index goes first: then there is no frame, and what is left if
 * this is interrupted is garbage.  A commit of another program that comes later
 * fails, and so do reads of chunks that it does not have in memory.
 *
 * Returns 0; -ENOTEMPTY if something else lies there, too; -ENOENT if there is
 * no frame; -ENOMEM or an error of the store.
 */
int frame_remove(struct store *store);

/* Remove the objects of a frame that has been moved away, whose index is in
   this state; no object is removed if it is in another.  Errors as
   frame_remove(). */
int frame_remove_rest(struct store *store, const struct store_http_tag *index);

#endif
