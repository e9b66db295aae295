/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_NEW_FRAME_H
#define FILE_NEW_FRAME_H

#include "frame/frame.h"
#include "state/params.h"
#include "store/store.h"

/* A frame that was just made, and the change that made it. */
struct new_frame {
    struct frame *frame;
    struct frame_writer *writer;
};

/*
 * Make an empty frame, or an array of zeros.  See file_create().
 *
 *  out  receives the frame and the change; both become the caller's
 */
int new_frame_begin(struct store *store, const struct file_params *params,
                    struct new_frame *out, struct fault *fault);

#endif
