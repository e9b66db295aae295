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
 * Parse and check the fixed part of a header.  FRAME_HEADER_MAX bytes of the
 * start suffice.
 *
 * Returns 0, -EBADMSG, or -ENOTSUP for a format from the future.  Offsets of
 * faults count from the start of the frame.
 */
int frame_header_parse(const struct frame_start *start, struct frame_info *out,
                       struct fault *fault);

/* Offset of the header's metalayers in the frame. */
uint32_t frame_header_metalayers_off(const struct frame_info *info);

/* Get the length of the trailer from the last FRAME_TRAILER_END_LEN bytes of
   the frame.  Returns 0 or -EBADMSG.  Layout A has no trailer. */
int frame_header_trailer_len(const struct frame_info *info, const uint8_t *end,
                             uint32_t *out, struct fault *fault);

#endif
