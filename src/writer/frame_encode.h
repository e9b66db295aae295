/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_ENCODE_H
#define WRITER_FRAME_ENCODE_H

#include <stdint.h>

#include "frame/frame.h"
#include "frame/frame_format.h"
#include "writer/layers.h"

/* Encoding of header and trailer, always in layout E. */

/* Length of a header with these metalayers. */
uint64_t frame_encode_header_len(const struct layers *fixed);

/*
 * Write the fixed part of a header.
 *
 *  info      complete except for format and version
 *  variable  chunks may differ in size; otherwise a chunksize of 0 means that
 *            it is not chosen yet
 *  has_vl    the trailer holds vlmetalayers
 *  dst       room for FRAME_E_METALAYERS_OFF bytes
 *
 * Format: frame.md, 2 and 6.
 */
void frame_encode_fixed(const struct frame_info *info, bool variable,
                        bool has_vl, uint8_t *dst);

/* Write a whole header, frame_encode_header_len() bytes. */
void frame_encode_header(const struct frame_info *info, bool variable,
                         bool has_vl, const struct layers *fixed, uint8_t *dst);

/* Length of a trailer with these vlmetalayers. */
uint64_t frame_encode_trailer_len(const struct layers *variable);

/* Format: frame.md, 7 "Trailer". */
void frame_encode_trailer(const struct layers *variable, uint8_t *dst);

#endif
