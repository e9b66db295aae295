/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_PARAMS_H
#define STATE_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "array/layout.h"
#include "chunk/chunk_params.h"
#include "writer/frame_change.h"

/* An array to make. */
struct file_array {
    struct layout_shape shape;
    const char *dtype; /* as NumPy prints it; NULL if it is not known */
};

/* What a new frame is to be. */
struct file_params {
    struct chunk_params chunk; /* typesize 0: chosen by what is written first,
                                  of 1 2 4 8 16 */
    uint32_t chunksize;        /* bytes; made a multiple of the typesize */
    /* NULL: no array.  One starts as zeros.  Its items have the typesize, which
       is to be given; chunksize and blocksize follow from its shape. */
    const struct file_array *array;
};

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
