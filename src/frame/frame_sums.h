/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_SUMS_H
#define FRAME_FRAME_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ranges.h"
#include "frame/frame.h"
#include "frame/frame_format.h"

/*
 * Which chunks of a frame have sums (chunk/chunk_sums.h), and the sums of its
 * index.  Both are in the guard, which framefs writes between index and stamp.
 * The fingerprint in the trailer says that the guard is in force, and which
 * state of the frame it belongs to: programs that know nothing of it write a
 * trailer without a fingerprint when they change a frame.
 *
 * Format: framefs-format(7), "Sums".
 */

/* A guard that is in force.  Constant. */
struct frame_sums {
    struct ranges unsummed; /* places of chunks without sums: offsets as in the
                               index, or ids */
    uint8_t
        *sizes; /* if chunks differ in size, a sum of the sizes of each group
                       of FRAME_GUARD_GROUP chunks */
    size_t ngroups; /* 0: they do not differ */
    uint8_t *index; /* the record of the index */
    size_t index_len;
};

/* Return the length of the guard. */
size_t frame_sums_guard_len(const struct frame_sums *sums);

/*
 * Return the sum of the sizes of a group.
 *
 *  nbytes, n  decoded size of each chunk
 */
uint64_t frame_sums_of_sizes(const uint32_t *nbytes, size_t n);

/* Is it the one that is stored for the group? */
bool frame_sums_check_sizes(const struct frame_sums *sums, uint64_t group_no,
                            const uint32_t *nbytes, size_t n);

/* Write a guard. */
void frame_sums_encode(const struct frame_sums *sums, uint8_t *guard);

/* Parse a guard that the fingerprint confirms.  Returns 0, -EBADMSG or
   -ENOMEM. */
int frame_sums_parse(const uint8_t *guard, size_t len, struct frame_sums **out);

/*
 * Compute the record of an index.
 *
 *  index, len  the chunk that encodes it, or more bytes
 *  sums        receives the record
 *
 * Returns 0, -ENOMEM or an error of chunk_open().
 */
int frame_sums_of_index(const uint8_t *index, size_t len,
                        struct frame_sums *sums);

/* A guard as it is stored. */
struct frame_guard {
    const uint8_t *bytes;
    size_t len;
    const uint8_t *fingerprint;
};

/*
 * Make a guard again that the fingerprint refutes.  If all chunks have sums and
 * one size, the index determines every byte of it.  Otherwise the record of the
 * index is made again, and one damaged bit is found in other bytes, if these
 * are few.  The fingerprint then confirms guard, index and fields of the
 * header.
 *
 *  info        of the state
 *  index, len  the chunk that encodes the index
 *
 * Returns 0, -ENOMEM, or -EBADMSG if the fingerprint confirms no such guard.
 */
int frame_sums_mend(const struct frame_info *info,
                    const struct frame_guard *stored, const uint8_t *index,
                    size_t len, struct frame_sums **out);

/* Accepts NULL. */
void frame_sums_free(struct frame_sums *sums);

/* Has the chunk at this place sums? */
bool frame_sums_have(const struct frame_sums *sums, uint64_t place);

/*
 * Make the fingerprint of a state.
 *
 *  info  of the state
 *
 * Returns 0 or -ENOMEM.
 */
int frame_sums_fingerprint(const struct frame_info *info, const uint8_t *guard,
                           size_t len, uint8_t out[FRAME_FINGERPRINT_LEN]);

/* Are two fingerprints the same?  A few other bits do not count: those of
   another state differ in about half of all bits, so one with a few others is
   itself damaged, and what it stands for is not. */
bool frame_sums_is_fingerprint(const uint8_t *a, const uint8_t *b);

#endif
