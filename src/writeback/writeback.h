/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_WRITEBACK_H
#define WRITEBACK_WRITEBACK_H

#include "state/file_private.h"
#include "writeback/round.h"

/* From written chunks in the cache to committed ones in the frame. */

/* Are frames of this kind changed?  Returns 0 or -ENOTSUP. */
int writeback_check(const struct file *file, const struct frame_info *info,
                    struct fault *fault);

/*
 * Begin an operation that changes a file, by itself or within another.
 *
 * Returns 0; or an error to be passed up, and there is nothing to end then.
 */
int writeback_begin(struct file *file, struct fault *fault);

/* End it.  What it has written may still be uncommitted. */
void writeback_end(struct file *file);

/* See to it, without waiting, that chunks can be encoded.  Returns 0, -EAGAIN
   if it takes waiting, or an error. */
int writeback_prepare(struct file *file, struct fault *fault);

/* Commit for the last time; compact the frame if more of it is dead than alive,
   and it can be replaced; and give space back.  Returns 0 or why not all was
   committed. */
int writeback_finish(struct file *file, struct fault *fault);

/*
 * Commit what was written until now, durably.
 *
 *  edit  NULL: nothing else
 *
 * Returns 0 or why some of it, or the edit, was not committed.
 */
int writeback_commit(struct file *file, const struct writeback_edit *edit,
                     struct fault *fault);

/* The same from within a reshaper. */
int writeback_reshape(struct file *file, const struct writeback_edit *edit,
                      struct fault *fault);

/* Commit what was written until now, as file_commit(). */
int writeback_commit_nosync(struct file *file, struct fault *fault);

/* Commit in the background, durably: an error is kept for the function below. */
int writeback_flush(struct file *file);

/* Return the error of a commit that nobody was told of, and forget it; else 0. */
int writeback_take_error(struct file *file, struct fault *fault);

/* Is there anything to commit? */
bool writeback_is_changed(struct file *file);

/* Is there nothing to commit, and no commit under way? */
bool writeback_is_settled(struct file *file);

/* The frame got another name, which the next commit makes durable. */
void writeback_note_name(struct file *file);

/* Is the frame in the file with this device and inode number?  As
   file_is_in(). */
bool writeback_is_in(struct file *file, uint64_t dev, uint64_t ino);

#endif
