/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_HEAP_H
#define BUNDLE_HEAP_H

#include <stdint.h>

#include "frame/frame.h"

enum {
    HEAP_CHUNK_MAX = 16 << 20 /* decoded bytes; 8 KiB is usual */
};

/*
 * Open a store of one object "", which is a part of a frame's decoded bytes.
 * Each read decodes the chunks again, because the layers above cache the bytes
 * that matter.  store_object_stat() fails with -ESTALE once another program has
 * written to the frame.
 *
 *  frame     becomes the store's on success
 *  off, len  the part, in decoded bytes
 *
 * Returns 0; -EBADMSG if the part passes the end of the frame; -ENOTSUP if the
 * frame's chunks are larger than HEAP_CHUNK_MAX or differ in size; or -ENOMEM.
 */
int heap_open(struct frame *frame, uint64_t off, uint64_t len,
              struct store **out, struct fault *fault);

#endif
