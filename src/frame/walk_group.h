/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_WALK_GROUP_H
#define FRAME_WALK_GROUP_H

#include "frame/frame_source.h"

/* Reading the sizes of the chunks of a frame, a group at a time, for
   frame/frame_walk.h. */

enum {
    WALK_GROUP = FRAME_SOURCE_BATCH /* chunks in a group */
};

/* Sums over the chunks of a group or of the whole frame. */
struct walk_tally {
    uint64_t nbytes; /* of stored chunks; frame_walk.c adds special ones */
    uint64_t nstored;
    uint64_t nspecial;
};

/* A group as read, before the sizes of special chunks are known. */
struct walk_reading {
    uint64_t first;
    size_t n;
    int64_t raw[WALK_GROUP];
    struct frame_entry entries[WALK_GROUP];
    struct frame_sizes sizes[WALK_GROUP];
    struct walk_tally tally;
};

/* The number of groups in a frame. */
uint64_t walk_group_count(const struct frame *frame);

/* Read the entries and sizes of a group, and add them up.  Returns 0, -EBADMSG
   or -ENOTSUP for a bad entry or chunk, or another error of the frame. */
int walk_group_read(struct frame *frame, uint64_t group_no,
                    struct walk_reading *reading, struct fault *fault);

/*
 * Check how many stored chunks were counted so far.  A frame is damaged if its
 * index names more chunks than fit in it, because chunks do not overlap.
 * Without this check, a few bytes could cause a walk of hours.
 *
 * Returns 0, -EBADMSG, or -ENOTSUP for too many chunk files.
 */
int walk_group_check(const struct frame *frame, uint64_t nstored,
                     struct fault *fault);

/* Find the size of special chunks from those of all others, see
   frame/frame_walk.h.  Returns 0 or an error of the functions above. */
int walk_group_special_nbytes(struct frame *frame, uint32_t *out,
                              struct fault *fault);

#endif
