/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_VALUE_H
#define WRITER_FRAME_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A chunk of zeros or NaNs. */
struct frame_value {
    bool nans;
    uint32_t typesize; /* of the frame; with `nans` 4 or 8 */
    uint32_t nbytes;   /* 1 to CHUNK_NBYTES_MAX; with `nans` a multiple of the
                          typesize */
};

/*
 * Make such a chunk to be stored, for cases in which an index entry cannot
 * stand for it.
 *
 *  out, len  receive the chunk, which the caller frees
 *
 * Returns 0 or -ENOMEM.
 *
 * Format: frame.md, 5.2; Blosc2 Chunk Format, 6 and 7.
 */
int frame_value_make(const struct frame_value *value, uint8_t **out,
                     size_t *len);

#endif
