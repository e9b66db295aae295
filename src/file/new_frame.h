/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_NEW_FRAME_H
#define FILE_NEW_FRAME_H

#include "frame/frame.h"
#include "state/params.h"
#include "store/store.h"

/*
 * Make an empty frame, or an array of zeros.  See file_create().
 *
 *  frame   receives the frame; the caller's
 *  change  receives the change that made it; the caller's
 */
int new_frame_begin(struct store *store, const struct file_params *params,
                    struct frame **frame, struct frame_change **change,
                    struct fault *fault);

#endif
