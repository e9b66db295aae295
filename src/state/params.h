/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_PARAMS_H
#define STATE_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "array/layout.h"
#include "chunk/chunk_params.h"
#include "writer/frame_writer.h"

/* An array to make. */
struct file_array {
    struct layout_shape shape;
    const char *dtype; /* as NumPy prints it; NULL if it is not known */

    /* NULL; or an array with the same items and dtype, whose metalayers the new
       one gets. */
    struct frame *like;
};

/* Parameters of a new frame. */
struct file_params {
    struct chunk_params chunk; /* typesize 0: chosen from 1, 2, 4, 8 and 16 by
                                  the first bytes written */
    uint32_t chunksize;        /* bytes; rounded down to a multiple of the
                                  typesize */
    /* NULL: the frame is not an array.  A new array holds zeros.  Its items
       have the typesize, which must not be 0; chunksize and blocksize follow
       from the shape. */
    const struct file_array *array;
};

/* Parameters of new frames if the user gives none. */
extern const struct file_params params_default;

/*
 * Set a parameter of new frames from text.
 *
 *  name   codec, clevel, filters, typesize, chunksize or blocksize
 *  value  as the manual page describes
 *
 * Returns 0, -EINVAL if the value is not valid for the parameter, -ENOENT if
 * there is no such parameter, or -ENOMEM.
 */
int params_set(struct file_params *params, const char *name, const char *value);

/* Parse the layout of new frames, "contiguous" or "sparse".  Returns 0, or
   -EINVAL for any other text. */
int params_set_layout(const char *value, bool *sparse);

/* Check that the parameters can be used together.  If there is an array, its
   shape and typesize are valid.  Returns 0, -EINVAL or -ENOTSUP. */
int params_check(const struct file_params *params);

/* Can the parameters be used for arrays only, and is the shape of the array not
   known yet?  params_check() then fails. */
bool params_await_shape(const struct file_params *params);

/* Convert to the parameters of a frame.  A typesize that is not chosen yet
   becomes 1; the chunksize becomes a multiple of the typesize. */
struct frame_params params_frame(const struct file_params *params);

#endif
