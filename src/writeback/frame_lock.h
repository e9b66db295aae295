/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_FRAME_LOCK_H
#define WRITEBACK_FRAME_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "state/file_private.h"

/*
 * The frame lock: the right to change a frame.  A file has it from before its
 * first byte is changed until everything is committed, and no other process of
 * framefs may change the frame meanwhile, because the file has the lease on it,
 * see store_lease().  If the frame has a lock file (see lock_file.h), that is
 * locked, too, so that no program that respects lock files reads or changes the
 * frame.
 */

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

    atomic_bool reopened; /* see file_take_reopened() */
    atomic_bool unlinked; /* see file_set_unlinked() */
};

/*
 * Lock the frame before an operation that changes the file.  If other programs
 * have changed the frame, and it has a lock file, this reopens it first.  This
 * may wait for other processes, and for all threads that the gate has let in,
 * so such a thread must not call it.
 *
 * Returns 0; -EBUSY as lease_take() and lock_file_lock(); -ESTALE if other
 * programs have changed the frame or replaced its file; or an error of the
 * store.
 */
int frame_lock_enter(struct file *file, struct fault *fault);

/* Reopen the frame, because another program has committed since
   frame_lock_enter() has found it unchanged, unless another thread has begun to
   change it.  The caller is in no role of the gate.  Returns as
   frame_lock_enter(). */
int frame_lock_begin_again(struct file *file, struct fault *fault);

/* Reopen the frame of a file if other programs have changed it, without locking
   the frame.  Returns as frame_lock_enter(). */
int frame_lock_catch_up(struct file *file, struct fault *fault);

/* End an operation that frame_lock_enter() began. */
void frame_lock_leave(struct file *file);

/* Unlock the frame if no thread needs the lock any more.  Every function that
   ends the need for it calls this. */
void frame_lock_release_unused(struct file *file);

/*
 * Stop changing a file, because another struct file has been opened for the
 * same frame: drop uncommitted changes, and let frame_lock_enter() fail from
 * now on.  Nothing happens if the file has the frame lock and its newest state
 * is the stored one, because the file is then the newest one.
 *
 *  replaced  another file has taken the place of the frame's
 *
 * Returns whether the file is superseded; false also if another process has
 * refused the frame lock to a thread that this one waited for.
 */
bool frame_lock_supersede(struct file *file, bool replaced);

/* Release the frame lock and the lock file as the last step of closing the
   file. */
void frame_lock_close(struct file *file);

/*
 * Keep other programs from changing a frame that has a lock file, for a short
 * time, and make sure that the newest state is open; and let them change it
 * again.
 *
 * Returns 0, or as frame_lock_enter().
 */
int frame_lock_share(struct file *file, struct fault *fault);
void frame_lock_unshare(struct file *file);

/*
 * Set up the frame lock of a file that was just opened.
 *
 *  lock_file  becomes the file's; NULL: other programs are not locked out
 *  count      count of the lock file when the newest state was opened
 */
void frame_lock_set_lock_file(struct file *file, struct lock_file *lock_file,
                              uint64_t count);

/* See file_set_unlinked() and file_take_reopened(). */
void frame_lock_set_unlinked(struct file *file, bool unlinked);
bool frame_lock_take_reopened(struct file *file);

/* Is the open state the newest one, as far as the lock file tells?  False also
   if the lock file cannot be read; frame_lock_catch_up() returns the error. */
bool frame_lock_is_current(struct file *file);

#endif
