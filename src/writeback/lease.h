/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_LEASE_H
#define WRITEBACK_LEASE_H

#include <stdbool.h>

#include "base/fault.h"
#include "store/store.h"

/*
 * Take the lease on a frame, see store_lease(), and wait for whoever has it.
 *
 *  patience  seconds to wait at most
 *  give_up   asked now and then whether to go on waiting, -EINTR if not; NULL:
 *            nobody is asked
 *
 * Returns 0; -EBUSY, with a fault that names the process that has the lease if
 * that is known; -EINTR; -ESTALE if another file has taken the place of the
 * frame's; or an error of the store.
 */
int lease_take(struct store *store, unsigned patience, bool (*give_up)(void),
               struct fault *fault);

/* Make sure that the lease can be taken later, see store_prepare_lease().  Returns 0
   or an error of the store. */
int lease_prepare(struct store *store, struct fault *fault);

/* Hold the store of a frame, see store_hold(), once nobody else is just replacing
   the frame.  `patience` and errors as above. */
int lease_hold(struct store *store, unsigned patience, struct fault *fault);

#endif
