/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_WRITEBACK_H
#define FILE_WRITEBACK_H

#include "file/file_private.h"

/* From written chunks in the cache to committed ones in the frame. */

/* What else a commit is to change. */
struct writeback_edit {
    int (*run)(struct frame_change *change, const struct writeback_edit *edit,
               struct fault *fault);
    bool reshapes; /* chunks come to be elsewhere, so that all that is known
                      of them goes; nothing is written beside it */
    void (*undo)(struct frame_change *change); /* what was not committed; of an
                                                  edit that does not reshape;
                                                  NULL: nothing is to be done */
};

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

/* Drop what is not committed, and never commit anything again. */
void writeback_give_up(struct file *file);

/* Commit in the background, durably: an error is kept for file_take_error(). */
int writeback_flush(struct file *file);

#endif
