/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_PARAMS_H
#define FILE_PARAMS_H

#include "file/file.h"
#include "writer/frame_change.h"

/* What new frames are if nothing is said. */
extern const struct file_params params_default;

/*
 * Set one of the parameters of new frames from text.
 *
 *  name   codec, clevel, filters, typesize, chunksize or blocksize
 *  value  as the manual page says
 *
 * Returns 0, -EINVAL if the value is none of the parameter's, or -ENOENT if
 * there is no such parameter.
 */
int params_set(struct file_params *params, const char *name, const char *value);

/* Read the layout of new frames, "contiguous" or "sparse".  Returns 0 or
   -EINVAL if it is neither. */
int params_set_layout(const char *value, bool *sparse);

/* Do the parameters go together?  Returns 0, -EINVAL or -ENOTSUP. */
int params_check(const struct file_params *params);

/* A frame of these parameters.  A typesize that is not chosen yet is 1, the
   chunksize a multiple of it. */
struct frame_params params_frame(const struct file_params *params);

#endif
