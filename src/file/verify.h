/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_VERIFY_H
#define FILE_VERIFY_H

#include <stdint.h>

#include "base/fault.h"
#include "frame/frame.h"

/* Callbacks for the results.  They are called one at a time, from any
   thread. */
struct verify_listener {
    /* Report a fault.  Faults come in the order of the chunks, after the faults
       in the frame's structure. */
    void (*fault)(void *context, int error, const struct fault *fault);

    /* Report that threads have begun, or skipped, `done` of all chunks. */
    void (*progress)(void *context, uint64_t done, uint64_t nchunks);

    void *context;
};

/*
 * Look for everything that is wrong with a frame: check its structure,
 * including the shape of an array, then decode all chunks.
 *
 *  nthreads  number of threads that decode; 0: one for each CPU
 *
 * A fault is -EBADMSG for bytes that break the format, -E2BIG for an array's
 * metalayer that readers do not accept, -ENOTSUP for chunks that this build
 * cannot decode, -ENOMEM for a block that takes more than 256 MiB to decode,
 * which is the limit for all threads together, or an error of the store.  Each
 * damaged block of a chunk is reported.  Successive chunks that fail for the
 * same byte are reported once.
 *
 * Returns 0 if everything was looked at, whether or not there are faults, or a
 * negative errno.
 */
int verify_frame(struct frame *frame, unsigned nthreads,
                 const struct verify_listener *listener);

#endif
