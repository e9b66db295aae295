/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_COPY_H
#define TOOLS_COPY_H

#include "frame/frame.h"

/* A frame to be copied. */
struct copy {
    struct frame *frame;
    const char *path; /* of the frame; for messages */
    const char *out;  /* of the copy; likewise */
};

/* Make a frame in an empty store, with chunks and metalayers of another one as
   they are, and commit it.  Returns 0 or a negative errno, which was reported;
   -EINTR if the user has interrupted the program. */
int copy_frame(const struct copy *copy, struct store *store);

/*
 * Make a frame by a function that commits it several times.  A frame on a
 * server has its name from the first commit on, so it is made here first, and
 * copied.
 *
 *  out    of the new frame, to report errors
 *  make   writes the frame to a local store; returns 0 or a negative errno,
 *         which was reported
 *  store  of the new frame
 *
 * Returns 0 or a negative errno, which was reported.
 */
int copy_made(const char *out, int (*make)(void *context, struct store *store),
              void *context, struct store *store);

#endif
