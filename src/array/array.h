/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_ARRAY_H
#define ARRAY_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array/layout.h"
#include "base/fault.h"
#include "frame/array_meta.h"
#include "frame/frame.h"

/* The array that the metalayer of a frame describes, after checks. */
struct array {
    struct layout_shape shape; /* with one level, blocks are chunks */
    struct layout layout;
    char *dtype; /* as NumPy prints it, UTF-8; NULL if unknown */
};

/* The content of the metalayer, which may be any bytes. */
struct array_content {
    const uint8_t *bytes;
    size_t len;
    bool caterva; /* it is the older kind, ARRAY_LAYER_CATERVA */
};

/*
 * Parse the content of the metalayer.
 *
 *  info  of its frame
 *
 * Returns 0, -ENOMEM, or -EBADMSG: the content is cut short, an extent is
 * negative, layout_init() rejects the shape, or the chunks of the frame do not
 * fit it.  Fault offsets count from the start of the content.
 *
 * Format: b2nd.md, 1, 2 and 5.
 */
int array_parse(const struct array_content *content,
                const struct frame_info *info, struct array **out,
                struct fault *fault);

/*
 * Encode the metalayer of an array, whose name is ARRAY_LAYER_B2ND.
 *
 *  shape    a shape that layout_init() accepts
 *  dtype    as NumPy prints it; NULL if unknown
 *  content  receives `len` bytes that the caller frees
 *
 * Returns 0, -EINVAL if the dtype is too long, or -ENOMEM.
 */
int array_encode(const struct layout_shape *shape, const char *dtype,
                 uint8_t **content, size_t *len);

/* Change the extents of the array in the content of a metalayer, which
   array_parse() has accepted. */
void array_set_items(uint8_t *content, const uint64_t *items, unsigned ndim);

/* Change the extents of its chunks and blocks likewise.  Returns 0, or -ENOTSUP
   for the oldest kind, which has no extents of blocks. */
int array_set_parts(uint8_t *content, const struct layout_shape *shape);

/*
 * Read the content of the metalayer that makes a frame an array.
 *
 *  name     receives the name of the metalayer
 *  content  receives its bytes, which the caller frees
 *
 * Returns their number, -ENODATA if the frame is not an array, or an error of
 * metalayer_read().
 */
ssize_t array_read_content(struct frame *frame, const char **name,
                           uint8_t **content, struct fault *fault);

/*
 * Read and parse the metalayer that makes a frame an array.
 *
 *  frame  its header suffices: see frame_open_header()
 *  out    receives NULL if the frame is not an array
 *
 * Returns 0, an error as array_parse(), -E2BIG if the metalayer is longer than
 * ARRAY_LAYER_MAX, or an error of the store.
 */
int array_read(struct frame *frame, struct array **out, struct fault *fault);

/* Is a frame with a fixed metalayer of this name an array? */
bool array_is_layer(const char *name);

/* Accepts NULL. */
void array_free(struct array *array);

#endif
