/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_LOCK_H
#define TOOLS_LOCK_H

#include <stdbool.h>

#include "store/store.h"

/* Should frames be locked?  The user asks for it with the environment variable
   BLOSC_LOCKING, which programs that use C-Blosc2 read too. */
bool lock_is_wanted(void);

/* Set that variable, for b2frame --lock.  Called before there are threads. */
void lock_want(void);

/*
 * Lock a frame by its lock file, until the store is closed.  Waits as long as
 * other programs hold the lock, or until the user interrupts the program.
 *
 *  store      opened with STORE_LOCK; nothing is done if it has no lock file
 *  exclusive  lock the frame for a change, and count that in the lock file
 *
 * Returns 0, -EINTR, or an error of the system, such as that of a file system
 * without locks.
 *
 * Format: Blosc2 locking, ".b2lock".
 */
int lock_store(struct store *store, bool exclusive);

#endif
