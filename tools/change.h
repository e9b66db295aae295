/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_CHANGE_H
#define TOOLS_CHANGE_H

#include <stdint.h>

struct edit;
struct mounted;

/*
 * One way to change the chunks of a frame.  Both functions are given the `arg`
 * of change_chunks().  They report their errors, and return 0 or a negative
 * errno.
 */
struct change {
    /* edit_open(), or edit_open_chunks() if that is not for arrays. */
    int (*open)(const char *path, struct edit *out);
    int (*edit)(struct edit *edit, const void *arg);
    /* The same through the file that a mount shows of the frame. */
    int (*mounted)(struct mounted *mounted, const void *arg);
};

/* What insert and update are given. */
struct change_put {
    uint64_t chunk_no;
    const char *input; /* the file that holds its bytes, or "-" */
};

/*
 * Change what a user named, if it is a file that a mount shows of a frame.
 *
 * Returns 1 if it is none, and nothing was done; or 0 or a negative errno,
 * which was reported.
 */
int change_mounted(const char *path,
                   int (*change)(struct mounted *mounted, const void *arg),
                   const void *arg);

/* Change the frame that a user named, or a file that a mount shows of one, for
   good.  Errors are reported. */
int change_chunks(const char *path, const struct change *how, const void *arg);

#endif
