/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_ENCODE_H
#define WRITEBACK_ENCODE_H

#include "state/file_private.h"

/*
 * Encode dirty chunks and write them to the store.  They wait in
 * file_writeback.encoded for the next commit.  A chunk that is encoded again
 * while it waits replaces its older encoding.
 */

/* Choose the pool that encodes chunks of a file and writes them: one with as
   many threads as requests may be in flight, if they wait for a server.  The
   writer is open, and changes have not begun. */
void encode_choose_pool(struct file *file);

/*
 * Encode a chunk in writeback.  If that fails, release it, so that it is dirty
 * again.
 *
 *  nbytes  size of the file
 *
 * Returns 0 or an error.  It is no error if the chunk lies beyond the end, or
 * was invalidated.
 */
int encode_chunk(struct file *file, const struct cache_writeback *writeback,
                 uint64_t nbytes, struct fault *fault);

/*
 * Encode all chunks that are dirty now, with the help of the pool.  The
 * committer calls this, while it keeps other encoders out.
 *
 *  nbytes  size of the file; chunks that start beyond it are not encoded
 *
 * Returns 0, or the error because of which some chunks were not encoded.
 */
int encode_dirty(struct file *file, uint64_t nbytes, struct fault *fault);

/* Does an error mean that the disk accepts no more data, whichever chunk is
   written? */
bool encode_is_no_space(int error);

/* Drop the encoded chunks `first` to `end` - 1, which become dirty again.  The
   caller is an exclusive writer or a committer that keeps encoders out, or
   closes the file. */
void encode_drop(struct file *file, uint64_t first, uint64_t end);

/*
 * Choose a typesize that suits the content of a dirty chunk.
 *
 *  out  receives the typesize; 1 if no chunk is dirty
 *
 * Returns 0 or a negative errno.
 */
int encode_choose_typesize(struct file *file, uint32_t *out,
                           struct fault *fault);

/*
 * Let the pool encode chunks that have been written in full, so that the next
 * commit finds them done.  Returns at once.  If they cannot be encoded now, the
 * commit encodes them.
 */
void encode_ahead(struct file *file);

/* Withdraw the tasks of encode_ahead() that have not started. */
void encode_ahead_withdraw(struct file *file);

/* Withdraw these tasks, and wait for the others to end.  The caller makes sure
   that no thread writes to the file any more. */
void encode_ahead_end(struct file *file);

#endif
