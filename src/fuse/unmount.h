/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_UNMOUNT_H
#define FUSE_UNMOUNT_H

/*
 * Unmount, and wait until the daemon has saved everything.
 *
 * A daemon of this user or of root is waited for without limit, any other for
 * MOUNT_WAIT_SECONDS.  Returns an exit status, failure also if something could
 * not be saved; problems are logged.  If the mount is busy, or it is none of framefs, nothing has happened.
 */
int unmount_run(const char *mountpoint);

#endif
