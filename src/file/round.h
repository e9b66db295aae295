/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_ROUND_H
#define FILE_ROUND_H

#include "file/writeback.h"

/* One commit: chunks are collected, put to the change and made durable; then
   readers see the state that came of it. */

/* A commit on its way, which only the committer of its file has. */
struct round {
    struct file *file;
    uint64_t nbytes;     /* size of the file that it makes durable */
    struct frame *frame; /* the state that came of it */
    bool reshapes;       /* see struct writeback_edit */
    bool nosync;         /* it need not be durable */
};

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

/* Drop what was not committed, for good: as after -ESTALE. */
void round_give_up(struct file *file);

#endif
