/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_WALK_H
#define FRAME_FRAME_WALK_H

#include "frame/frame.h"

/*
 * Positions of chunks in the decoded bytes of a frame whose chunks differ in
 * size.  Each position follows from the sizes of all chunks before it, which
 * only their headers contain.  Therefore the frame is walked once, as far as
 * needed; the walk keeps the start of each group of chunks, and the chunk sizes
 * of the groups that were used last.  Any number of threads may use a walk.
 *
 * Special chunks have no header.  In a frame with a chunksize they have that
 * size if all sizes then add up to nbytes.  Otherwise a single special chunk
 * has the missing size; with several, the sizes are lost.
 *
 * Format: frame.md, 5.1 and 6.
 */
struct frame_walk;

/* Returns 0 or -ENOMEM. */
int frame_walk_new(struct frame *frame, struct frame_walk **out);

/* Accepts NULL. */
void frame_walk_free(struct frame_walk *walk);

/* Implement frame_locate() and frame_span_of(); `off` is below nbytes, and
   `chunk_no` below nchunks. */
int frame_walk_locate(struct frame_walk *walk, uint64_t off,
                      struct frame_span *out, struct fault *fault);
int frame_walk_span_of(struct frame_walk *walk, uint64_t chunk_no,
                       struct frame_span *out, struct fault *fault);

/* Walk to the end.  Returns 0 if all sizes add up. */
int frame_walk_check(struct frame_walk *walk, struct fault *fault);

#endif
