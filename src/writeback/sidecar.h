/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_SIDECAR_H
#define WRITEBACK_SIDECAR_H

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
 * frame in a context share one struct sidecar.
 *
 * A thread that has to wait for another program waits as long as the context's
 * `patience`, and holds no lock of ours meanwhile.
 *
 * Format: Blosc2 locking, ".b2lock".
 */
struct sidecar;

/*
 * Find the lock file of a store, and take a reference to its sidecar.
 *
 *  out  receives the sidecar, or NULL if the context locks no frames, or the
 *       store has no lock file
 *
 * Returns 0 or a negative errno.
 */
int sidecar_get(struct file_context *context, struct store *store,
                struct sidecar **out);

/* Drop a reference.  Accepts NULL. */
void sidecar_put(struct file_context *context, struct sidecar *sidecar);

/*
 * Lock out writers of other programs, or all users of the frame.  Readers of
 * this context get in while its own writer has the lock, because they look at
 * the count again afterwards.
 *
 * Returns 0; -EBUSY if another program did not release the lock in time; or an
 * error of a file system without locks.
 */
int sidecar_share(struct sidecar *sidecar, struct fault *fault);
int sidecar_claim(struct sidecar *sidecar, struct fault *fault);

/* Set the fault for a frame that another program has locked.  Returns
   -EBUSY. */
int sidecar_refuse(struct fault *fault);

/* Release these locks. */
void sidecar_unshare(struct sidecar *sidecar);
void sidecar_unclaim(struct sidecar *sidecar);

/* Return the count, which is the number of changes that have begun.  It needs
   no lock, because a writer increments it before it changes the frame. */
uint64_t sidecar_count(struct sidecar *sidecar);

/* Set the count.  The caller has the lock of sidecar_claim().  Returns 0 or an
   error. */
int sidecar_set_count(struct sidecar *sidecar, uint64_t count,
                      struct fault *fault);

/* Read and write the count of a lock file that the caller itself has locked. */
uint64_t sidecar_read_count(struct store_object *object);
int sidecar_write_count(struct store_object *object, uint64_t count);

#endif
