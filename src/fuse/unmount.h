/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_UNMOUNT_H
#define FUSE_UNMOUNT_H

/*
 * Unmount, and wait until the daemon has saved everything.
 *
 * The wait for a daemon of this user or of root has no limit; for any other it
 * ends after MOUNT_WAIT_SECONDS.  Returns an exit status, which is failure also
 * if something could not be saved; problems are logged.  If the mount is busy
 * or is not one of framefs, it stays as it was.  If it was one of several bind
 * mounts, the daemon goes on, so this does not wait.
 *
 * A daemon that was killed by SIGKILL may not end, because one of its threads
 * waits for the kernel, and the kernel for the daemon.  Then all requests are
 * made to fail, and the mount goes even if it is busy.
 */
int unmount_run(const char *mountpoint);

#endif
