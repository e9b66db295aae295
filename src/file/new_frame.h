/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_NEW_FRAME_H
#define FILE_NEW_FRAME_H

#include "frame/frame.h"
#include "state/params.h"
#include "store/store.h"

/*
 * Make an empty frame, or an array.  See file_create().
 *
 *  frame, change  receive the frame and what it is changed by; the caller's
 */
int new_frame_begin(struct store *store, const struct file_params *params,
                    struct frame **frame, struct frame_change **change,
                    struct fault *fault);

#endif
