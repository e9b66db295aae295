/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_REMOUNT_H
#define FUSE_REMOUNT_H

/*
 * Change the flags of a mount, as `mount -o remount` wants of the helper that
 * it calls.
 *
 *  flags  a list with commas; the last one of two that contradict each other
 *         holds
 *
 * Returns the exit status of the process.
 */
int remount_run(const char *mountpoint, const char *flags);

#endif
