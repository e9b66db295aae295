/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_CLAIM_H
#define WRITEBACK_CLAIM_H

#include "state/file_private.h"
#include "writeback/frame_lock.h"

/*
 * The right to change a frame.  From before the first byte of a file is changed
 * until all is committed, no other process of ours may change the frame: the
 * file has the lease on it, see store_lease().  If the frame has a sidecar, that
 * is locked too, so that no program that looks at it changes or reads the frame
 * meanwhile.
 */

/*
 * Begin to change a file.  If others have changed the frame, and it has a
 * sidecar, it is opened anew first.  May wait for them, and for all who work on
 * the file: not to be called by these.
 *
 * Returns 0; -EBUSY as lease_take() and sidecar_claim(); -ESTALE if others have
 * changed the frame, or replaced its file; or an error of the store.
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

/*
 * Let a file be superseded by another one of the same frame: what was written to
 * it is given up, and it can't be claimed any more.  But not if it is claimed,
 * and the frame is what it knows: then it is the newest that there is.
 *
 * Returns whether it is superseded.
 */
bool claim_supersede(struct file *file, bool replaced);

/* The file is closed, but for this. */
void claim_drop(struct file *file);

/*
 * Keep other programs from changing a frame that has a sidecar, for a short
 * time, and see to it that the newest state is open; and let them again.
 *
 * Returns 0, or as claim_enter().
 */
int claim_share(struct file *file, struct fault *fault);
void claim_unshare(struct file *file);

/*
 * The file is open now.
 *
 *  sidecar  becomes the file's; NULL: others are not locked out
 *  count    the sidecar's when the newest state was opened
 */
void claim_set_sidecar(struct file *file, struct sidecar *sidecar,
                       uint64_t count);

/* See file_set_unlinked() and file_take_renewed(). */
void claim_set_unlinked(struct file *file, bool unlinked);
bool claim_take_renewed(struct file *file);

/* Is the frame's state the one that is open, for all that the sidecar tells? */
bool claim_is_current(struct file *file);

#endif
