/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_COMMIT_H
#define WRITEBACK_COMMIT_H

#include "state/file_private.h"

/* One commit of a file.  The committer collects the encoded chunks, passes them
   to the frame writer and makes them durable; then readers see the new
   state. */

/* An edit that a commit makes in addition. */
struct writeback_edit {
    int (*run)(struct frame_writer *writer, const struct writeback_edit *edit,
               struct fault *fault);
    bool moves_chunks; /* chunks move, so the file forgets all it knows of them;
                          the commit includes no writes */
    void (*undo)(struct frame_writer *writer); /* undo the edit if the commit
                                                  failed; unused if
                                                  `moves_chunks`; may be NULL */
};

/* A commit in progress.  Only the committer of its file uses it. */
struct commit {
    struct file *file;
    uint64_t nbytes;     /* size of the file that it commits */
    struct frame *frame; /* the new state; NULL until it is committed */
    bool moves_chunks;   /* see struct writeback_edit */
    bool nosync;         /* it need not wait for the disk */
    const struct timespec *mtime; /* see frame_writer_set_mtime() */
};

/* Leave as the committer, after gate_enter_committer() or
   gate_try_committer(). */
void commit_leave(struct file *file);

/* Close the frame writer of a file.  The committer calls this, or the thread
   that closes the file. */
void commit_close_writer(struct file *file);

/*
 * Choose the chunk parameters in the header of an empty frame, before it gets
 * its first chunks.  For the committer.
 *
 * Returns 0 or an error, after which it is to be tried again.
 */
int commit_choose_params(struct file *file, struct fault *fault);

/*
 * Check, before writing to space that the frame does not use, that no other
 * program has changed the frame.  This does not detect all such changes.  For
 * the committer.
 *
 * Returns 0 or -ESTALE.
 */
int commit_check_unchanged(struct file *file, struct fault *fault);

/*
 * Commit the written chunks, after waiting for encoders to leave.
 *
 * Returns 0 or an error.  -EBADMSG and -ENOTSUP may concern some chunks only;
 * the other chunks are committed then.
 */
int commit_run_writes(struct commit *commit, struct fault *fault);

/*
 * Commit an edit, and the written chunks unless the edit moves chunks.
 *
 *  edit  may be NULL
 *
 * Returns as commit_run_writes(), or the error of the edit.  After -ESTALE, all
 * uncommitted bytes are dropped, and no thread encodes until the committer
 * leaves; unless merge_is_possible().
 */
int commit_run(struct commit *commit, const struct writeback_edit *edit,
               struct fault *fault);

/* Become the committer and drop all uncommitted bytes for good, as after
   -ESTALE. */
void commit_invalidate(struct file *file);

#endif
