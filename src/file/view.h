/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_VIEW_H
#define FILE_VIEW_H

#include "array/array.h"
#include "file/file.h"

/*
 * What a file shows of its frame, by which every byte of the file has its place
 * in a chunk.  All who read and write bytes find them here.  Constant.
 */
struct view {
    struct array *array; /* its items, in C order; NULL: the chunks in a row */
    uint8_t *header;     /* what goes before, and can't be changed */
    size_t header_len;
    bool one;                    /* of the frame just this chunk, */
    struct frame_span chunk;     /* decoded, */
    struct store_object *stored; /* or as it is stored, if not NULL; */
    uint64_t len;                /* so many bytes */
};

/*
 * Find out what is shown of a frame.  Errors as array_read(), or as
 * frame_chunk_bytes() but -ESTALE if there is no such chunk.
 */
int view_init(struct view *view, const struct file_face *face,
              struct frame *frame, struct fault *fault);

/* Accepts a zeroed struct. */
void view_fini(struct view *view);

/* Size in bytes of a file that shows `nbytes` bytes of chunks so. */
uint64_t view_size(const struct view *view, uint64_t nbytes);

/* How many bytes go on in the same chunk, as a rule. */
uint32_t view_run(const struct view *view);

/* Does a reader in the order of the file go to and fro between chunks that are
   more than so many bytes? */
bool view_is_wide(const struct view *view, uint64_t nbytes);

/*
 * How many chunks, the first ones, a reader in the order of the file is through
 * with when it comes to a byte.  Errors as frame_locate().
 */
int view_passed(struct file *file, uint64_t off, uint64_t *out,
                struct fault *fault);

/* Bytes of a file that lie together. */
struct view_piece {
    const uint8_t *header; /* where they are, if they go before all chunks */
    uint64_t chunk_no;     /* else: the chunk, */
    uint32_t nbytes;       /* its decoded size, */
    uint32_t off;          /* and where in it */
    uint32_t len;          /* bytes, together in the file and there */
    uint32_t row;          /* bytes, together in the file and in this chunk */
    uint32_t span;         /* bytes of the chunk, from `off` on, which hold the
                              row, and what of these blocks may be wanted
                              next */
};

/*
 * Find bytes of a file.
 *
 *  off  below the file's size; or right behind the end of chunks in a row, when
 *       the piece is where the file may grow to
 *  len  at least 1: how many are of interest; `len` and `row` are cut
 *
 * Errors as frame_locate().
 */
int view_locate(struct file *file, uint64_t off, uint64_t len,
                struct view_piece *out, struct fault *fault);

#endif
