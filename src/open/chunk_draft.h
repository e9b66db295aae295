/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_CHUNK_DRAFT_H
#define OPEN_CHUNK_DRAFT_H

#include "open/open_file.h"

/*
 * The bytes of a chunk that a program writes through a chunk file, of one
 * handle.  They are put into the frame as a whole when the program closes the
 * file, or syncs it.  A draft without bytes, or without changes, is not put,
 * because a chunk is never empty.  Nor is a draft that lacks bytes which the
 * program could not write, until it has written them or cut them off.
 *
 * The frame is opened for that on its own, so a chunk is put as if another
 * program did it: programs that have the frame open notice the change.
 *
 * One thread at a time uses a draft; the others wait.  A thread may wait for
 * another process meanwhile, until it gives up the lease of the frame.
 */
struct chunk_draft;

/*
 * Make the draft of a chunk file that is open for reading.
 *
 *  how    R_OK, W_OK or both, for which the program must have the right
 *  empty  the program has truncated the file; else the draft begins with the
 *         chunk as it is
 *
 * Returns 0, -EACCES, or an error of file_read() or chunk_draft_write().
 */
int chunk_draft_new(struct fs *fs, struct open_file *open, int how, bool empty,
                    struct chunk_draft **out);

/* Accepts NULL.  Changes that were not put are lost. */
void chunk_draft_free(struct chunk_draft *draft);

/* Copy bytes out.  Returns their number, less than `size` at the end. */
size_t chunk_draft_read(struct chunk_draft *draft, char *buf, size_t size,
                        uint64_t off);

/* Write bytes, or set the size; bytes in between are zeros.  Returns 0; -EFBIG
   if no chunk of the frame, or none that is put by a draft, has so many; or
   -ENOMEM if the drafts of the mount have too many. */
int chunk_draft_write(struct chunk_draft *draft, const char *buf, size_t size,
                      uint64_t off);
int chunk_draft_truncate(struct chunk_draft *draft, uint64_t size);

/*
 * Put the chunk, if the draft has changed.
 *
 *  node  of the chunk file
 *
 * Returns 0; the error with which the first bytes were refused, if some still
 * lack; -EINVAL if the bytes are no chunk that suits the frame; -ESTALE if
 * the chunk is gone; -EACCES if the name leads to another frame by now, to
 * which the program that this thread serves may not write; or an error of
 * chunk_edit_run() or file_chunk_put(), after a line in the log.  After an
 * error, the next call tries again.
 */
int chunk_draft_commit(struct fs *fs, struct node *node,
                       struct chunk_draft *draft);

/* An edit of the frame that a chunk file, or a directory of these, is a view
   of. */
struct chunk_edit {
    int (*run)(struct file *file, const struct backing_place *place,
               const struct chunk_edit *edit, struct fault *fault);
};

/*
 * Open the frame of a view, and run an edit of its chunks.  If another thread
 * or program has changed the frame meanwhile, this is done again.
 *
 *  node  of a chunk file, or of the directory
 *
 * Returns the result of the edit; -EROFS if the frame cannot be changed;
 * -ESTALE if it is gone; or an error of file_open_writable().
 */
int chunk_edit_run(struct fs *fs, struct node *node,
                   const struct chunk_edit *edit, struct fault *fault);

#endif
