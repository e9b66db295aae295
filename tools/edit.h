/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_EDIT_H
#define TOOLS_EDIT_H

#include <stddef.h>
#include <stdint.h>

#include "progress.h"
#include "writer/frame_writer.h"

/* A frame that is being changed.  Other programs see the changes when they are
   committed, all in one step.  Functions report their errors, and return 0 or a
   negative errno. */
struct edit {
    const char *path;
    struct frame *frame;
    struct frame_writer *writer;
    struct progress progress;
};

/* Open the frame that a user named, to change it.  Interrupts are caught from
   here on. */
int edit_open(const char *path, struct edit *out);

/* Do the same to add, remove or move chunks.  This rejects an array, because
   its chunks depend on its shape. */
int edit_open_chunks(const char *path, struct edit *out);

/* Close the frame, and drop changes that were not committed.  If the user has
   interrupted the program, this ends it. */
void edit_close(struct edit *edit);

/* Finish a change: if `r`, the result of the change so far, is 0, commit it
   durably; then close the frame.  Returns the first error. */
int edit_end(struct edit *edit, int r);

/* Rewrite the frame without dead space, and commit that durably. */
int edit_compact(struct edit *edit, bool sums);

/* Report why an operation on the frame failed.  Returns `error`. */
int edit_report(const struct edit *edit, int error, const struct fault *fault);

/* Get the parameters for encoding new chunks of the frame.  Returns -ENOTSUP if
   this program can't encode chunks with them. */
int edit_chunk_params(const struct edit *edit, struct chunk_params *out);

/*
 * Encode a chunk, write it, and put it into the index.
 *
 *  input  the file that holds its bytes, or "-" for standard input
 *  put    frame_writer_insert() or frame_writer_put()
 */
int edit_put_chunk(struct edit *edit, uint64_t chunk_no, const char *input,
                   int (*put)(struct frame_writer *writer, uint64_t chunk_no,
                              const struct frame_written *written));

#endif
