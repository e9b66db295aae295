/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_SYNC_ALL_H
#define FUSE_SYNC_ALL_H

struct fs;

/*
 * Sync every file system that was written to: that of SOURCE, and those below
 * it that are in `fs->written`, because syncfs(2) reaches only one.  Does
 * nothing in a read-only mount.  Returns 0, or an error, which was logged.
 */
int sync_all(struct fs *fs);

#endif
