/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_KERNEL_WRITEBACK_H
#define FUSE_KERNEL_WRITEBACK_H

#include <stdint.h>

#include "base/ticker.h"
#include "tree/fs.h"

/*
 * A thread that makes the kernel hand over the dirty pages that programs have
 * written.  Otherwise the kernel keeps them for half a minute, and the daemon
 * cannot commit bytes that it has never seen.
 *
 * syncfs(2) of the mount does that.  A descriptor in the mount would make it
 * busy when a user wants to unmount it.  So the thread opens a copy of the
 * mount that is nowhere in the tree.  This takes a privilege.  Without it, the
 * daemon tells the kernel to drop the pages of each file that is open for
 * writing, and the kernel first writes back the dirty ones.
 */
struct kernel_writeback {
    struct fs *fs;
    const char *mountpoint;
    uint64_t dev; /* of the mount */
    struct ticker ticker;
};

/*
 * Start the thread, if the mount uses the kernel's writeback cache.
 *
 *  mountpoint  as the kernel knows it; stays the caller's, who keeps it until
 *              kernel_writeback_stop()
 *  dev         device number of the mount
 *  seconds     between two runs; 0: start no thread; programs sync by
 *              themselves
 *
 * Returns 0 or a negative errno.
 */
int kernel_writeback_start(struct kernel_writeback *writeback, struct fs *fs,
                           const char *mountpoint, uint64_t dev,
                           unsigned seconds);

/* Does nothing if the thread was never started. */
void kernel_writeback_stop(struct kernel_writeback *writeback);

#endif
