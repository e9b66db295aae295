/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_ENCODE_H
#define WRITEBACK_ENCODE_H

#include "state/file_private.h"

/*
 * Dirty chunks, encoded and written to the store.  They wait in file->encoded
 * for the next commit; of a chunk that is there already the older form goes.
 */

/*
 * Encode a chunk that was taken, and let go of it if that fails.
 *
 *  nbytes  of the file
 *
 * Returns 0, also if the chunk is behind the end or was retired, or an error.
 */
int encode_chunk(struct file *file, const struct cache_taken *taken,
                 uint64_t nbytes, struct fault *fault);

/*
 * Let the pool encode all chunks that are dirty now and start below `nbytes`.
 * Called by the committer, who keeps others from encoding.
 *
 * Returns 0, or why some were not.
 */
int encode_dirty(struct file *file, uint64_t nbytes, struct fault *fault);

/* Does an error say that the disk takes nothing more, whatever is written? */
bool encode_is_no_room(int error);

/* Give up what was encoded of chunks `first` to `end` - 1.  Called by a
   reshaper. */
void encode_drop(struct file *file, uint64_t first, uint64_t end);

/*
 * Choose a typesize that goes with the content of a dirty chunk, of which
 * there is one.
 *
 * Returns 0 or a negative errno.
 */
int encode_choose_typesize(struct file *file, uint32_t *out,
                           struct fault *fault);

/*
 * Let the pool encode chunks that were written in full, so that the next commit
 * finds them done.  Returns at once.  If it can't be done now, the commit will
 * do it.
 */
void encode_ahead(struct file *file);

/* Forget what was to be encoded ahead and has not begun. */
void encode_ahead_withdraw(struct file *file);

/* Wait until nobody encodes ahead.  Nothing is written any more. */
void encode_ahead_end(struct file *file);

#endif
