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
 * index, its metalayers and the tags of its chunks (frame/frame_tags.h).  All
 * are in the guard, which framefs writes between index and stamp.  The
 * fingerprint in the trailer says that the guard is in force, and which state
 * of the frame it belongs to: programs that know nothing of it write a trailer
 * without a fingerprint when they change a frame.
 *
 * These programs may overwrite a metalayer in the header without a change of
 * the trailer.  So a metalayer that does not match its sum is no damage.  They
 * change neither names nor lengths of metalayers, nor what an array's
 * metalayer says of the places of items, in that way.
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
    size_t ngroups;   /* 0: they do not differ */
    uint8_t *layers;  /* a sum of the content of each vlmetalayer, then of each
                        metalayer in the header, as stored */
    size_t nvl;       /* number of vlmetalayers */
    size_t nfixed;    /* number of metalayers in the header */
    uint64_t tags;    /* sum of the tags of all chunks, as stored */
    uint64_t trailer; /* sum of the start of the trailer, see
                         frame_sums_of_bytes() */
    uint64_t names;   /* of the metalayers in the header */
    uint64_t array;   /* see array_meta_sum() */
    uint8_t *index;   /* the record of the index */
    size_t index_len;
};

/* Return the sum of any bytes. */
uint64_t frame_sums_of_bytes(const uint8_t *bytes, size_t len);

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

/* Return the number of tags of a frame with so many chunks. */
size_t frame_sums_ntags(uint64_t nchunks);

/* Write the first FRAME_GUARD_RUNS_OFF bytes of a guard. */
void frame_sums_encode_start(const struct frame_sums *sums, uint8_t *guard);

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

/* A guard that the fingerprint refutes. */
struct frame_guard {
    const struct frame_info *info; /* of the state */
    const uint8_t *bytes;
    size_t len;
    const uint8_t *fingerprint;

    /* For frame_sums_mend(): what the rest of the frame says should be in the
       guard. */
    const struct frame_sums *found;
    bool has_layers; /* `found` has the sums of metalayers */
};

/*
 * Make a guard again that the fingerprint refutes.  If all chunks have sums and
 * one size, index, tags and metalayers determine every byte of it.  Otherwise
 * this makes the sums of these again, or just the record of the index, and
 * finds one damaged bit in other bytes, if these are few.  The fingerprint then
 * confirms guard, index and fields of the header.
 *
 * Returns 0, -ENOMEM, or -EBADMSG if the fingerprint confirms no such guard.
 */
int frame_sums_mend(const struct frame_guard *guard, struct frame_sums **out);

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
