/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_PACK_H
#define WRITEBACK_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "writer/frame_change.h"

/*
 * Chunks for the end of a frame: encoded by many threads, added in the order
 * they came.  So the same bytes make the same frame, however many threads
 * there are.
 *
 * One thread uses a pack, and the change that it adds to.
 */
struct pack;

/*
 * Begin to add chunks to a change, which stays the caller's.
 *
 *  params     how they are encoded
 *  chunksize  bytes in the largest of them.  Memory for as many as keep all
 *             CPUs busy is used, but no more than 128 MiB, or two chunks if
 *             these are more
 *
 * Returns 0, -ENOMEM or another negative errno.
 */
int pack_new(struct frame_change *change, const struct chunk_params *params,
             size_t chunksize, struct pack **out);

/* What was not added is dropped.  Accepts NULL. */
void pack_free(struct pack *pack);

/*
 * Get room for the content of the next chunk, `chunksize` bytes, good until it
 * is put.  May wait for an earlier chunk, and add that.
 *
 * Returns 0, or why a chunk could not be added: as chunk_encode(),
 * frame_change_write() and frame_change_insert().
 */
int pack_room(struct pack *pack, uint8_t **out, struct fault *fault);

/* Put a chunk with the first bytes of the room; 1 <= `len` <= `chunksize`. */
void pack_put(struct pack *pack, size_t len);

/* Put a chunk of zeros, whatever is in the room. */
void pack_put_zeros(struct pack *pack, size_t len);

/* Add all chunks that were put.  Returns 0 or an error as pack_room(). */
int pack_finish(struct pack *pack, struct fault *fault);

#endif
