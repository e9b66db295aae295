/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_MERGE_H
#define WRITEBACK_MERGE_H

#include "state/file_private.h"

/*
 * Merge the uncommitted bytes of a file with what another program has
 * committed.  Nothing keeps such programs out where the store of the frame has
 * store_names_once(); a commit finds out, with -ESTALE.
 */

/* Why a merge was given up. */
extern const char merge_busy[];

/* Can a commit be merged that has failed with -ESTALE? */
bool merge_is_possible(const struct file *file);

/*
 * Open the state that the other program has committed, and make the uncommitted
 * bytes changes of that; see frame_writer_rebase().  Chunks that the other
 * program has changed leave the cache.  No thread is in the gate but those that
 * yield, see gate_lock_merge().
 *
 * Returns 0; 1 with a fault if the changes do not go together, and then nothing
 * has changed; or an error, after which this can be tried again: -EBUSY if
 * other programs change the frame all the time, or an error of the store.
 */
int merge_newest(struct file *file, struct fault *fault);

/*
 * Wait until this thread may merge, and do it.  If the changes do not go
 * together, nothing can be committed any more; see recover_orphan().
 *
 *  exclusive  the caller has locked the file for exclusive changes
 *
 * Returns 0; -ESTALE with a fault if the changes do not go together, or as
 * gate_failure(); or an error of merge_newest().
 */
int merge_commit(struct file *file, bool exclusive, struct fault *fault);

#endif
