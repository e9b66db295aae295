/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_VERIFY_H
#define FILE_VERIFY_H

#include <stdint.h>

#include "base/fault.h"
#include "frame/frame.h"

/* Who hears of what is found, one call at a time. */
struct verify_listener {
    /* A fault, in the order of the chunks; those of the frame's structure come
       first. */
    void (*fault)(void *context, int error, const struct fault *fault);

    /* So many of all chunks are done. */
    void (*progress)(void *context, uint64_t done, uint64_t nchunks);

    void *context;
};

/*
 * Look for everything that is wrong with a frame: check its structure, the
 * shape of an array among it, then decode all chunks.
 *
 *  nthreads  how many decode side by side; 0: one for each CPU
 *
 * A fault is -EBADMSG for bytes that break the format, -E2BIG for an array's
 * metalayer that readers do not take, -ENOTSUP for what this build cannot
 * decode, -ENOMEM for a block that takes more than 256 MiB, which
 * is the limit for all threads together, or an error of the store.  Of a chunk
 * each block that is damaged is told; chunks that fail for one and the same
 * byte are told once.
 *
 * Returns 0 if all was looked at, whatever was found, or a negative errno.
 */
int verify_frame(struct frame *frame, unsigned nthreads,
                 const struct verify_listener *listener);

#endif
