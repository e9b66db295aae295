/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_KEPT_CHUNKS_H
#define STATE_KEPT_CHUNKS_H

#include "state/file_private.h"

/* Decoded chunks that stay valid when another program has committed to a frame
   on a server. */

/*
 * Find the chunks of a file that are in memory, and that another state of the
 * frame has, too: see frame_has_same_chunk().
 *
 *  out  of zeros; the caller releases it
 */
void kept_chunks_find(struct file *file, struct frame *is, struct ranges *out);

/* Let a file that was just opened have the chunks of another one of the same
   frame, as far as they are in memory and are still the same. */
void kept_chunks_move(struct file *from, struct file *to);

#endif
