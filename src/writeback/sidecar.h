/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_SIDECAR_H
#define WRITEBACK_SIDECAR_H

#include <stdint.h>

#include "base/fault.h"
#include "store/store.h"

struct file_context;

/*
 * What programs that share a frame lock each other out by: a file beside it,
 * with a number that every writer counts up when it has got the lock.
 *
 * The system lets go of a lock only for the descriptor that took it, and two
 * descriptors of one process are in each other's way.  So all files of a
 * context that are open for one frame share one.
 *
 * Who is in the way is waited for, as long as the context is patient, without
 * any lock of ours.
 *
 * Format: Blosc2 locking, ".b2lock".
 */
struct sidecar;

/*
 * Find the sidecar of a store.
 *
 *  out  receives it, or NULL if the context locks no frames, or the store has
 *       none
 *
 * Returns 0 or a negative errno.
 */
int sidecar_get(struct file_context *context, struct store *store,
                struct sidecar **out);

/* Accepts NULL. */
void sidecar_put(struct file_context *context, struct sidecar *sidecar);

/*
 * Keep writers of other programs out, or everybody.  Readers of this context
 * are let in beside its writer, as they look again at the count afterwards.
 *
 * Returns 0; -EBUSY if others did not let go of it; or the error of a file
 * system that has no locks.
 */
int sidecar_share(struct sidecar *sidecar, struct fault *fault);
int sidecar_claim(struct sidecar *sidecar, struct fault *fault);

/* Set the fault of -EBUSY, which is returned. */
int sidecar_refuse(struct fault *fault);

/* Give that back. */
void sidecar_unshare(struct sidecar *sidecar);
void sidecar_unclaim(struct sidecar *sidecar);

/* How many changes have been begun.  Needs no lock: writers count first. */
uint64_t sidecar_count(struct sidecar *sidecar);

/* Set the count.  Called by who has claimed it.  Returns 0 or an error. */
int sidecar_set_count(struct sidecar *sidecar, uint64_t count,
                      struct fault *fault);

/* The same of a sidecar that the caller has locked by himself. */
uint64_t sidecar_read_count(struct store_object *object);
int sidecar_write_count(struct store_object *object, uint64_t count);

#endif
