/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_KERNEL_H
#define OPEN_KERNEL_H

#include "open/open_file.h"

/*
 * Tell the kernel that others have changed a file that is open.
 *
 * Of a writable mount the kernel takes a file's size and content for its own
 * affair: it has to be told to drop what it caches, and that the file has grown
 * by a byte written at its end.  There is no way to tell that it was cut.
 *
 * The kernel may have to write to the file first, and that may have to wait for
 * the reply to the request that is being handled.  So this is done by
 * fs->teller, which answers no requests.
 *
 * The kernel then waits for pages that are being read, whatever happens: if the
 * process is killed, the thread stays, and with it the descriptors by whose end
 * the kernel would learn that nobody answers.  There is no way to drop pages,
 * nor to make a file longer, that does without.
 */
void kernel_tell(struct fs *fs, struct node *node, struct snapshot *snapshot);

/*
 * If the kernel is being told of a file, have a task run as soon as it has been:
 * the reply to a request by which it asks if what it caches is current.  The task
 * calls kernel_end().  Returns false if there is nothing to wait for.
 */
bool kernel_defer(struct fs *fs, struct node *node, struct pool_task *task);

/*
 * Make the kernel ask for a file's attributes again.  That concerns no page, so
 * the kernel waits for nothing, and any thread may call this.
 */
void kernel_forget_attributes(struct fs *fs, struct node *node);

/*
 * Make the kernel hand over its dirty pages of a file, from an offset on, by
 * WRITE requests that have been answered when this returns.  The kernel drops
 * the clean pages there, too: it has no call that only writes.
 *
 * The caller must be no thread that answers requests, as above.  The kernel
 * waits for its own locks on pages only, so it is no matter which lock of the
 * inode the request holds that the caller is to answer.
 *
 * Returns 0, or -ENOTCONN if the daemon is about to leave.
 */
int kernel_flush(struct fs *fs, struct node *node, off_t off);

/*
 * Count a call to the kernel that waits for requests to be answered, before it
 * begins and when it is over.  kernel_begin() returns false if there are to be
 * no more.
 */
bool kernel_begin(struct fs *fs);
void kernel_end(struct fs *fs);

/*
 * Wait until the kernel knows all that it was told of, and tell it nothing from
 * then on.  Requests are to be answered until this returns: what is told waits
 * for pages that the kernel has asked for.
 */
void kernel_tell_no_more(struct fs *fs);

/*
 * Make the kernel drop pages of a file; `len` is 0 for all from `off` on.  If the
 * daemon has refused them, because they would go on showing bytes that are not
 * stored, the caller has answered the request that brought them.
 */
void kernel_drop(struct fs *fs, struct node *node, uint64_t off, uint64_t len);

#endif
