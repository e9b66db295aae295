/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_FRAME_LOCK_H
#define WRITEBACK_FRAME_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct lock_file;

/* The lock between a file and other processes that use its frame.  Only
   src/writeback accesses it.  The gate knows whether the frame is locked. */
struct frame_lock {
    struct lock_file
        *lock_file; /* the lock file; constant; NULL: other programs are not
                       locked out */

    /* Read without a lock.  Changed by the thread for which gate.locking is
       set, and while the file is opened. */
    atomic_uint_fast64_t seen; /* count of the lock file at the newest state */
    atomic_uint_fast64_t next; /* while this process increments the count, the
                                  new value */

    atomic_bool renewed;  /* see file_take_renewed() */
    atomic_bool unlinked; /* see file_set_unlinked() */
};

#endif
