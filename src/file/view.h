/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_VIEW_H
#define FILE_VIEW_H

#include "array/array.h"
#include "file/file.h"

/*
 * The view of a file: the part of its frame that it shows, which gives every
 * byte of the file a place in a chunk.  All functions that read and write bytes
 * find them through it.  Constant.
 */
struct view {
    struct array *array; /* the array whose items it shows in C order; NULL: the
                            chunks in a row */
    uint8_t *header;     /* bytes before the items, which cannot be changed */
    size_t header_len;
    bool one;                    /* it shows only this chunk, */
    struct frame_span chunk;     /* decoded, */
    struct store_object *stored; /* or as it is stored, if this is not NULL; */
    uint64_t len;                /* size in bytes of that */
};

/* Set up the view of a frame.  Errors as array_read(), or as
   frame_chunk_bytes() but -ESTALE if the chunk does not exist. */
int view_init(struct view *view, const struct view_spec *spec,
              struct frame *frame, struct fault *fault);

/* Accepts a zeroed struct. */
void view_fini(struct view *view);

/* Return the size in bytes of a file with this view.  `nbytes` is the size of
   all chunks. */
uint64_t view_size(const struct view *view, uint64_t nbytes);

/* Return how many bytes usually lie together in one chunk. */
uint32_t view_run(const struct view *view);

/* Does a sequential reader of the file alternate between chunks that have more
   than `nbytes` bytes together? */
bool view_is_wide(const struct view *view, uint64_t nbytes);

/* Find how many chunks at the start of the frame a sequential reader has
   finished when it reaches the byte at `off`.  Errors as frame_locate(). */
int view_passed(struct file *file, uint64_t off, uint64_t *out,
                struct fault *fault);

/* Bytes of a file that lie together. */
struct view_piece {
    const uint8_t *header; /* their place, if they are in the header */
    uint64_t chunk_no;     /* else the number of the chunk, */
    uint32_t nbytes;       /* its decoded size, */
    uint32_t off;          /* and their offset in it */
    uint32_t len;          /* bytes that lie together in the file and in the
                              chunk */
    uint32_t row;          /* bytes that lie together in the file and are all in
                              this chunk */
    uint32_t span;         /* bytes of the chunk, from `off` on, that hold the
                              row, and the part of the same blocks that a reader
                              may want next */
};

/*
 * Find bytes of a file.
 *
 *  off  below the file's size; or right at its end if it shows chunks in a row,
 *       and then the piece is where the file may grow
 *  len  number of bytes of interest, at least 1; `len` and `row` of the piece
 *       are cut to it
 *
 * Errors as frame_locate().
 */
int view_locate(struct file *file, uint64_t off, uint64_t len,
                struct view_piece *out, struct fault *fault);

#endif
