/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_RECHUNK_H
#define TOOLS_RECHUNK_H

#include "file/file.h"

/* A copy of an array with chunks and blocks of other shapes. */
struct rechunk {
    const char *path;    /* of the array */
    struct file *file;   /* shows it in C order */
    struct frame *frame; /* the frame in `file` */
    const char *out;     /* of the new frame */

    /* Of the new frame, with `array` like the old one. */
    const struct file_params *params;
};

/*
 * Write the new frame, with the metalayers of the old one.
 *
 *  store  of a new local frame; remains the caller's
 *
 * Returns 0 or a negative errno, which was reported; -ENOTSUP for an array of
 * the oldest kind, which cannot have blocks.
 */
int rechunk_write(const struct rechunk *rechunk, struct store *store);

#endif
