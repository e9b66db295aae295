/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_KERNEL_H
#define OPEN_KERNEL_H

#include "open/open_file.h"

/*
 * Notify the kernel that other programs have changed an open file.
 *
 * In a mount with the kernel's writeback cache, the kernel trusts its own size
 * and content of a file.  The daemon has to tell it to drop its pages, and
 * makes it see that the file has grown by storing a byte at the end of the
 * file.  There is no way to tell the kernel that a file has shrunk.
 *
 * The kernel may have to write dirty pages first, and that may have to wait for
 * the reply to the request that a thread is handling now.  So fs->notifier does
 * this, a thread that answers no requests.
 *
 * The kernel then waits, uninterruptibly, for pages that are being read.  If
 * the process is killed meanwhile, the thread stays, and so do the descriptors;
 * the kernel would learn only from their closing that nobody answers.  Every
 * call that drops pages or makes a file longer waits like that.  `framefs
 * --unmount` ends the wait: see fuse/unmount.c.
 */
void kernel_notify(struct fs *fs, struct node *node,
                   struct open_version *version);

/*
 * Tell the kernel that a file is longer than it believes, before this returns.
 * The kernel must have no pages of the file, because it waits for those that it
 * has asked for.
 *
 * Returns 0, -ENOTCONN if the daemon is about to exit, or another negative
 * errno.
 */
int kernel_tell_size(struct fs *fs, const struct node *node,
                     struct open_version *version);

/*
 * If a notification about a file is pending, run a task as soon as the kernel
 * has received it.  The task sends the reply to a request whose program must
 * not see what the kernel cached before, and then calls kernel_end().  Returns
 * false if there is nothing to wait for.
 */
bool kernel_defer(struct fs *fs, struct node *node, struct pool_task *task);

/*
 * Make the kernel ask for a file's attributes again.  This touches no page, so
 * the kernel waits for nothing and any thread may call it.
 */
void kernel_forget_attributes(struct fs *fs, struct node *node);

/*
 * Make the kernel write back its dirty pages of a file from an offset on.  The
 * WRITE requests have been answered when this returns.  The kernel also drops
 * the clean pages there; it has no call that only writes.
 *
 * The caller must not be a thread that answers requests, for the reason given
 * above.  The kernel waits only for page locks here, so it does not matter
 * which inode lock it holds for the request that the caller is to answer.
 *
 * Returns 0, or -ENOTCONN if the daemon is about to exit.
 */
int kernel_flush(struct fs *fs, struct node *node, off_t off);

/*
 * Mark the beginning and the end of a call to the kernel that waits until
 * requests are answered.  kernel_begin() returns false if no more such calls
 * may be made.
 */
bool kernel_begin(struct fs *fs);
void kernel_end(struct fs *fs);

/*
 * Wait until the kernel has received all notifications, and send none from then
 * on.  Requests must be answered until this returns, because a notification
 * waits for pages that the kernel has asked for.
 */
void kernel_stop_notifications(struct fs *fs);

/*
 * Make the kernel drop pages of a file; `len` is 0 for all from `off` on.  If
 * the daemon has refused these pages, the caller must have answered their WRITE
 * request first.  They are dropped because they would go on showing bytes that
 * are not stored.
 */
void kernel_drop(struct fs *fs, struct node *node, uint64_t off, uint64_t len);

#endif
