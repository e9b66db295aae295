/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_CLAIM_H
#define FILE_CLAIM_H

#include "file/file_private.h"

/*
 * A file's part in the locking of its frame.  From before its first byte is
 * changed until all is committed, and what died of older states is given back,
 * no other program may change the frame, nor read it.  Without a sidecar these
 * do nothing.
 */

/*
 * Begin to change a file.  If others have changed the frame, it is opened anew
 * first.  May wait for them, and for all who work on the file: not to be called
 * by these.
 *
 * Returns 0; -EBUSY as sidecar_claim(); -ESTALE if the frame has become another
 * than it was, or its file was replaced; or an error of the store.
 */
int claim_enter(struct file *file, struct fault *fault);

/* Open a file anew if others have changed the frame, without a claim to it.
   Returns as claim_enter(). */
int claim_catch_up(struct file *file, struct fault *fault);

/* Whoever began that is through. */
void claim_leave(struct file *file);

/* Give up the claim if nobody needs it any more.  To be called when something
   is through that it was needed for. */
void claim_settle(struct file *file);

/* The file is closed, but for this. */
void claim_drop(struct file *file);

/* Is the frame's state the one that is open, for all that the sidecar tells? */
bool claim_is_current(struct file *file);

#endif
