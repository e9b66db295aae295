/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_SOURCE_H
#define FRAME_FRAME_SOURCE_H

#include "frame/frame.h"

enum {
    FRAME_SOURCE_NAME_LEN = 24
};

/* The name of a chunk file.  Format: sparse-frame.md, 1. */
void frame_source_name(uint64_t id, char name[FRAME_SOURCE_NAME_LEN]);

/* The place of the bytes of one stored chunk: in the chunks section of a
   contiguous frame, or in a file of its own. */
struct frame_source {
    struct store_object *object;
    uint64_t off;                     /* of the chunk in the object */
    uint64_t avail;                   /* bytes that the chunk may use from there
                                         on */
    char name[FRAME_SOURCE_NAME_LEN]; /* of the chunk file, or "" */
};

/*
 * Find the bytes of a chunk.
 *
 *  entry  not special
 *
 * Returns 0, -EBADMSG if the chunk file does not exist, or an error of the
 * store.
 */
int frame_source_open(struct frame *frame, uint64_t chunk_no,
                      const struct frame_entry *entry, struct frame_source *out,
                      struct fault *fault);
void frame_source_close(struct frame *frame, struct frame_source *source);

/*
 * Complete a fault whose offset counts from the start of the chunk: add the
 * number of the chunk, its file, and the offset in that file.  Returns `error`.
 */
int frame_source_fault(const struct frame_source *source, uint64_t chunk_no,
                       int error, struct fault *fault);

/* Read the header of the chunk.  Returns 0, -EBADMSG, or an error of the store.
   The offset of a fault counts from the start of the chunk. */
int frame_source_header(const struct frame_source *source,
                        struct chunk_header *out, struct fault *fault);

/* Sizes of a stored chunk, from its header. */
struct frame_sizes {
    int error; /* reason why the header cannot be read, or 0 */
    uint32_t nbytes;
    uint32_t cbytes;
    uint32_t sums_len;  /* of sums that lie behind the chunk */
    uint8_t header_len; /* 16 or 32 */
};

/* Read the sizes of one chunk, which is stored. */
int frame_source_sizes(struct frame *frame, uint64_t chunk_no,
                       const struct frame_entry *entry, struct frame_sizes *out,
                       struct fault *fault);

/* Maximum number of chunks for frame_source_sizes_of(). */
enum {
    FRAME_SOURCE_BATCH = 1024
};

/*
 * Read the sizes of several chunks at once.  This leaves the sizes of special
 * chunks alone, and records the error of a single chunk only in its `error`.
 *
 * Returns 0, -ENOMEM or an error of the store.
 */
int frame_source_sizes_of(struct frame *frame,
                          const struct frame_entry *entries, size_t n,
                          struct frame_sizes *sizes, struct fault *fault);

#endif
