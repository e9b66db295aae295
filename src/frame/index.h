/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_INDEX_H
#define FRAME_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "store/store.h"

/*
 * The index of a frame: a chunk of 64-bit entries, one for each chunk of the
 * frame.  It is decoded a block at a time when the caller reads entries, and
 * keeps the blocks that were used last.  Any number of threads may read it.
 *
 * Format: frame.md, 5 "The index chunk".
 */
struct index;

/* Number of bytes at the start of an index that suffice to open it quickly. */
enum {
    INDEX_HEAD_LEN = 4096
};

/* The place of an index, and its first bytes. */
struct index_source {
    struct store_object *object; /* must outlive the index */
    uint64_t off;                /* of the index chunk in the object */
    uint64_t end;                /* of the space that it may take up */
    const uint8_t
        *head; /* the first INDEX_HEAD_LEN bytes, or all up to `end` */
    size_t head_len;
    const uint8_t *sums; /* the record of its sums, see chunk_sums.h, which it
                            must match; NULL: none */
    size_t sums_len;
};

/*
 * Open the index.  The head is needed only until this returns.
 *
 * The index keeps a copy of the sums, and whatever is read of it later must
 * match them, too.  Returns 0, -EBADMSG, -ENOTSUP (also for blocks too large to
 * be decoded in memory), -ENOMEM, or an error of the store.  Offsets of faults
 * count from the start of the object.
 */
int index_open(const struct index_source *source, struct index **out,
               struct fault *fault);

/* Accepts NULL. */
void index_close(struct index *index);

/* The number of entries. */
uint64_t index_nentries(const struct index *index);

/*
 * The period after which the entries repeat, as far as the header of the index
 * shows it: 1 if all are the same repeated value, nentries if nothing is known.
 */
uint64_t index_period(const struct index *index);

/*
 * Find out, at the cost of a short read, whether entries repeat.
 *
 *  first  the entry to start from
 *  entry  receives the entry that repeats
 *
 * Returns the number of equal entries from `first` on; 0 if nothing is known.
 */
uint64_t index_run(struct index *index, uint64_t first, int64_t *entry);

/*
 * Read a block as it is stored, so that the caller can use it in a new index.
 * The blocks of that index are split into planes, shuffled, and encoded with
 * blosclz.
 *
 *  blocksize  of the new index
 *  cap        size of `dst`
 *
 * Returns the length of the block, or 0 if this index has no such block or the
 * read fails.
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
