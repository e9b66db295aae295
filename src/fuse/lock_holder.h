/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_LOCK_HOLDER_H
#define FUSE_LOCK_HOLDER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The processes that hold the locks of mounts, see mount_lock.h.
 *
 * Any user who may read a directory may lock any byte of it, so a lock alone
 * proves nothing.
 */

/*
 * Does the process hold an OFD lock of the byte, and does it belong to a user
 * or to root?
 *
 * Returns false also if that cannot be found out, for example because the
 * process is in another PID namespace.
 */
bool lock_holder_is_of(pid_t pid, off_t off, uid_t uid);

/* The same for the user of this process.  Only such a process is waited for
   without limit. */
bool lock_holder_is_trusted(pid_t pid, off_t off);

/*
 * Was the process killed, without having ended?  It holds the lock and belongs
 * to a user or to root, as above.
 *
 * No thread of it runs again.  But a thread that waits in the kernel keeps
 * the descriptors of the process, and so the lock, as long as it waits.
 */
bool lock_holder_is_killed(pid_t pid, off_t off, uid_t uid);

/*
 * Open for reading the file that a process has locked at an offset.  Returns -1
 * if there is none, or if this user may not read it.
 */
int lock_holder_open(pid_t pid, off_t off);

/* Called for each OFD lock of one byte on this machine, with its offset.
   Returns true to stop. */
typedef bool lock_holder_visit(void *arg, off_t off);

/* Visit the locks of all processes.  Returns 0 or a negative errno. */
int lock_holder_list(lock_holder_visit *visit, void *arg);

#endif
