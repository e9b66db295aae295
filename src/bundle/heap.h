/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_HEAP_H
#define BUNDLE_HEAP_H

#include <stdint.h>

#include "frame/frame.h"

enum {
    HEAP_CHUNK_MAX = 16 << 20 /* bytes, decoded; 8 KiB are usual */
};

/*
 * A store of one object "", whose bytes are part of the decoded ones of a
 * frame.  They are decoded anew whenever they are read, chunk by chunk: what
 * matters of them is cached above.  Once others have written to the frame,
 * store_object_stat() fails with -ESTALE.
 *
 *  frame     becomes the store's on success
 *  off, len  of its decoded bytes
 *
 * Returns 0; -EBADMSG if they pass the end of the frame; -ENOTSUP if its chunks
 * are larger than HEAP_CHUNK_MAX or differ in size; or -ENOMEM.
 */
int heap_open(struct frame *frame, uint64_t off, uint64_t len,
              struct store **out, struct fault *fault);

#endif
