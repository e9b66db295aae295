/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_EXTENTS_H
#define WRITER_FRAME_EXTENTS_H

#include "writer/frame_alloc.h"
#include "writer/frame_writer_private.h"

/* A stored chunk of unknown size. */
struct unsized_chunk {
    uint64_t chunk_no;
    uint64_t off;
};

/* The extents of the stored chunks, with neighbours merged. */
struct frame_extents {
    struct extent_list known;
    struct unsized_chunk *unsized;
    size_t nunsized;
    size_t capacity;
};

/*
 * Fill the table of a writer from the index of its frame, and from the chunk
 * headers of a contiguous frame.
 *
 *  writer   complete except for the table and the free space
 *  extents  zeroed; receives the extents of the chunks
 *
 * Returns 0, -EBADMSG, -ENOMEM or an error of the store.
 */
int frame_extents_read(struct frame_writer *writer, struct frame *frame,
                       struct frame_extents *extents, struct fault *fault);

/* Does a frame have few enough chunks for such a table?  Returns 0 or
   -EFBIG. */
int frame_extents_check_number(const struct frame *frame, struct fault *fault);

/* Mark the extents of the chunks as used.  Returns 0, -EBADMSG if chunks
   overlap, or -ENOMEM. */
int frame_extents_take(struct frame_writer *writer,
                       const struct frame_extents *extents,
                       struct fault *fault);

/* Accepts any state. */
void frame_extents_fini(struct frame_extents *extents);

#endif
