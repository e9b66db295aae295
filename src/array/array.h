/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_ARRAY_H
#define ARRAY_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array/layout.h"
#include "base/fault.h"
#include "frame/frame.h"

enum {
    ARRAY_LAYER_MAX = 1 << 20 /* bytes of the metalayer; almost all are dtype */
};

/* What the metalayer of a frame says, checked. */
struct array {
    struct layout_shape shape; /* chunks of one level: a block is the chunk */
    struct layout layout;
    char *dtype; /* as NumPy describes it, UTF-8; NULL if it is not known */
};

/*
 * Parse the content of the metalayer.
 *
 *  caterva  it is the older one
 *  info     of its frame
 *
 * Returns 0, -ENOMEM, or -EBADMSG: it is cut short, an extent is negative,
 * layout_init() refuses the shape, or the chunks of the frame do not go with
 * it.  Fault offsets count from the start of the content.
 *
 * Format: b2nd.md, 1, 2 and 5.
 */
int array_parse(const uint8_t *bytes, size_t len, bool caterva,
                const struct frame_info *info, struct array **out,
                struct fault *fault);

/*
 * Write the metalayer of an array, whose name is ARRAY_LAYER_B2ND.
 *
 *  shape    one that layout_init() takes
 *  dtype    as NumPy prints it; NULL if it is not known
 *  content  receives `len` bytes that the caller frees
 *
 * Returns 0, -EINVAL if the dtype is too long, or -ENOMEM.
 */
int array_encode(const struct layout_shape *shape, const char *dtype,
                 uint8_t **content, size_t *len);

/*
 * Read what array a frame is.
 *
 *  frame  its header suffices: see frame_open_header()
 *  out    receives NULL if the frame is no array
 *
 * Returns 0, an error as array_parse(), -E2BIG, or an error of the store.
 */
int array_read(struct frame *frame, struct array **out, struct fault *fault);

/* Does a fixed metalayer of this name make a frame an array? */
bool array_is_layer(const char *name);

/* Accepts NULL. */
void array_free(struct array *array);

#endif
