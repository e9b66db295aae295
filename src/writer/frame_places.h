/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_PLACES_H
#define WRITER_FRAME_PLACES_H

#include "writer/frame_alloc.h"
#include "writer/frame_change_private.h"

/* A stored chunk of unknown size. */
struct odd_chunk {
    uint64_t chunk_no;
    uint64_t off;
};

/* The extents of the stored chunks, with neighbours merged. */
struct places {
    struct extent_list known;
    struct odd_chunk *odd;
    size_t nodd;
    size_t room;
};

/*
 * Fill the table of a change from the index of its frame, and from the chunk
 * headers of a contiguous frame.
 *
 *  change  complete except for the table and the free space
 *  places  zeroed; receives the extents of the chunks
 *
 * Returns 0, -EBADMSG, -ENOMEM or an error of the store.
 */
int places_read(struct frame_change *change, struct frame *frame,
                struct places *places, struct fault *fault);

/* Mark the extents of the chunks as used.  Returns 0, -EBADMSG if chunks
   overlap, or -ENOMEM. */
int places_take(struct frame_change *change, const struct places *places,
                struct fault *fault);

/* Accepts any state. */
void places_fini(struct places *places);

#endif
