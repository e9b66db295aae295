/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_LOCK_FILE_H
#define BACKING_BACKING_LOCK_FILE_H

#include "backing/backing.h"
#include "file/file.h"

/*
 * The lock file of a frame that is one file, PATH.b2lock, follows the frame,
 * because programs find it by the frame's name.  It may be missing.  These
 * functions report no errors: a failure leaves a lock file without a frame, or
 * a frame without a lock file, and then programs create a new one.
 */

/*
 * Adapt the lock file of a frame of either kind after the frame's owner or mode
 * has changed.  Opening the store does that, so nothing happens unless frames
 * are locked.
 */
void backing_lock_file_adapt(struct file_context *files,
                             const struct backing_place *place,
                             enum entry_kind kind);

/* Remove the lock file of a frame that was removed. */
void backing_lock_file_remove(int dirfd, const char *name);

/* Move the lock file of a frame that was moved.  If the frame replaced another
   one, the other's lock file goes. */
void backing_lock_file_move(int dirfd, const char *name, int new_dirfd,
                            const char *new_name);

/* Exchange the lock files of two entries that have changed places.  One or both
   are frames in one file. */
void backing_lock_file_exchange(int dirfd, const char *name, int other_dirfd,
                                const char *other_name);

#endif
