/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_WRITE_H
#define FRAME_FRAME_WRITE_H

#include <stdint.h>

#include "chunk/chunk_encode.h"
#include "frame/frame.h"
#include "frame/frame_format.h"
#include "frame/layers.h"

/* Header, index and trailer as bytes, always in layout E. */

/* Length of a header with these metalayers. */
uint64_t frame_write_header_len(const struct layers *fixed);

/*
 * Write the fixed part of a header.
 *
 *  info      complete but for format and version
 *  variable  chunks may differ in size; else a chunksize of 0 is not decided
 *            yet
 *  has_vl    the trailer holds vlmetalayers
 *  dst       room for FRAME_E_METALAYERS_OFF bytes
 *
 * Format: frame.md, 2 and 6.
 */
void frame_write_fixed(const struct frame_info *info, bool variable,
                       bool has_vl, uint8_t *dst);

/* Write all of a header, frame_write_header_len() bytes. */
void frame_write_header(const struct frame_info *info, bool variable,
                        bool has_vl, const struct layers *fixed, uint8_t *dst);

/* Length of a trailer with these vlmetalayers. */
uint64_t frame_write_trailer_len(const struct layers *variable);

/* Format: frame.md, 7 "Trailer". */
void frame_write_trailer(const struct layers *variable, uint8_t *dst);

/*
 * Encode an index.
 *
 *  entries, n  n > 0 of them, as they are kept in memory; their byte order is
 *              changed in place if need be
 *  dst         room for 8 * n + CHUNK_OVERHEAD_MAX bytes
 *
 * Returns the length or a negative errno.
 *
 * Format: frame.md, 5 "The index chunk".
 */
ssize_t frame_write_index(struct chunk_encoder *encoder, int64_t *entries,
                          size_t n, uint8_t *dst);

#endif
