/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_VIEW_H
#define FILE_VIEW_H

#include "array/array.h"
#include "file/file.h"

/*
 * The view of a file: the part of its frame that it shows, which gives every
 * byte of the file a place in a chunk.  All functions that read and write bytes
 * find them through it.  Constant.
 *
 * To add a view, write a file view_NAME.c with a struct view_ops, and add that
 * to the table in view.c and a name to enum file_view.
 */
struct view {
    const struct view_ops *ops;
    struct array *array; /* the array whose items it shows in C order; NULL: it
                            shows none */
    void *state;         /* of the implementation */
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

/* Does it show all chunks of the frame in a row, so that an offset leads to the
   same bytes of file and chunks, and the file can change its size? */
bool view_is_in_row(const struct view *view);

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
    bool once;             /* see struct cache_range */
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

struct hole_search;

/*
 * Find a hole, or data.
 *
 *  search  its `off` is below the file's size
 *
 * Returns 0; -ENXIO if there is no such data; or an error.
 */
int view_seek(const struct hole_search *search, uint64_t *out);

/*
 * An implementation.  Each function does the work of the one above that has its
 * name.
 */
struct view_ops {
    bool in_row;

    /* `view` is zeroed but for `ops`, which init() may change.  fini() also
       takes what init() has left when it failed. */
    int (*init)(struct view *view, const struct view_spec *spec,
                struct frame *frame, struct fault *fault);
    void (*fini)(struct view *view);
    uint64_t (*size)(const struct view *view, uint64_t nbytes);
    int (*passed)(struct file *file, uint64_t off, uint64_t *out,
                  struct fault *fault);
    int (*locate)(struct file *file, uint64_t off, uint64_t len,
                  struct view_piece *out, struct fault *fault);
    int (*seek)(const struct hole_search *search, uint64_t *out);

    /* These may be missing: if whole chunks lie together, */
    uint32_t (*run)(const struct view *view);
    bool (*is_wide)(const struct view *view, uint64_t nbytes);

    /* and if the bytes are those of chunks, which locate() finds.  Otherwise
       this reads `len` bytes.  Returns 0, -EBADMSG, -ENOMEM or an error of the
       store. */
    int (*read)(struct file *file, uint64_t off, uint8_t *bytes, size_t len,
                struct fault *fault);
};

extern const struct view_ops view_row_ops;    /* view_row.c */
extern const struct view_ops view_array_ops;  /* view_array.c */
extern const struct view_ops view_npy_ops;    /* likewise, with a header */
extern const struct view_ops view_chunk_ops;  /* view_chunk.c */
extern const struct view_ops view_stored_ops; /* view_stored.c */

/* For implementations. */

/* Describe a piece of a chunk, from the byte at `off` in it on; as
   view_locate(). */
void view_piece_of_chunk(const struct frame_span *span, uint64_t off,
                         uint64_t len, struct view_piece *out);

#endif
