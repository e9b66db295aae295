/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_LOCK_FILE_H
#define WRITEBACK_LOCK_FILE_H

#include <stdint.h>

#include "base/fault.h"
#include "store/store.h"

struct file_context;

/*
 * The lock file of a frame, through which programs that share the frame lock
 * each other out.  It lies next to the frame and holds a count, which every
 * writer increments when it has got the lock.
 *
 * The system releases a file lock only for the descriptor that took it, and two
 * descriptors of one process exclude each other.  So all open files of one
 * frame in a context share one struct lock_file.
 *
 * A thread that has to wait for another program waits as long as the context's
 * `lock_timeout`, and holds no lock of ours meanwhile.
 *
 * Format: Blosc2 locking, ".b2lock".
 */
struct lock_file;

/*
 * Find the lock file of a store, and take a reference to it.
 *
 *  out  receives the lock file, or NULL if the context locks no frames, or the
 *       store has no lock file
 *
 * Returns 0 or a negative errno.
 */
int lock_file_get(struct file_context *context, struct store *store,
                  struct lock_file **out);

/* Drop a reference.  Accepts NULL. */
void lock_file_put(struct file_context *context, struct lock_file *lock_file);

/*
 * Lock out writers of other programs, or all users of the frame.  Readers of
 * this context get in while its own writer has the lock, because they look at
 * the count again afterwards.
 *
 * Returns 0; -EBUSY if another program did not release the lock in time; or an
 * error of a file system without locks.
 */
int lock_file_lock_shared(struct lock_file *lock_file, struct fault *fault);
int lock_file_lock(struct lock_file *lock_file, struct fault *fault);

/* Set the fault for a frame that another program has locked.  Returns
   -EBUSY. */
int lock_file_refuse(struct fault *fault);

/* Release these locks. */
void lock_file_unlock_shared(struct lock_file *lock_file);
void lock_file_unlock(struct lock_file *lock_file);

/* Get the count, which is the number of changes that have begun.  It needs no
   lock, because a writer increments it before it changes the frame.  Returns 0
   or an error. */
int lock_file_count(struct lock_file *lock_file, uint64_t *out,
                    struct fault *fault);

/* Set the count.  The caller has the lock of lock_file_lock().  Returns 0 or an
   error. */
int lock_file_set_count(struct lock_file *lock_file, uint64_t count,
                        struct fault *fault);

/* Read and write the count of a lock file that the caller itself has locked.  A
   lock file that is too short for a count has the count 0.  Returns 0 or an
   error of the store. */
int lock_file_read_count(struct store_object *object, uint64_t *out);
int lock_file_write_count(struct store_object *object, uint64_t count);

#endif
