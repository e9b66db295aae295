/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_SOURCE_H
#define FRAME_FRAME_SOURCE_H

#include "frame/frame.h"

enum {
    FRAME_SOURCE_NAME_LEN = 24
};

/* The name of a chunk file.  Format: sparse-frame.md, 1. */
void frame_source_name(uint64_t id, char name[FRAME_SOURCE_NAME_LEN]);

/*
 * Where the bytes of one stored chunk are: in the chunks section of a
 * contiguous frame, or in a file of their own.
 */
struct frame_source {
    struct store_object *object;
    uint64_t off;                     /* of the chunk in the object */
    uint64_t avail;                   /* bytes from there that it may use */
    char name[FRAME_SOURCE_NAME_LEN]; /* of the chunk file, or "" */
};

/*
 * Find the bytes of a chunk.
 *
 *  entry  not special
 *
 * Returns 0, -EBADMSG if there is no such chunk file, or an error of the
 * store.
 */
int frame_source_open(struct frame *frame, uint64_t chunk_no,
                      const struct frame_entry *entry, struct frame_source *out,
                      struct fault *fault);
void frame_source_close(struct frame *frame, struct frame_source *source);

/*
 * Make a fault whose offset counts from the start of the chunk name the chunk,
 * its file, and the offset in that.  Returns `error`.
 */
int frame_source_fault(const struct frame_source *source, uint64_t chunk_no,
                       int error, struct fault *fault);

/* Sizes of a stored chunk, from its header. */
struct frame_sizes {
    int error; /* the header cannot be read: why */
    uint32_t nbytes;
    uint32_t cbytes;
    uint8_t header_len; /* 16 or 32 */
};

/* Read the sizes of one chunk, which is stored. */
int frame_source_sizes(struct frame *frame, uint64_t chunk_no,
                       const struct frame_entry *entry, struct frame_sizes *out,
                       struct fault *fault);

/* How many chunks frame_source_sizes_of() takes at a time. */
enum {
    FRAME_SOURCE_BATCH = 1024
};

/*
 * Read the sizes of some chunks at once.  Those of special ones are left
 * alone, and what is wrong with a single one is only noted in its `error`.
 *
 * Returns 0, -ENOMEM or an error of the store.
 */
int frame_source_sizes_of(struct frame *frame,
                          const struct frame_entry *entries, size_t n,
                          struct frame_sizes *sizes, struct fault *fault);

#endif
