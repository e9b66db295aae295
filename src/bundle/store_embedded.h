/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_STORE_EMBEDDED_H
#define BUNDLE_STORE_EMBEDDED_H

#include <stdint.h>

#include "base/fault.h"
#include "store/store.h"

enum {
    STORE_EMBEDDED_CHUNK_MAX = 16 << 20 /* decoded bytes; 8 KiB is usual */
};

/*
 * Open a store of one object "", which is a part of a frame's decoded bytes.
 * Each read decodes the chunks again, because the layers above cache the bytes
 * that matter.  store_object_stat() fails with -ESTALE once another program has
 * written to the frame.
 *
 *  store     of the frame; the new store takes a reference
 *  off, len  the part, in decoded bytes
 *
 * Returns 0; -EBADMSG if the part passes the end of the frame; -ENOTSUP if the
 * frame's chunks are larger than STORE_EMBEDDED_CHUNK_MAX or differ in size; or
 * an error of frame_open().
 */
int store_embedded_open(struct store *store, uint64_t off, uint64_t len,
                        struct store **out, struct fault *fault);

#endif
