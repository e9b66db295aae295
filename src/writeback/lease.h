/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_LEASE_H
#define WRITEBACK_LEASE_H

#include <stdbool.h>

#include "base/fault.h"
#include "store/store.h"

/*
 * Take the lease on a frame, see store_lease().  Waits for the process that has
 * it.
 *
 *  timeout  longest time to wait, in seconds
 *  give_up  called now and then; -EINTR is returned if it returns true; may be
 *           NULL
 *
 * Returns 0; -EBUSY, with a fault that names the process that has the lease if
 * that is known; -EINTR; -ESTALE if another file has taken the place of the
 * frame's; or an error of the store.
 */
int lease_take(struct store *store, unsigned timeout, bool (*give_up)(void),
               struct fault *fault);

/* Make sure that the lease can be taken later, see store_prepare_lease().
   Returns 0 or an error, as lease_take(). */
int lease_prepare(struct store *store, struct fault *fault);

/* Show that the store of a frame is in use, see store_lock_in_use(), after
   waiting for a process that is replacing the frame.  `timeout` and errors as
   lease_take(). */
int lease_lock_in_use(struct store *store, unsigned timeout,
                      struct fault *fault);

#endif
