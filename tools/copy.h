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

#endif
