/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_MOUNT_WAIT_H
#define FUSE_MOUNT_WAIT_H

#include "fuse/mount_lock.h"

/*
 * Wait until daemons of earlier mounts have written what they still have of
 * SOURCE.  A mount that is there is not waited for.
 *
 * This tells the user, once, if it takes more than a moment.  SIGINT ends the
 * process as usual.  The wait has no limit if the daemon is one of this user's
 * or of root's; else it ends after MOUNT_WAIT_SECONDS with a warning, because
 * any user who may read a directory can make the lock.
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
