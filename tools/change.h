/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_CHANGE_H
#define TOOLS_CHANGE_H

#include <stdint.h>

struct edit;
struct mounted;

/* A way to change the chunks of a frame.  The functions report their errors,
   and return 0 or a negative errno; edit() and mounted() get the `arg` of
   change_chunks(). */
struct change {
    /* edit_open(), or edit_open_chunks() if arrays can't be changed like
       this. */
    int (*open)(const char *path, struct edit *out);
    int (*edit)(struct edit *edit, const void *arg);
    /* Makes the same change through the file by which a mount shows the
       frame. */
    int (*mounted)(struct mounted *mounted, const void *arg);
};

/* Arguments of the verbs insert and update. */
struct change_put {
    uint64_t chunk_no;
    const char *input; /* the file that holds the chunk's bytes, or "-" */
};

/*
 * Change the frame that a user named, if the path is a file by which a mount
 * shows a frame.
 *
 * Returns 1, without doing anything, if the path is not such a file; otherwise
 * 0 or a negative errno, which was reported.
 */
int change_mounted(const char *path,
                   int (*change)(struct mounted *mounted, const void *arg),
                   const void *arg);

/* Change the frame that a user named, durably.  The path may also be a file by
   which a mount shows a frame.  Returns 0 or a negative errno, which was
   reported. */
int change_chunks(const char *path, const struct change *how, const void *arg);

#endif
