/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_VALUE_H
#define WRITER_FRAME_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Make a chunk of zeros or NaNs to be stored, for cases in which an index entry
 * cannot stand for it.
 *
 *  typesize  of the frame; with `nans` 4 or 8, and nbytes a multiple of it
 *  nbytes    1 to CHUNK_NBYTES_MAX
 *  out, len  receive the chunk, which the caller frees
 *
 * Returns 0 or -ENOMEM.
 *
 * Format: frame.md, 5.2; Blosc2 Chunk Format, 6 and 7.
 */
int frame_value_make(bool nans, uint32_t typesize, uint32_t nbytes,
                     uint8_t **out, size_t *len);

#endif
