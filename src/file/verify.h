/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_VERIFY_H
#define FILE_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "frame/frame.h"

/* Callbacks for the results.  They are called one at a time, from any
   thread. */
struct verify_listener {
    /* Report a fault.  Faults come in the order of the chunks, after the faults
       in the frame's structure.  With the error 0, it is no fault, but a fact
       to note, see frame_check(). */
    void (*fault)(void *context, int error, const struct fault *fault);

    /* Report that threads have begun, or skipped, `done` of all chunks. */
    void (*progress)(void *context, uint64_t done, uint64_t nchunks);

    void *context;
};

/* How to verify a frame. */
struct verify_options {
    unsigned nthreads; /* that decode; 0: one for each CPU */
    bool only_sums;    /* compare stored bytes with their sums, and decode
                          nothing; chunks without sums are only opened */
};

/* What was seen of blocks of stored chunks. */
struct verify_counts {
    uint64_t nblocks;
    uint64_t nsummed; /* blocks that have sums */
    uint64_t nright;  /* of these, blocks that match them */
};

/*
 * Look for everything that is wrong with a frame: check its structure,
 * including the shape of an array, then decode all chunks.
 *
 *  counts  receives what was seen, as far as chunks can be opened
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
int verify_frame(struct frame *frame, const struct verify_options *options,
                 const struct verify_listener *listener,
                 struct verify_counts *counts);

#endif
