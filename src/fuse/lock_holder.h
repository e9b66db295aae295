/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_LOCK_HOLDER_H
#define FUSE_LOCK_HOLDER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The processes that hold locks of mounts, see mount_lock.h.
 *
 * Anyone who may read a directory may lock any byte of it, so a lock alone
 * proves nothing.
 */

/*
 * Does the process hold an OFD lock of the byte, and belong to a user or to
 * root?
 *
 * Returns false also if that cannot be found out, as of a process of another
 * PID namespace.
 */
bool lock_holder_is_of(pid_t pid, off_t off, uid_t uid);

/* The same for the user of this process.  No other process is waited for
   without limit. */
bool lock_holder_is_trusted(pid_t pid, off_t off);

/*
 * Open the file of a process that the process has locked, to read.  Returns -1
 * if there is none, or it may not be read.
 */
int lock_holder_open(pid_t pid, off_t off);

/* Called for each OFD lock of one byte on this machine, by its offset; returns
   true to stop. */
typedef bool lock_holder_visit(void *arg, off_t off);

/* Visit the locks of all processes.  Returns 0 or a negative errno. */
int lock_holder_list(lock_holder_visit *visit, void *arg);

#endif
