/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_INDEX_H
#define FRAME_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "store/store.h"

/*
 * The index of a frame: a chunk of 64-bit entries, one for each chunk of the
 * frame.  It is decoded a block at a time when entries are asked for, and the
 * blocks used last are kept.  Any number of threads may read it.
 *
 * Format: frame.md, 5 "The index chunk".
 */
struct index;

/*
 * Open the index.
 *
 *  off             of the index chunk in the object
 *  end             up to where it may reach
 *  head, head_len  its first bytes: some KB, or all up to `end`
 *
 * Returns 0, -EBADMSG, -ENOTSUP (also for blocks too large to be decoded in
 * memory), -ENOMEM, or an error of the store.  Offsets of faults count from
 * the start of the object.
 */
int index_open(struct store_object *object, uint64_t off, uint64_t end,
               const uint8_t *head, size_t head_len, struct index **out,
               struct fault *fault);

/* Accepts NULL. */
void index_close(struct index *index);

/* How many chunks it has the places of. */
uint64_t index_nentries(const struct index *index);

/*
 * After how many entries they repeat, without looking at them: 1 if all are
 * the same repeated value, nentries if nothing is known.
 */
uint64_t index_period(const struct index *index);

/*
 * Find out, at the cost of a short read, whether entries repeat.
 *
 *  first  where to look
 *  entry  receives the entry that repeats
 *
 * Returns how many from `first` on are the same; 0 if nothing is known.
 */
uint64_t index_run(struct index *index, uint64_t first, int64_t *entry);

/*
 * Read a block as it is stored: for an index that is made of it, and whose blocks
 * are split into planes, shuffled, and encoded with blosclz.
 *
 *  blocksize  of that index
 *  cap        room in `dst`
 *
 * Returns its length, or 0 if this index has no such block, or it can't be read.
 */
size_t index_read_block(struct index *index, uint64_t block_no,
                        uint32_t blocksize, uint8_t *dst, size_t cap);

/*
 * Read entries `first` to `first + n - 1`, which exist.  Returns 0 or an error
 * as above.
 */
int index_read(struct index *index, uint64_t first, size_t n, int64_t *entries,
               struct fault *fault);

#endif
