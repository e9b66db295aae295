/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_HEADER_H
#define FRAME_FRAME_HEADER_H

#include "frame/frame.h"
#include "frame/frame_format.h"

/* Length of the longest fixed part. */
enum {
    FRAME_HEADER_MAX = FRAME_E_METALAYERS_OFF
};

/*
 * Parse and check the fixed part of a header.
 *
 *  bytes, len  first bytes of the frame: FRAME_HEADER_MAX or all there are
 *  avail       bytes from there to the end of the file
 *  sparse      it is the index file of a directory
 *
 * Returns 0, -EBADMSG, or -ENOTSUP if it comes from the future.  Offsets of
 * faults count from the start of the frame.
 */
int frame_header_parse(const uint8_t *bytes, size_t len, uint64_t avail,
                       bool sparse, struct frame_info *out,
                       struct fault *fault);

/* Where the metalayers of the header start, in the frame. */
uint32_t frame_header_metalayers_off(const struct frame_info *info);

/*
 * Take the length of the trailer from the last FRAME_TRAILER_END_LEN bytes of
 * the frame.  Returns 0 or -EBADMSG.  Layout A has no trailer.
 */
int frame_header_trailer_len(const struct frame_info *info, const uint8_t *end,
                             uint32_t *out, struct fault *fault);

#endif
