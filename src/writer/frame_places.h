/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_PLACES_H
#define WRITER_FRAME_PLACES_H

#include "writer/frame_change_private.h"
#include "writer/plot.h"

/* A stored chunk whose size is not known. */
struct odd_chunk {
    uint64_t chunk_no;
    uint64_t off;
};

/* Where the stored chunks lie, neighbours together. */
struct places {
    struct plot_list known;
    struct odd_chunk *odd;
    size_t nodd;
    size_t room;
};

/*
 * Make the table of a change from the index of its frame, and what the chunks
 * of a contiguous frame say of themselves.
 *
 *  change  knows all else of the frame, but for what is free
 *  places  zeroed; receives where the chunks lie
 *
 * Returns 0, -EBADMSG, -ENOMEM or an error of the store.
 */
int places_read(struct frame_change *change, struct frame *frame,
                struct places *places, struct fault *fault);

/* Take the places from what is free.  Returns 0, -EBADMSG if chunks overlap, or
   -ENOMEM. */
int places_take(struct frame_change *change, const struct places *places,
                struct fault *fault);

/* Accepts any state. */
void places_fini(struct places *places);

#endif
