/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_WRITEBACK_H
#define WRITEBACK_WRITEBACK_H

#include "state/file_private.h"
#include "writeback/commit.h"

/* Move written chunks from the cache to a committed state of the frame. */

/* Check that frames of this kind can be changed.  Returns 0 or -ENOTSUP. */
int writeback_check(const struct file *file, const struct frame_info *info,
                    struct fault *fault);

/*
 * Begin an operation that changes a file, alone or inside another such
 * operation.
 *
 * Returns 0, or an error that the caller passes up; after an error there is no
 * operation to end.
 */
int writeback_begin(struct file *file, struct fault *fault);

/* End an operation.  The bytes that it wrote may still be uncommitted. */
void writeback_end(struct file *file);

/* Prepare for encoding chunks, without waiting.  Returns 0, -EAGAIN if that
   takes waiting, or an error. */
int writeback_prepare(struct file *file, struct fault *fault);

/* Commit for the last time, compact the frame if more than half of its file is
   free and the file can be replaced, and give free space back.  Returns 0, or
   the error because of which not everything was committed. */
int writeback_finish(struct file *file, struct fault *fault);

/*
 * Commit everything written until now, durably.
 *
 *  edit  also commit this; may be NULL
 *
 * Returns 0, or the error because of which some bytes, or the edit, were not
 * committed.
 */
int writeback_commit(struct file *file, const struct writeback_edit *edit,
                     struct fault *fault);

/* The same for an exclusive writer. */
int writeback_commit_exclusive(struct file *file,
                               const struct writeback_edit *edit,
                               struct fault *fault);

/* Commit everything written until now, as file_commit(). */
int writeback_commit_nosync(struct file *file, const struct timespec *mtime,
                            struct fault *fault);

/* Commit durably, for the flusher.  An error is also kept for
   writeback_take_error(). */
int writeback_flush(struct file *file);

/* Return the error of a background commit that no caller has got yet, and
   forget it; else return 0.  If changes were lost for good, that is an error
   each time. */
int writeback_take_error(struct file *file, struct fault *fault);

/* Is there anything to commit? */
bool writeback_is_changed(struct file *file);

/* Is there nothing to commit, and no commit under way? */
bool writeback_is_clean(struct file *file);

/* See file_abandon(). */
void writeback_abandon(struct file *file, bool abandoned);

/* Note that the frame got another name, which the next commit or sync makes
   durable. */
void writeback_note_name(struct file *file);

/* Move the frame, as file_move(). */
int writeback_move(struct file *file,
                   int (*move)(void *context, struct store *store),
                   void *context, struct fault *fault);

/* Is the frame in the file that `version` is of?  See file_is_in(). */
bool writeback_is_in(struct file *file, struct store_version version);

#endif
