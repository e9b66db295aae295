/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_RELOAD_H
#define WRITEBACK_RELOAD_H

#include "state/file_private.h"

/*
 * When a change cannot go on.
 *
 * If a commit that moves chunks fails, it is not known whether it took place,
 * and so not where chunks are.  The file is stuck until the frame can be opened
 * anew.  If others have changed the frame, what was written to the file has no
 * place any more, and the file is stuck for good.
 */

/*
 * Open the frame anew, unless it is stuck for good.  Called by a reshaper.
 *
 *  to_change  the file is claimed, and will be changed; else that has to begin
 *             anew
 *
 * Returns 0, or an error, -ESTALE if it is of other chunks; it can be tried
 * again then.
 */
int reload_frame(struct file *file, bool to_change, struct fault *fault);

/* A commit has written the frame anew, which is the newest state from here on;
   changes have to begin anew.  Called by a reshaper.  Takes the reference. */
void reload_adopt(struct file *file, struct frame *frame);

/*
 * Find the bytes of the frame's chunks that are written and not yet committed,
 * or were when others changed the frame: from the first to behind the last.
 * Returns false if there are none.
 */
bool reload_find_unsaved(struct file *file, uint64_t *off, uint64_t *end);

/* Others have changed the frame: drop what was written.  Called by the
   committer. */
void reload_give_up(struct file *file);

#endif
