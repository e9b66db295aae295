/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_ARRAY_META_H
#define FRAME_ARRAY_META_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "chunk/chunk_items.h"
#include "frame/array_format.h"
#include "frame/frame.h"
#include "frame/metalayer.h"

enum {
    ARRAY_LAYER_MAX = 1 << 20 /* bytes; almost all are for the dtype */
};

/* The content of the metalayer of an array, parsed.  Extents are as stored: no
   array may fit them. */
struct array_meta {
    uint8_t parts; /* ARRAY_PARTS_OLDEST and so on */
    unsigned ndim;
    uint64_t items[ARRAY_NDIM_MAX]; /* at most INT64_MAX each */
    uint32_t chunk[ARRAY_NDIM_MAX];
    uint32_t block[ARRAY_NDIM_MAX]; /* 0 with ARRAY_PARTS_OLDEST */
    const char *dtype;              /* in the content, not terminated; NULL if
                                       unknown */
    uint32_t dtype_len;
};

/*
 * Parse the content of a metalayer, which may be any bytes.
 *
 * Returns 0, or -EBADMSG: the content is cut short or has other parts, or an
 * extent of the array is negative.  Fault offsets count from its start.
 *
 * Format: b2nd.md, 1 and 5.
 */
int array_meta_parse(const uint8_t *content, size_t len, struct array_meta *out,
                     struct fault *fault);

/*
 * Find the metalayer that makes a frame an array.  Returns NULL if there is
 * none.
 *
 *  caterva  whether it is the older kind, which counts only if there is no
 *           other
 */
const struct metalayer *array_meta_find(const struct metalayer_list *list,
                                        bool *caterva);

/* Check what the content of that metalayer says of the places of items against
   its sum, if there is one.  Returns 0 or -EBADMSG. */
int array_meta_check(const struct frame *frame, const struct metalayer *layer,
                     const uint8_t *content, struct fault *fault);

/*
 * Read the content of that metalayer.
 *
 *  content  receives bytes that the caller frees
 *
 * Returns their number, or an error of metalayer_read() or array_meta_check().
 */
ssize_t array_meta_read(struct frame *frame, const struct metalayer *layer,
                        uint8_t **content, struct fault *fault);

/*
 * Read the shape of the blocks of an array, which some codecs and filters use.
 *
 *  out  receives no dimensions if the frame is no array, or the metalayer is
 *       damaged or too old to have that shape
 *
 * Returns 0, -ENOMEM, or an error of the store.
 */
int array_meta_read_block(struct frame *frame, struct block_shape *out,
                          struct fault *fault);

#endif
