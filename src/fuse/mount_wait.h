/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_MOUNT_WAIT_H
#define FUSE_MOUNT_WAIT_H

#include "fuse/mount_lock.h"

/*
 * Wait until daemons of earlier mounts have written the data that they still
 * hold for SOURCE.  This does not wait for a mount that still exists.
 *
 * It logs once that it waits, if it takes more than a moment.  SIGINT ends the
 * process as usual.  The wait has no limit if the daemon belongs to this user
 * or to root and is known to be unmounted.  Otherwise, because any user who may
 * read a directory can make the lock, it ends after at most MOUNT_WAIT_SECONDS,
 * with a warning if the wait was logged.
 */
enum {
    MOUNT_WAIT_SECONDS = 60
};

/*
 *  lock    as opened for SOURCE, not taken
 *  source  the name to use in messages
 */
void mount_wait_for_others(const struct mount_lock *lock, const char *source);

#endif
