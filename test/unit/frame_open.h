/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FRAME_OPEN_H
#define TEST_FRAME_OPEN_H

#include <stddef.h>
#include <stdint.h>

#include "frame/frame.h"

/*
 * Shared parts of the frame suites.  All functions but try_open() fail the test
 * if anything goes wrong.
 */

/* Open a contiguous frame in memory.  Returns the result of frame_open(). */
int try_open(const void *bytes, size_t len, uint64_t base, struct frame **out,
             struct fault *fault);
struct frame *open_bytes(const void *bytes, size_t len);

/* Open a frame below the directory of test data. */
struct frame *open_data(const char *name);

/*
 * Open a chunk, decode all of it, and close it again.  Returns 0 and
 * span.nbytes bytes, or the first error.
 */
int read_chunk(struct frame *frame, uint64_t chunk_no, uint8_t *dst, size_t cap,
               size_t *len, struct fault *fault);

/* Check that a chunk holds these bytes. */
void check_chunk(struct frame *frame, uint64_t chunk_no, const void *bytes,
                 size_t len);

/* Check that reading a chunk fails with this error at this offset. */
void check_bad_chunk(struct frame *frame, uint64_t chunk_no, int error,
                     uint64_t fault_off);

#endif
