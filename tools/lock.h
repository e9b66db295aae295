/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_LOCK_H
#define TOOLS_LOCK_H

#include <stdbool.h>

#include "store/store.h"

/*
 * Are frames to be locked?  The user asks for that by the variable by which
 * programs that use C-Blosc2 are asked, BLOSC_LOCKING.
 */
bool lock_is_wanted(void);

/* Set it, for b2frame --lock.  Before there are threads. */
void lock_want(void);

/*
 * Lock a frame by its sidecar, until the store is closed.  Waits for others as
 * long as they like, or until there is an interrupt.
 *
 *  store      opened with STORE_LOCK.  If it has no sidecar, that is all
 *  exclusive  the frame is to be changed, which is counted
 *
 * Returns 0, -EINTR, or the error of a file system that has no locks.
 *
 * Format: Blosc2 locking, ".b2lock".
 */
int lock_store(struct store *store, bool exclusive);

#endif
