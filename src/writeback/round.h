/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_ROUND_H
#define WRITEBACK_ROUND_H

#include "state/file_private.h"

/* One commit: chunks are collected, put to the change and made durable; then
   readers see the state that came of it. */

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

/* A commit on its way, which only the committer of its file has. */
struct round {
    struct file *file;
    uint64_t nbytes;     /* size of the file that it makes durable */
    struct frame *frame; /* the state that came of it */
    bool reshapes;       /* see struct writeback_edit */
    bool nosync;         /* it need not be durable */
};

/* Stop being the committer, which gate_enter_committer() has made this thread. */
void round_leave(struct file *file);

/* Close the change of a file.  Called by the committer, or when the file is
   closed. */
void round_close_change(struct file *file);

/*
 * Before an empty frame gets its first chunks, decide what its header is to
 * say of them.  For the committer.
 *
 * Returns 0 or an error; it is to be tried again then.
 */
int round_decide_params(struct file *file, struct fault *fault);

/*
 * Before anything is written to where a frame has nothing: do others have?  Not
 * all ways in which they may change it are seen.  For the committer.
 *
 * Returns 0 or -ESTALE.
 */
int round_check_own(struct file *file, struct fault *fault);

/*
 * Commit what was written, waiting for those who encode.
 *
 * Returns 0 or an error.  -EBADMSG and -ENOTSUP may concern some chunks only;
 * the others are committed then.
 */
int round_run_writes(struct round *round, struct fault *fault);

/*
 * Commit an edit, and what was written unless the edit reshapes the file.
 *
 *  edit  NULL: nothing else
 *
 * Returns as round_run_writes(), or the error of the edit.  After -ESTALE, what
 * was not committed is dropped, and nobody encodes until the committer is done.
 */
int round_run(struct round *round, const struct writeback_edit *edit,
              struct fault *fault);

/* Become the committer, and drop what was not committed, for good: as after
   -ESTALE. */
void round_give_up(struct file *file);

#endif
