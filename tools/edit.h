/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_EDIT_H
#define TOOLS_EDIT_H

#include <stddef.h>
#include <stdint.h>

#include "progress.h"
#include "writer/frame_change.h"

/*
 * A frame that is being changed.  What is done shows when it is committed, all
 * in one step.  Functions report their errors, and return 0 or a negative
 * errno.
 */
struct edit {
    const char *path;
    struct frame *frame;
    struct frame_change *change;
    struct progress progress;
};

/* Open the frame that a user named.  Interrupts are caught from here on. */
int edit_open(const char *path, struct edit *out);

/* The same to add, remove or move chunks: not those of an array. */
int edit_open_chunks(const char *path, struct edit *out);

/* Drops what was not committed.  Then, if there was an interrupt, the program
   ends. */
void edit_close(struct edit *edit);

/* If `r`, what came of the change, is 0, make it the state of the frame, for
   good; then close the frame.  Returns the first error. */
int edit_end(struct edit *edit, int r);

/* Write the frame anew, without dead space, as its state for good. */
int edit_compact(struct edit *edit);

/* Say why something could not be done with the frame. */
int edit_report(const struct edit *edit, int error, const struct fault *fault);

/* How new chunks of the frame are encoded; -ENOTSUP if they can't be. */
int edit_chunk_params(const struct edit *edit, struct chunk_params *out);

/*
 * Put a chunk into the index.
 *
 *  input  the file that holds its bytes, or "-" for standard input
 *  put    frame_change_insert() or frame_change_put()
 */
int edit_put_chunk(struct edit *edit, uint64_t chunk_no, const char *input,
                   int (*put)(struct frame_change *change, uint64_t chunk_no,
                              const struct frame_written *written));

#endif
