/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_FRAME_LOCK_H
#define WRITEBACK_FRAME_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sidecar;

/*
 * How a file and other processes lock each other out of its frame.  Only
 * src/writeback touches it.  The gate knows whether the frame is locked.
 */
struct frame_lock {
    struct sidecar *sidecar; /* constant; NULL: others are not locked out */

    /* Read without a lock; changed by the thread for which gate.locking is set,
       and while the file is opened. */
    atomic_uint_fast64_t
        seen; /* the sidecar's count at the newest state, and */
    atomic_uint_fast64_t next; /* while that is counted up, what it becomes */

    atomic_bool renewed;  /* see file_take_renewed() */
    atomic_bool unlinked; /* see file_set_unlinked() */
};

#endif
