/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_RECOVER_H
#define WRITEBACK_RECOVER_H

#include "state/file_private.h"

/*
 * Recover when a change cannot go on.
 *
 * If a commit that moves chunks fails, it is not known whether it took place,
 * and so not where the chunks are.  The file is failed (see gate.failed) until
 * the frame can be reopened.  If other programs have changed the frame, the
 * bytes written to the file no longer have a place in it, and the file is
 * failed for good.
 */

/*
 * Find out why the server has no index any more.  Returns -ESTALE if another
 * program has removed the frame; -ENOENT if the bucket is gone, too, which says
 * nothing about the frame; or an error of the store.
 */
int recover_explain_gone(struct file *file, struct fault *fault);

/*
 * Reopen the frame, unless the file is failed for good.  An exclusive writer
 * calls this.
 *
 *  to_change  also open the frame for changes, because the caller has the frame
 *             lock; else changes begin again later
 *
 * Returns 0 or an error, after which it can be tried again.  The error is
 * -ESTALE if chunks of the stored frame have another size or kind, or if the
 * array that the file shows has another shape.
 */
int recover_reopen(struct file *file, bool to_change, struct fault *fault);

/* Make a state the newest one.  Its `frame` was written as a new file by a
   commit, and the other fields are zero.  Changes begin again later.  An
   exclusive writer calls this.  Takes over the state, and its reference to the
   frame. */
void recover_use_state(struct file *file, struct file_state *state);

/*
 * Find the bytes of the frame's chunks that are written and not committed, or
 * that were when other programs changed the frame: the range from the first to
 * behind the last.  Returns false if there are none.
 */
bool recover_find_unsaved(struct file *file, uint64_t *off, uint64_t *end);

/* Were changes lost for good, because another program has changed the frame? */
bool recover_has_lost(struct file *file);

/* Drop all uncommitted bytes, because other programs have changed the frame.
   The committer calls this, while it keeps encoders out. */
void recover_invalidate(struct file *file);

/*
 * Give up committing because another program's changes do not go together with
 * those of the file.  The file goes on showing what was written to it, over the
 * state with which it began, as far as the memory for that suffices.  The
 * caller is an exclusive writer.
 */
void recover_orphan(struct file *file);

#endif
